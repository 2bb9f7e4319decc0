"""Moments in time as programs hand them over: whole milliseconds, or refused where they come from."""

from __future__ import annotations

from datetime import datetime
from operator import index
from typing import Any

from penstock.foundation.failure_context import NO_RECORD
from penstock.vocabulary.program_checks import UnusableValueError, shown

__all__ = ["whole_millis"]


def whole_millis(time: Any, what: str, function: Any = None, record: Any = NO_RECORD) -> int:
    """Return a time as ``int``; integers of other libraries, such as numpy's, become one.

    Args:
        time: What the program handed over.
        what: The beginning of a sentence that ends with the value, such as ``"extract_timestamp() returned"``.
        function: The function to blame.
        record: The record it was called for.

    Raises:
        UnusableValueError: It is no whole number: a ``float``, ``None``, text, a truth value.
    """
    if type(time) is int:
        return time
    if not isinstance(time, bool) and type(time).__name__ != "bool":  # numpy has one of its own
        try:
            return int(index(time))
        except TypeError:
            pass
    problem = f"{what} {shown(time)}, but a time is a whole number of milliseconds, an int. {_remedy(time, what)}"
    raise UnusableValueError(problem, function, record)


def _remedy(time: Any, what: str) -> str:
    if time is None:
        if what.endswith("given"):
            return "Leave the call out where there is no time."
        return "Give every record a time, or filter those out before that have none."
    if isinstance(time, bool):
        return "A truth value is no time: a comparison may stand where a field was meant."
    if isinstance(time, float):
        return "Make it one with int(...), as in int(time.time() * 1000)."
    if isinstance(time, datetime):
        return "Make it one with int(moment.timestamp() * 1000)."
    if isinstance(time, str | bytes):
        return "Make it one with int(...), or parse it: int(datetime.fromisoformat(text).timestamp() * 1000)."
    return "Make it one with int(...)."
