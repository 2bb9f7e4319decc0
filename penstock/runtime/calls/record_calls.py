"""Puts a run of records, or the timers of a moment, through a function of the program, one after the other.

Each result is handed over at the moment it comes: what the program might still change is copied before the function
goes on (:mod:`penstock.statestore.copying`). A function may return any number of results, even without end. When those
of one call are many or slow, it is left with its iterator, so that the results so far can go on and the task gets to
its other duties; :func:`gather_more` takes the next ones.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from penstock.foundation.clock import monotonic_seconds
from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.foundation.native import native
from penstock.runtime.calls.unusable_results import iterated
from penstock.runtime.interpreter_tricks.handover import counts_references
from penstock.runtime.interpreter_tricks.last_yield import stopped
from penstock.runtime.time.timers import one_by_one
from penstock.statestore.backend import KeyCell, KeyContext
from penstock.statestore.copying import as_it_is, copied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.time.timers import Bucket

    Unfinished = tuple[int, Iterator[Any], int]
    """The position of a record whose results have not all come yet, their iterator, and how many have come."""

__all__ = ["TimedContext", "call_for_each", "call_for_timers", "gather_all", "gather_more"]

_MOST_RESULTS = 1024
_LONGEST_SECONDS = 0.01
_LARGE = 4096
"""A list or tuple of so many results is worked off like a generator."""


class TimedContext(Protocol):
    """A context that is told the timestamp of each record."""

    time: int | None


def _call_for_each(
    call: Callable[..., Any],
    values: Values,
    timestamps: Timestamps,
    context: TimedContext | None,
    record_keys: Iterable[Any] | None,
    keys: KeyContext,
    results: Values,
    times: Timestamps,
    *,
    protects: bool,
) -> Unfinished | None:
    """Append the results of all records, with the timestamps of the records they are made from.

    Without keys of the records, the function is called outside of every key; without a context, with the record alone.
    """
    current: KeyCell = keys
    if record_keys is None:
        keys.forget()
        current, record_keys = KeyCell(), repeat(None, len(values))  # a place that nobody looks at
    add = results.append  # extend() would make room for eight results of every generator, and take it back
    hand_over = copied if protects else as_it_is
    stamps: Iterable[Any] = repeat(None, len(values)) if timestamps is None else timestamps
    value = NO_RECORD
    try:
        for value, current.key, timestamp, position in zip(
            values, record_keys, stamps, range(len(values)), strict=True
        ):
            if context is None:
                found = call(value)
            else:
                context.time = timestamp
                found = call(value, context)
            if found is None:
                continue
            if found.__class__ is tuple and len(found) < _LARGE:
                for result in found:
                    add(hand_over(result))
                    if times is not None:
                        times.append(timestamp)
                continue
            iterator, before = iterated(found), len(results)
            if _gather_more(iterator, timestamp, results, times, protects=protects):
                return position, iterator, len(results) - before
    except BaseException as error:
        note_record(error, value)
        if isinstance(error, StopIteration):
            raise stopped(error) from error
        raise
    return None


def _gather_more(
    iterator: Iterator[Any], time: int | None, results: Values, times: Timestamps, *, protects: bool
) -> bool:
    """Take results of an iterator, until they are many or have taken long; tell whether there may be more."""
    hand_over = copied if protects else as_it_is
    start = 0.0
    for count, result in enumerate(iterator, start=1):
        results.append(hand_over(result))
        if times is not None:
            times.append(time)  # type: ignore[arg-type]
        if count == 2:
            start = monotonic_seconds()
        elif count > 2 and (count >= _MOST_RESULTS or monotonic_seconds() - start > _LONGEST_SECONDS):
            return True
    return False


def _gather_all(found: Iterable[Any], time: int | None, results: Values, times: Timestamps, *, protects: bool) -> None:
    """Take all results of a call."""
    hand_over = copied if protects else as_it_is
    for result in iterated(found):
        results.append(hand_over(result))
        if times is not None:
            times.append(time)  # type: ignore[arg-type]


def _call_for_timers(
    call: Callable[..., Any],
    timestamp: int,
    bucket: Bucket,
    context: TimedContext,
    keys: KeyContext,
    results: Values,
    times: list[int],
    *,
    protects: bool,
) -> None:
    """Put the timers of a moment through a function and add what it returns to the results.

    Timers that it deletes do not fire any more; those that it registers for the same moment stay for the next time.
    """

    def on_timer(_: int, key: Any, __: Any) -> None:
        keys.key = key
        context.time = timestamp
        found = call(timestamp, context)
        if found is not None:
            _gather_all(found, timestamp, results, times, protects=protects)

    one_by_one(on_timer)(timestamp, bucket)


def _call_for_each_natively(
    call: Callable[..., Any],
    values: Values,
    timestamps: Timestamps,
    context: TimedContext | None,
    record_keys: Iterable[Any] | None,
    keys: KeyContext,
    results: Values,
    times: Timestamps,
    *,
    protects: bool,
) -> Unfinished | None:
    if record_keys is None:
        keys.forget()
    failed: Values = []
    try:
        unfinished: Unfinished | None = native.call_for_each(
            call, values, record_keys, timestamps, keys, KeyContext, context, results, times, failed, protects
        )
    except BaseException as error:
        if failed:
            note_record(error, failed[0])
        if isinstance(error, StopIteration):
            raise stopped(error) from error
        raise
    return unfinished


def _gather_more_natively(
    iterator: Iterator[Any], time: int | None, results: Values, times: Timestamps, *, protects: bool
) -> bool:
    has_more: bool = native.gather_more(iterator, time, results, times, protects)
    return has_more


def _gather_all_natively(
    found: Iterable[Any], time: int | None, results: Values, times: Timestamps, *, protects: bool
) -> None:
    native.gather_all(found, time, results, times, protects)


def _call_for_timers_natively(
    call: Callable[..., Any],
    timestamp: int,
    bucket: Bucket,
    context: TimedContext,
    keys: KeyContext,
    results: Values,
    times: list[int],
    *,
    protects: bool,
) -> None:
    native.fire_timers(timestamp, bucket, call, keys, KeyContext, context, results, times, protects)


call_for_each = _call_for_each_natively if counts_references else _call_for_each
call_for_timers = _call_for_timers_natively if counts_references else _call_for_timers
gather_all = _gather_all_natively if counts_references else _gather_all
gather_more = _gather_more_natively if counts_references else _gather_more
