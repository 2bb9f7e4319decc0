"""Whether the tricks are used: the one switch for all of them, and what the trial of each has shown.

The variable ``PENSTOCK_INTERPRETER_TRICKS=off`` turns all of them off. So does a debugger, or a tool that measures
coverage: they are to see the program's own functions, and hold references of their own.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TRICKS", "VARIABLE", "Trick", "why_off"]

VARIABLE = "PENSTOCK_INTERPRETER_TRICKS"


class Trick:
    """One of the tricks.

    Args:
        name: What it does, in a few words.
        trial: Tells, by an example, whether the interpreter is as the trick expects it; called once, here.
    """

    def __init__(self, name: str, trial: Callable[[], bool]) -> None:
        self.name = name
        self.works = _succeeds(trial)
        """Whether the trial succeeded; none is made where all tricks are switched off by the variable."""
        TRICKS.append(self)

    def is_in_use(self) -> bool:
        """Tell whether it may be used now; asked when operators are opened, not for each record."""
        return self.works and not why_off()


TRICKS: list[Trick] = []
"""The tricks whose modules have been imported."""


def why_off() -> str:
    """Return what keeps all tricks from being used now; nothing if they may be."""
    if _is_switched_off():
        return f"{VARIABLE}={os.environ[VARIABLE]}"
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}"
    return "a debugger or a tool that measures coverage is at work" if _is_watched() else ""


def _is_switched_off() -> bool:
    return os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false")


def _is_watched() -> bool:
    """Tell whether a debugger or a tool for coverage watches this thread or those to come."""
    if sys.gettrace() is not None or threading.gettrace() is not None:
        return True
    monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return monitoring is not None and any(
        monitoring.get_tool(tool) is not None for tool in (monitoring.DEBUGGER_ID, monitoring.COVERAGE_ID)
    )


def _succeeds(trial: Callable[[], bool]) -> bool:
    if _is_switched_off():
        return False
    try:
        return trial()
    except Exception:  # an interpreter that is not as expected may fail in any way
        return False
