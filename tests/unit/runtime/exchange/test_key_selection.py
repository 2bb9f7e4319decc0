"""Key selectors and partitioners: their life cycle, what they return, and who is blamed when they fail."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock import (
    CoMapFunction,
    HashMapStateBackend,
    KeyedProcessFunction,
    KeySelector,
    Partitioner,
    Time,
    TumblingProcessingTimeWindows,
    UserFunctionError,
    ValueStateDescriptor,
)
from penstock.errors import UnusableKeyError
from penstock.graph import steps
from penstock.runtime.exchange.key_selection import key_function
from penstock.runtime.task.build import build_operator
from penstock.testing.harness import OperatorHarness
from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend
from tests.unit.local_jobs import environment, results, run_locally

CALLS: Counter[str] = Counter()


class Counting:
    """Writes down how it is used."""

    def open(self, runtime_context: Any) -> None:
        assert self.get_runtime_context() is runtime_context  # type: ignore[attr-defined]
        self.is_open = True
        self.task = runtime_context.get_task_name()
        CALLS[f"open in {self.task}"] += 1

    def close(self) -> None:
        assert self.is_open
        self.is_open = False
        CALLS[f"close in {self.task}"] += 1


class FirstField(Counting, KeySelector[Any, Any]):
    def get_key(self, value: Any) -> Any:
        assert self.is_open
        return value[0]


class ByLength(Counting, Partitioner[Any]):
    def partition(self, key: Any, num_partitions: int) -> int:
        assert self.is_open
        return len(key) % num_partitions


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


def test_a_key_selector_is_opened_and_closed_in_each_subtask_that_sends_and_that_receives() -> None:
    env = environment(2)
    stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).name("pairs").set_parallelism(1)
    stream.key_by(FirstField()).sum(1).name("sum").print()
    run_locally(env)
    assert CALLS == {"open in pairs": 1, "close in pairs": 1, "open in sum": 2, "close in sum": 2}


def test_both_key_selectors_of_a_join_are_opened() -> None:
    env = environment()
    left, right = env.from_collection([("a", 1)]), env.from_collection([("a", 2)])
    windows = TumblingProcessingTimeWindows.of(Time.seconds(5))
    left.join(right).where(FirstField()).equal_to(FirstField()).window(windows).apply(lambda a, b: (a, b)).name(
        "join"
    ).print()
    run_locally(env)
    assert CALLS["open in join"] == CALLS["close in join"] == 2


def test_a_partitioner_and_its_key_selector_are_opened_and_closed() -> None:
    env = environment(2)
    stream = env.from_collection([("a", 1), ("bb", 2)]).name("pairs").set_parallelism(1)
    stream.partition_custom(ByLength(), FirstField()).map(str).print()
    run_locally(env)
    assert CALLS == {"open in pairs": 2, "close in pairs": 2}


def test_a_key_selector_is_closed_after_a_failure() -> None:
    env = environment(2)
    stream = env.from_collection([("a", 1), (math.nan, 2)]).name("pairs").set_parallelism(1)
    stream.key_by(FirstField()).sum(1).name("sum").print()
    with pytest.raises(UnusableKeyError):
        run_locally(env)
    assert CALLS["close in pairs"] == CALLS["open in pairs"] == 1
    assert CALLS["close in sum"] == CALLS["open in sum"] == 2


def test_the_harness_opens_and_closes_a_key_selector() -> None:
    step = steps.ReduceStep(function=lambda a, b: (a[0], a[1] + b[1]), key=FirstField().get_key)
    with OperatorHarness(build_operator(step), name="sum") as harness:
        harness.push(("a", 1))
        assert CALLS == {"open in sum": 1}
    assert CALLS == {"open in sum": 1, "close in sum": 1}


def refused(record: Any) -> Any:
    return record["key"]


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("key", [[1], {}, math.nan, (1, math.nan), object(), {1}, np.array([1])])
def test_a_key_that_cannot_be_one_is_refused_with_selector_and_record(key: Any, parallelism: int) -> None:
    env = environment(parallelism)
    records = [{"key": 1}, {"key": key, "n": 7}]
    env.from_collection(records).key_by(refused).reduce(lambda a, b: a).name("last").print()
    with pytest.raises(UnusableKeyError) as caught:
        run_locally(env)
    message = str(caught.value)
    assert "cannot be a key" in message
    assert "in step    'key_by() before last'" in message
    assert f"function   refused ({__file__}:" in message
    assert "'n': 7" in message


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("keys", [(Decimal(2), np.int64(2)), ((Decimal(2), "x"), (np.int64(2), "x"))])
def test_keys_that_python_fails_to_compare_are_blamed_on_the_selector(keys: Any, parallelism: int) -> None:
    env = environment(parallelism)
    records = [{"key": key, "n": n} for n, key in enumerate(keys)]
    env.from_collection(records).key_by(refused).reduce(lambda a, b: a).name("last").print()
    with pytest.raises(UnusableKeyError, match="cannot be a key beside others") as caught:
        run_locally(env)
    message = str(caught.value)
    assert "Return keys of one type" in message
    assert "in step    'key_by() before last'" in message
    assert f"function   refused ({__file__}:" in message
    assert "'n': 1" in message


class Remember(KeyedProcessFunction[Any, Any, Any]):
    """Counts the records of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value[1], type(ctx.get_current_key()).__name__, self.count.value()


