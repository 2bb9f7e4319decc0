"""Finds out, after the fact, that an error of the engine's own comes from what a function of the program returned.

Results are taken over in the innermost loops, where nobody asks what they are. What cannot be iterated over fails right
there, and the frame in which it does still holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.unusable_value import UnusableValueError, shown

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["unusable_result"]

_NOT_ITERABLE = re.compile(r"'(.+)' object is not iterable")
_NAMES = ("found", "made", "returned", "results")
"""What the engine calls the results of a function where it takes them over."""
_MISSING = object()


def unusable_result(error: BaseException, user_frames: TracebackType | None) -> UnusableValueError | None:
    """Return what to show instead of a ``TypeError`` that a result caused which cannot be iterated over."""
    found = _NOT_ITERABLE.fullmatch(str(error)) if isinstance(error, TypeError) and user_frames is None else None
    if found is None:
        return None
    result = getattr(error, "returned", _MISSING)
    if result is _MISSING:
        result = _in_last_frame(error, found[1])
    what = f"a {found[1]}" if result is _MISSING else shown(result)
    problem = (
        f"The function returned {what}, which cannot be iterated over. Return a list, or yield each result; for no"
        " result, return None."
    )
    return UnusableValueError(problem)


def _in_last_frame(error: BaseException, kind: str) -> Any:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None:
        return _MISSING
    found = {
        name: value
        for name, value in last.tb_frame.f_locals.items()
        if type(value).__name__ == kind and not isinstance(value, Iterable)
    }
    named = [found[name] for name in _NAMES if name in found]
    return named[0] if named else next(iter(found.values())) if len(found) == 1 else _MISSING
