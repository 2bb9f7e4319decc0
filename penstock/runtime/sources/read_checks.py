"""Looks at what sources of the program return: runs of records with their times, and splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.unusable_results import listed
from penstock.runtime.exchange.elements import are_all
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.sources.protocol import SourceSplit
from penstock.vocabulary.time.time_values import whole_millis

if TYPE_CHECKING:
    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["checked_read", "checked_splits"]

_PAIR = "but it returns a pair: a list of records, and a list of their timestamps or None"


def checked_read(records: Any, read: Any) -> tuple[Values, Timestamps]:
    """Return a run as lists; a reader of the program may return other sequences, or what is no run."""
    if not isinstance(records, tuple | list) or len(records) != 2:
        problem = f"read() returned {shown(records)}, {_PAIR}; None at the end."
        raise UnusableValueError(problem, read)
    values, timestamps = records
    # A list of our own: a reader may keep what it returns.
    values = values[:] if type(values) is list else listed(values, "The first of what read", read)
    if timestamps is None:
        return values, None
    if type(timestamps) is not list:
        timestamps = listed(timestamps, "The second of what read", read)
    if len(timestamps) != len(values):
        problem = f"read() returned {len(values)} records with {len(timestamps)} timestamps, {_PAIR}."
        raise UnusableValueError(problem, read)
    if not are_all(timestamps, int):
        what = "read() returned, as a timestamp,"
        timestamps = [whole_millis(time, what, read, value) for time, value in zip(timestamps, values, strict=True)]
    return values, timestamps


def checked_splits(splits: Any, method: Any) -> list[SourceSplit]:
    """Return splits as a list; each has an id of its own."""
    found = listed(splits, method.__name__, method)
    for split in found:
        if not isinstance(split, SourceSplit):
            problem = f"{method.__name__}() returned a list with {shown(split)} in it, which is no SourceSplit."
            raise UnusableValueError(problem, method)
    return found
