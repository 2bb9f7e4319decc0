"""Key selectors that only take a part of the record are replaced by built-in functions with the same results."""

from __future__ import annotations

from operator import attrgetter, itemgetter
from typing import Any

import pytest

from penstock import (
    KeySelector,
    Row,
    StreamExecutionEnvironment,
    TimestampAssigner,
    UserFunctionError,
    WatermarkStrategy,
)
from penstock.runtime.exchange.key_functions import keys_of, the_record
from penstock.runtime.interpreter_tricks.parts_taken import simplified, simplified_extractor
from tests.unit.local_jobs import environment, results, run_locally


class ByField(KeySelector[Any, Any]):
    """Takes the second field."""

    def get_key(self, value: Any) -> Any:
        """Return it."""
        return value[1]


class ByName(KeySelector[Any, Any]):
    def get_key(self, value: Any) -> Any:
        return value.name


class ByOwnField(KeySelector[Any, Any]):
    def __init__(self, position: int) -> None:
        self.position = position

    def get_key(self, value: Any) -> Any:
        return value[self.position]


def documented(order: Any) -> Any:
    """Says what it does."""
    return order["user"]


@pytest.mark.parametrize(
    ("selector", "record", "kind"),
    [
        (lambda record: record[0], ("a", "b"), itemgetter),
        (lambda anything: anything[-1], ("a", "b"), itemgetter),
        (lambda record: record["user"], {"user": "a"}, itemgetter),
        (lambda record: record.name, Row(name="a"), attrgetter),
        (documented, {"user": 3}, itemgetter),
        (ByField().get_key, ("a", "b"), itemgetter),
        (ByName().get_key, Row(name="a"), attrgetter),
    ],
)
def test_a_part_of_the_record(selector: Any, record: Any, kind: type) -> None:
    found = simplified(selector)
    assert isinstance(found, kind)
    assert found(record) == selector(record)
    assert list(keys_of(found)([record, record])) == [selector(record)] * 2


def test_the_record_itself() -> None:
    assert simplified(lambda record: record) is the_record
    values = [3, 1, 2]
    assert list(keys_of(the_record)(values)) == values


@pytest.mark.parametrize(
    "selector",
    [
        lambda record: record[0][1],
        lambda record: record[0] + 1,
        lambda record, position=0: record[position],
        lambda *record: record[0],
        lambda record: record.user.name,
        lambda record: record[0:1],
        lambda record: record[0, 1],
        lambda _: 0,
        lambda record: (record[0], record[1]),
        lambda record: record[0]["a"],
        ByOwnField(1).get_key,
        str,
        len,
    ],
)
def test_whatever_does_more_stays_as_it_is(selector: Any) -> None:
    assert simplified(selector) is selector


def test_a_field_of_the_program_that_is_looked_up_stays_as_it_is() -> None:
    position = 1
    selector = lambda record: record[position]  # noqa: E731 - a lambda that sees its surroundings is what is tested
    assert simplified(selector) is selector


def keyed_twice(env: StreamExecutionEnvironment, selector: Any, parallelism: int) -> None:
    env.set_parallelism(parallelism)
    pairs = env.from_collection([("a", 1), ("b", 2), "", ("c", 3)])
    pairs.key_by(selector).reduce(lambda one, other: one).print()


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("selector", [lambda record: record[0], lambda record: (record[0], 1), ByField()])
def test_a_selector_that_fails_is_shown_with_its_record(selector: Any, parallelism: int) -> None:
    """One subtask finds the key before the exchange, or behind it, if there is only one to send to."""
    env = environment()
    keyed_twice(env, selector, parallelism)
    with pytest.raises(UserFunctionError) as raised:
        run_locally(env)
    message = str(raised.value)
    assert "IndexError" in message
    assert "test_parts_taken.py" in message
    assert "return value[1]" in message or "lambda record" in message
    assert "record     ''" in message


def test_a_function_that_fails_is_not_taken_for_its_selector() -> None:
    env = environment()
    env.from_collection([("a", 1), ("a", 0)]).key_by(lambda pair: pair[0]).reduce(lambda one, other: 1 // 0).print()
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as raised:
        run_locally(env)
    assert "1 // 0" in str(raised.value)


def test_a_running_sum_of_pairs_and_of_what_looks_like_pairs() -> None:
    env = environment()
    records = [("a", 1), ("b", 5), ("a", 2), ["l", 1], ["l", 2], ("c", 1, "first"), ("c", 2, "second")]
    sums = results(env.from_collection(records).key_by(lambda record: record[0]).sum(1))
    assert sums == [("a", 1), ("b", 5), ("a", 3), ["l", 1], ["l", 3], ("c", 1, "first"), ("c", 3, "first")]


class ByColumn(TimestampAssigner):
    """Takes the time from the record's second field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]  # type: ignore[no-any-return]


class Computed(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1] + 1  # type: ignore[no-any-return]


class Earlier(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp


def test_timestamp_assigners_that_take_a_field() -> None:
    found = simplified_extractor(ByColumn().extract_timestamp)
    assert found is not None
    assert found(("a", 5)) == 5


@pytest.mark.parametrize("assigner", [Computed(), Earlier()])
def test_other_timestamp_assigners_stay(assigner: TimestampAssigner) -> None:
    assert simplified_extractor(assigner.extract_timestamp) is None
    assert simplified_extractor(lambda value, _: value[0]) is None


def test_the_record_without_a_timestamp_is_named() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByColumn())
    env.from_collection([("a", 1), ("b",)]).assign_timestamps_and_watermarks(strategy).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert caught.value.record == "('b',)"
    assert "IndexError" in caught.value.error
    assert "extract_timestamp" in caught.value.user_traceback
