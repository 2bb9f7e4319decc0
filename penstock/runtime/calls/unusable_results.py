"""Finds out, after the fact, that an error of the engine's own comes from what a function of the program returned.

Results are taken over in the innermost loops, where nobody asks what they are. What cannot be iterated over fails right
there, and is noted on the error as ``returned``: here, and in the accelerator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.program_checks import UnusableValueError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["iterated", "listed", "require_made", "unusable_result"]

_NOT_ITERABLE = re.compile(r"'(.+)' object is not iterable")
_MISSING = object()


def unusable_result(error: BaseException, user_frames: TracebackType | None) -> UnusableValueError | None:
    """Return what to show instead of an error of the engine's that a value of the program has caused, if so."""
    if isinstance(error, AttributeError) and error.name == "tag_id":
        return UnusableValueError(f"A side output is named by an OutputTag, not by {shown(error.obj)}.")
    found = _NOT_ITERABLE.fullmatch(str(error)) if isinstance(error, TypeError) and user_frames is None else None
    if found is None:
        return None
    result = getattr(error, "returned", _MISSING)
    what = f"a {found[1]}" if result is _MISSING else shown(result)
    problem = (
        f"The function returned {what}, which cannot be iterated over. Return a list, or yield each result; for no"
        " result, return None."
    )
    return UnusableValueError(problem)


def iterated(results: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator of what a function returned; what has none is noted on the error."""
    try:
        return iter(results)
    except TypeError as error:
        if not isinstance(results, Iterable):
            error.returned = results
        raise


def listed(results: Any, method: str, function: Any) -> list[Any]:
    """Return what a method of the program returned as a list.

    Raises:
        UnusableValueError: It is no collection of anything.
    """
    if results is None or isinstance(results, str | bytes) or not isinstance(results, Iterable):
        problem = f"{method}() returned {shown(results)}, but it returns a list; an empty one for nothing."
        raise UnusableValueError(problem, function)
    return list(results)


def require_made(made: Any, kind: type, method: str, maker: Any) -> None:
    """Refuse what a method of the program made if it is of another kind than it must be."""
    if not isinstance(made, kind):
        problem = f"{method}() returned {shown(made)}, but it makes a {kind.__name__}."
        raise UnusableValueError(problem, getattr(maker, method))
