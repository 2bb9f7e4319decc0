"""Puts a run of records, or the timers of a moment, through a function that sees a context, one after the other."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from penstock.native import native
from penstock.runtime.last_yield import stopped
from penstock.runtime.timers import one_by_one
from penstock.statestore.backend import KeyContext
from penstock.statestore.key_cell import KeyCell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.elements import Timestamps, Values
    from penstock.runtime.timers import Bucket

__all__ = ["TimedContext", "call_for_each", "call_for_timers"]


class TimedContext(Protocol):
    """A context that is told the timestamp of each record."""

    time: int | None


def _call_for_each(
    call: Callable[..., Any],
    values: Values,
    timestamps: Timestamps,
    context: TimedContext,
    record_keys: Iterable[Any] | None,
    keys: KeyContext,
) -> tuple[Values, Timestamps]:
    """Return the results of all records with the timestamps of the records they are made from.

    Without keys of the records, the function is called outside of every key.
    """
    current: KeyCell = keys
    if record_keys is None:
        keys.forget()
        current, record_keys = KeyCell(), repeat(None, len(values))  # a place that nobody looks at
    results: Values = []
    times: Timestamps = None if timestamps is None else []
    add = results.append  # extend() would make room for eight results of every generator, and take it back
    try:
        if timestamps is None or times is None:
            context.time = None
            for value, current.key in zip(values, record_keys, strict=True):
                found = call(value, context)
                if found is not None:
                    for result in found:
                        add(result)
        else:
            add_time = times.append
            for value, current.key, timestamp in zip(values, record_keys, timestamps, strict=True):
                context.time = timestamp
                found = call(value, context)
                if found is not None:
                    for result in found:
                        add(result)
                        add_time(timestamp)
    except StopIteration as error:
        raise stopped(error) from error
    return results, times


def _call_for_timers(
    call: Callable[..., Any],
    timestamp: int,
    bucket: Bucket,
    context: TimedContext,
    keys: KeyContext,
    results: Values,
    times: list[int],
) -> None:
    """Put the timers of a moment through a function and add what it returns to the results.

    Timers that it deletes do not fire any more; those that it registers for the same moment stay for the next time.
    """

    def on_timer(_: int, key: Any, __: Any) -> None:
        keys.key = key
        context.time = timestamp
        found = call(timestamp, context)
        if found is not None:
            for result in found:
                results.append(result)
                times.append(timestamp)

    one_by_one(on_timer)(timestamp, bucket)


def _call_for_each_natively(
    call: Callable[..., Any],
    values: Values,
    timestamps: Timestamps,
    context: TimedContext,
    record_keys: Iterable[Any] | None,
    keys: KeyContext,
) -> tuple[Values, Timestamps]:
    if record_keys is None:
        keys.forget()
    results: Values = []
    times: Timestamps = None if timestamps is None else []
    failed: Values = []
    try:
        native.call_for_each(call, values, record_keys, timestamps, keys, KeyContext, context, results, times, failed)
    except BaseException as error:
        if failed:
            value = failed[0]  # noqa: F841 - this is where the explanation of a failure finds the record
        if isinstance(error, StopIteration):
            raise stopped(error) from error
        raise
    return results, times


def _call_for_timers_natively(
    call: Callable[..., Any],
    timestamp: int,
    bucket: Bucket,
    context: TimedContext,
    keys: KeyContext,
    results: Values,
    times: list[int],
) -> None:
    native.fire_timers(timestamp, bucket, call, keys, KeyContext, context, results, times)


call_for_each = _call_for_each if native is None else _call_for_each_natively
call_for_timers = _call_for_timers if native is None else _call_for_timers_natively
