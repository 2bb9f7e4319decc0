"""What the driver does with the results of a job, whichever mode it runs in."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["print_lines", "summed_counters"]

_printing = threading.Lock()


def print_lines(lines: list[str]) -> None:
    """Print what ``print()`` steps have printed; lines of several tasks are not torn."""
    with _printing:
        sys.stdout.write("\n".join([*lines, ""]))
        sys.stdout.flush()


def summed_counters(metrics: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the counters of all tasks, summed by their names."""
    totals: dict[str, Any] = {}
    for values in metrics:
        for name, value in values.get("metrics", {}).items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                short = name.rpartition(".")[2]
                totals[short] = totals.get(short, 0) + value
    return totals
