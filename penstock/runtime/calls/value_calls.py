"""Puts a run of records through a function of the record alone: map, filter, reduce.

Each result is handed over at the moment it comes, see :mod:`penstock.statestore.copying`. These are loops of Python on
purpose: from here the interpreter calls functions of the program without leaving its own loop, which C cannot. What was
appended before an error is there for whoever catches it.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.statestore.copying import are_fixed, copied
from penstock.vocabulary.program_checks import none_returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.statestore.backend import KeyContext

__all__ = ["filter_each", "map_each", "reduce_each"]

if TYPE_CHECKING:
    HandOver = Callable[[Any, Any], Any]
    """Returns what is emitted for a result that was made from a record; both are given."""

_NOTHING = object()


def map_each(call: Callable[[Any], Any], values: Values, results: Values, hand_over: HandOver | None) -> None:
    """Append the result of each record; without a way of handing over, as it is."""
    value = NO_RECORD
    try:
        if hand_over is None:
            for value in values:
                results.append(call(value))
        else:
            for value in values:
                results.append(hand_over(call(value), value))
    except BaseException as error:
        note_record(error, value)
        raise


def filter_each(
    call: Callable[[Any], Any],
    values: Values,
    timestamps: Timestamps,
    results: Values,
    times: Timestamps,
    hand_over: HandOver | None,
) -> None:
    """Append the records for which the function is true, and their timestamps."""
    answers: list[Any] = []
    # Records that cannot change, or are reused, are chosen when all answers are there.
    chooses_later = hand_over is None or are_fixed(values)
    value = NO_RECORD
    try:
        if hand_over is None or chooses_later:
            for value in values:
                answers.append(call(value))
        else:
            # Not zip(), which holds on to the record, so that it would seem to be somebody else's.
            for value in values:
                answer = call(value)
                if answer:
                    results.append(hand_over(value, value))
                answers.append(answer)
    except BaseException as error:
        note_record(error, value)
        raise
    finally:
        if chooses_later:
            results.extend(compress(values, answers))
        if timestamps is not None and times is not None:
            times.extend(compress(timestamps, answers))


def reduce_each(
    reduce: Callable[[Any, Any], Any],
    function: Any,
    values: Values,
    record_keys: Iterable[Any],
    entries: dict[Any, Any],
    keys: KeyContext,
    results: Values,
    *,
    protects: bool,
) -> None:
    """Combine each record with what its key has so far, and append what that gives; messages name the function."""
    value = NO_RECORD
    try:
        for value, key in zip(values, record_keys, strict=True):
            keys.key = key
            known = entries.get(key, _NOTHING)
            if known is _NOTHING:
                result = value
            else:
                result = reduce(known, value)
                if result is None:
                    raise none_returned(function, "reduce", value)
            entries[key] = result
            results.append(copied(result) if protects else result)
    except BaseException as error:
        note_record(error, value)
        raise
