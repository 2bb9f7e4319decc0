"""The accelerator in C, where it is installed: the package ``penstock-native``, made from the directory ``native``.

Whatever it does has a twin in Python, which is used where it is missing, and which says how both behave. The variable
``PENSTOCK_NATIVE=off`` leaves an installed one unused.
"""

from __future__ import annotations

import importlib
import logging
import os
from typing import Any

__all__ = ["VARIABLE", "accelerator", "native"]

VARIABLE = "PENSTOCK_NATIVE"
_INTERFACE = 10

_log = logging.getLogger("penstock.native")


def _load() -> tuple[Any, str]:
    """Return the module, ``None`` where it is not used, and whether it is in use in words."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false"):
        return None, f"switched off by {VARIABLE}"
    try:
        module = importlib.import_module("penstock_native")
    except ModuleNotFoundError as error:
        if error.name == "penstock_native":
            return None, "not installed"
        return None, _warned(f"cannot be imported: {error}")
    except ImportError as error:
        return None, _warned(f"cannot be imported: {error}")
    found = getattr(module, "INTERFACE", None)
    if found == _INTERFACE:
        return module, "in use"
    return None, _warned(
        f"of another version than penstock (interface {found}, needed is {_INTERFACE}):"
        f" install the penstock-native that belongs to it, in the place of {module.__file__}"
    )


def _warned(reason: str) -> str:
    """Say, when it is imported and so once, that an accelerator that somebody has installed is of no use."""
    _log.warning("The accelerator is not in use, which makes jobs slower. It is %s", reason)
    return reason


native: Any
accelerator: str
"""Whether it is in use, and why not, in words."""
native, accelerator = _load()