EQUAL = [1, 1.0, True, Decimal("1.00"), Fraction(1)]


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
@pytest.mark.parametrize("parallelism", [1, 5])
def test_equal_keys_of_any_type_meet_and_the_function_sees_the_key_of_its_record(
    parallelism: int, backend: Any
) -> None:
    env = environment(parallelism)
    env.set_state_backend(backend())
    # As many senders as receivers: none of them has seen the other keys.
    stream = env.from_collection([(key, "x") for key in EQUAL]).rebalance().map(lambda pair: pair)
    found = results(stream.key_by(lambda pair: pair[0]).process(Remember()))
    assert sorted(count for _, _, count in found) == [1, 2, 3, 4, 5]
    assert sorted(kind for _, kind, _ in found) == ["Decimal", "Fraction", "bool", "float", "int"]


def test_equal_keys_of_two_connected_streams_meet() -> None:
    class Both(CoMapFunction[Any, Any, Any]):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

        def map1(self, value: Any) -> Any:
            return self._add(value)

        def map2(self, value: Any) -> Any:
            return self._add(value)

        def _add(self, value: Any) -> Any:
            self.seen.update((self.seen.value() or 0) + 1)
            return self.seen.value()

    env = environment(4)
    first, second = env.from_collection([(1, "a")]), env.from_collection([(np.float64(1), "b")])
    connected = first.key_by(lambda pair: pair[0]).connect(second.key_by(lambda pair: pair[0]))
    assert sorted(results(connected.map(Both()))) == [1, 2]


@pytest.mark.parametrize("answer", [2, -1, 0.5, None, "0"])
def test_a_partitioner_that_names_no_target_is_shown_with_the_record(answer: Any) -> None:
    env = environment(2)
    env.from_collection(["a"]).partition_custom(lambda key, count: answer, lambda value: value).map(str).print()
    with pytest.raises(UserFunctionError, match="0 to 1") as caught:
        run_locally(env)
    assert caught.value.step == "partition_custom() before Map"
    assert caught.value.record == "'a'"


def test_a_partitioner_may_return_a_number_of_numpy() -> None:
    env = environment(2)
    stream = env.from_collection(["a", "bb"]).partition_custom(lambda key, count: np.int64(len(key) % 2), lambda x: x)
    assert sorted(results(stream.map(str.upper))) == ["A", "BB"]


def test_the_key_of_a_partitioner_may_be_anything() -> None:
    env = environment(2)
    stream = env.from_collection([[1], [2]]).partition_custom(lambda key, count: key[0] % count, lambda value: value)
    assert sorted(results(stream.map(str))) == ["[1]", "[2]"]


def test_the_key_selector_of_a_partitioner_is_blamed_for_its_own_errors() -> None:
    env = environment(2)
    env.from_collection([{"key": 1}, {}]).partition_custom(lambda key, count: 0, refused).map(str).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert caught.value.step == "partition_custom() before Map"
    assert caught.value.function.startswith("refused (")
    assert caught.value.record == "{}"


@pytest.mark.parametrize(
    ("selector", "records"),
    [
        (lambda record: record, [1, "a", None, (1, (2, 3)), 2.5]),
        (lambda record: record[0], [(1, 2), ["a"], {0: b"c"}]),
        (lambda record: record[-1], [(1, 2), "ab"]),
        (lambda record: record["a"], [{"a": 1}]),
        (lambda record: (record, 1), [1, 2]),
    ],
)
def test_keys_of_runs_and_of_single_records_are_the_same(selector: Any, records: list[Any]) -> None:
    function = key_function(selector)
    expected = [selector(record) for record in records]
    assert list(function.keys_of(records)) == expected
    assert [function(record) for record in records] == expected
    assert function.selector is selector
    assert function.failure is None


def test_a_selector_that_is_no_replacement_is_asked_once_for_a_record_that_fails() -> None:
    asked = []

    def selector(record: int) -> float:
        asked.append(record)
        return 1 / record

    function = key_function(selector)
    with pytest.raises(ZeroDivisionError) as caught:
        list(function.keys_of([2, 0, 1]))
    assert asked == [2, 0]
    assert function.failure == (caught.value, 0)


def test_a_selector_that_stops_an_iteration_is_no_end_of_the_run() -> None:
    def selector(record: int) -> int:
        return next(iter(())) if record == 2 else record

    function = key_function(selector)
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(function.keys_of([1, 2, 3]))
    assert function.failure is not None
    assert function.failure[1] == 2
