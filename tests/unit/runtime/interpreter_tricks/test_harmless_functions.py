"""Which functions can do nothing but compute a result from their record."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import pytest

from penstock.runtime.interpreter_tricks.harmless_functions import can_only_compute, computed

SHARED: list[Any] = []


def both(record: Any) -> Any:
    first, second = record
    return second, first if first > second else {"kept": first}


class Counting:
    def method(self, record: Any) -> Any:
        return record


@pytest.mark.parametrize(
    "function",
    [
        lambda record: record,
        lambda record: record[0],
        lambda record: (record[0], record[1] * 2 + 1),
        lambda record: {"a": record["a"], "b": [record["b"]]},
        lambda record: record > 3 and record != 7,
        lambda record: f"{record[0]}-{record[1]:>3}",
        lambda record: record[1:3] if record else None,
        lambda record: "x" in record,
        both,
        itemgetter(1),
        itemgetter("a", "b"),
    ],
)
def test_functions_that_only_compute(function: Callable[[Any], Any]) -> None:
    assert can_only_compute(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda record: SHARED,
        lambda record: SHARED.append(record),
        lambda record: record.field,
        lambda record: record.update(seen=True),
        lambda record, made=[]: made,
        lambda *records: records,
        lambda record: (yield record),
        lambda record: [each for each in record],  # noqa: C416
        lambda record: str(record),
        Counting().method,
        Counting(),
        str,
        (lambda outer: lambda record: outer)([]),
    ],
)
def test_functions_that_may_do_more(function: Callable[[Any], Any]) -> None:
    assert not can_only_compute(function)


def test_functions_that_change_their_record_are_not_called_twice() -> None:
    def store(record: Any) -> Any:
        record["seen"] = True
        return record

    def add(record: Any) -> Any:
        record += [1]
        return record

    assert not can_only_compute(store)
    assert not can_only_compute(add)


def test_results_are_computed_at_once_or_not_at_all() -> None:
    assert computed(lambda value: value * 2, [1, 2]) == [2, 4]
    assert computed(lambda value: 1 // value, [1, 0]) is None
