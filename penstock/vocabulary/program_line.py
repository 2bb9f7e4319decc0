"""Where in the user's program a call stands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["location"]

_PACKAGE = f"{Path(__file__).resolve().parent.parent}{os.sep}"


def location() -> str:
    """Returns ``file:line`` of the innermost call that is not Penstock's own."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
