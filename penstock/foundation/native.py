"""The accelerator in C, where it is installed: the package ``penstock-native``, made from the directory ``native``.

Whatever it does has a twin in Python, which is used where it is missing, and which says how both behave. The variable
``PENSTOCK_NATIVE=off`` leaves an installed one unused.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

__all__ = ["VARIABLE", "native"]

VARIABLE = "PENSTOCK_NATIVE"
_INTERFACE = 10


def _load() -> Any:
    """Return the module; ``None`` if there is none, it is not wanted or it is of another version than this package."""
    if os.environ.get(VARIABLE, "").lower() in ("off", "0", "no", "false"):
        return None
    try:
        module = importlib.import_module("penstock_native")
    except ImportError:
        return None
    return module if module.INTERFACE == _INTERFACE else None


native: Any = _load()
