"""Puts a run of records through a function that sees a context, one after the other."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.elements import Timestamps, Values
    from penstock.statestore.backend import KeyContext

__all__ = ["TimedContext", "call_for_each"]


class TimedContext(Protocol):
    """A context that is told the timestamp of each record."""

    time: int | None


def call_for_each(
    call: Callable[..., Any],
    values: Values,
    timestamps: Timestamps,
    context: TimedContext,
    key_of: Callable[[Any], Any] | None,
    keys: KeyContext,
) -> tuple[Values, Timestamps]:
    """Return the results of all records with the timestamps of the records they are made from.

    Without a key selector the function is called outside of every key.
    """
    if key_of is None:
        keys.forget()
    results: Values = []
    times: Timestamps = None if timestamps is None else []
    add = results.append
    clocked: Iterable[int | None] = repeat(None, len(values)) if timestamps is None else timestamps
    for value, timestamp in zip(values, clocked, strict=True):
        if key_of is not None:
            keys.key = key_of(value)
        context.time = timestamp
        found = call(value, context)
        if found is not None:
            for result in found:
                add(result)
                if times is not None:
                    times.append(timestamp)  # type: ignore[arg-type]
    return results, times
