"""Worked cases of state and rolling aggregates, W-01 to W-12, as whole jobs."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    FlatMapFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    ReducingStateDescriptor,
    RichFlatMapFunction,
    RuntimeContext,
    SinkFunction,
    ValueStateDescriptor,
)
from tests.unit.local_jobs import by_subtask, environment, results, run_locally

LINES = ["hadoop hadoop", "hadoop", "hive hadoop"]


def word_count(parallelism: int, lines: list[str]) -> Any:
    words = environment(parallelism).from_collection(lines).flat_map(str.split)
    return words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)


def test_w_01_word_count() -> None:
    assert results(word_count(1, LINES)) == [("hadoop", 1), ("hadoop", 2), ("hadoop", 3), ("hive", 1), ("hadoop", 4)]


def test_w_01_subtasks_with_parallelism_eight() -> None:
    counts = word_count(8, LINES)
    counts.print()
    printed = by_subtask(run_locally(counts.get_execution_environment()).printed)
    assert printed == {
        8: ["('hadoop', 1)", "('hadoop', 2)", "('hadoop', 3)", "('hadoop', 4)"],
        1: ["('hive', 1)"],
    }


def mod_three(parallelism: int) -> Any:
    numbers = environment(parallelism).from_collection([1, 2, 3, 4, 5, 6, 7, 8])
    return numbers.key_by(lambda x: x % 3).reduce(lambda a, b: a + b)


def test_w_02_reduce_mod_three() -> None:
    assert results(mod_three(1)) == [1, 2, 3, 5, 7, 9, 12, 15]


def test_w_02_subtasks_with_parallelism_four() -> None:
    sums = mod_three(4)
    sums.print()
    printed = by_subtask(run_locally(sums.get_execution_environment()).printed)
    assert set(printed) == {3, 4}
    assert printed[4] == ["2", "7", "15"]
    assert [line for line in printed[3] if line in ("1", "5", "12")] == ["1", "5", "12"]
    assert [line for line in printed[3] if line in ("3", "9")] == ["3", "9"]
    assert len(printed[3]) == 5


class Adding(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", None, 0))

    def map(self, value: int) -> int:
        self.sum.update(self.sum.value() + value)
        return self.sum.value()


def test_w_03_stateful_counter() -> None:
    ones = environment().from_collection([1, 1, 1])
    assert results(ones.key_by(lambda x: 0).map(Adding())) == [1, 2, 3]


def test_w_03_stateless_counter() -> None:
    assert results(environment().from_collection([1, 1, 1]).map(lambda n: n + 1)) == [2, 2, 2]


class MeanOfValue(FlatMapFunction):
    def __init__(self, *, clears: bool) -> None:
        self._clears = clears

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count and sum", None))

    def flat_map(self, value: tuple[int, float]) -> Any:
        count, total = self.state.value() or (0, 0.0)
        count, total = count + 1, total + value[1]
        self.state.update((count, total))
        if count >= 2:
            yield value[0], total / count
            if self._clears:
                self.state.clear()


VALUES = [(1, 3.0), (1, 5.0), (1, 7.0), (1, 4.0), (1, 2.0)]


def test_w_04_value_state_mean() -> None:
    stream = environment().from_collection(VALUES).key_by(lambda r: r[0]).flat_map(MeanOfValue(clears=False))
    assert results(stream) == [(1, 4.0), (1, 5.0), (1, 4.75), (1, 4.2)]


def test_w_05_value_state_mean_with_clear() -> None:
    stream = environment().from_collection(VALUES).key_by(lambda r: r[0]).flat_map(MeanOfValue(clears=True))
    assert results(stream) == [(1, 4.0), (1, 5.5)]


PAIRS = [(1, 3.0), (1, 5.0), (1, 7.0), (2, 4.0), (2, 2.0), (2, 6.0)]


class MeanOfList(RichFlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_list_state(ListStateDescriptor("values", None))

    def flat_map(self, value: tuple[int, float]) -> Any:
        self.state.add(value[1])
        values = list(self.state)
        if len(values) >= 3:
            self.state.clear()
            yield value[0], sum(values) / len(values)


class MeanOfMap(RichFlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_map_state(MapStateDescriptor("values", None, None))

    def flat_map(self, value: tuple[int, float]) -> Any:
        self.state.put(str(uuid.uuid4()), value[1])
        values = list(self.state.values())
        if len(values) >= 3:
            self.state.clear()
            yield value[0], sum(values) / len(values)


@pytest.mark.parametrize("parallelism", [1, 4])
@pytest.mark.parametrize("function", [MeanOfList, MeanOfMap])
def test_w_06_and_w_07_mean_of_three(function: type[RichFlatMapFunction], parallelism: int) -> None:
    stream = environment(parallelism).from_collection(PAIRS).key_by(lambda r: r[0]).flat_map(function())
    assert sorted(results(stream)) == [(1, 5.0), (2, 4.0)]


class MeanByField(RichFlatMapFunction):
    """The sum is keyed state, the counter a plain attribute: shared by the keys of a subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, None))
        self.count = 0

    def flat_map(self, value: tuple[int, float]) -> Any:
        self.count += 1
        self.sum.add(value[1])
        yield value[0], self.sum.get() / self.count


class MeanByState(RichFlatMapFunction):
    """Sum and counter are keyed state."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, None))
        self.count = runtime_context.get_reducing_state(ReducingStateDescriptor("count", lambda a, b: a + b, None))

    def flat_map(self, value: tuple[int, float]) -> Any:
        self.count.add(1)
        self.sum.add(value[1])
        yield value[0], self.sum.get() / self.count.get()


ONE_SUBTASK = [(1, 3.0), (1, 4.0), (1, 5.0), (2, 1.0), (2, 1.2), (2, 2.0)]
TWO_SUBTASKS = [(1, 3.0), (1, 4.0), (1, 5.0), (2, 4.0), (2, 3.0), (2, 4.0)]


def per_key(found: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Results of key 1, then of key 2, each in their order."""
    return sorted(found, key=lambda pair: pair[0])


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_w_08_plain_counter_with_both_keys_in_one_subtask(parallelism: int) -> None:
    stream = environment(parallelism).from_collection(PAIRS).key_by(lambda r: r[0]).flat_map(MeanByField())
    assert per_key(results(stream)) == ONE_SUBTASK


@pytest.mark.parametrize("parallelism", [4, 8])
def test_w_08_plain_counter_with_the_keys_in_two_subtasks(parallelism: int) -> None:
    stream = environment(parallelism).from_collection(PAIRS).key_by(lambda r: r[0]).flat_map(MeanByField())
    assert per_key(results(stream)) == TWO_SUBTASKS


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4, 8])
def test_w_08_counter_as_keyed_state(parallelism: int) -> None:
    stream = environment(parallelism).from_collection(PAIRS).key_by(lambda r: r[0]).flat_map(MeanByState())
    assert per_key(results(stream)) == TWO_SUBTASKS


class Contains(AggregateFunction):
    def create_accumulator(self) -> str:
        return "Contains"

    def add(self, value: float, accumulator: str) -> str:
        return f"{accumulator}-{value}"

    def get_result(self, accumulator: str) -> str:
        return accumulator

    def merge(self, a: str, b: str) -> str:
        return a + b


class Listing(RichFlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = AggregatingStateDescriptor("text", Contains(), None)
        self.text = runtime_context.get_aggregating_state(descriptor)

    def flat_map(self, value: tuple[int, float]) -> Any:
        self.text.add(value[1])
        yield value[0], self.text.get()


def test_w_09_aggregating_state_string() -> None:
    stream = environment().from_collection(PAIRS).key_by(lambda r: r[0]).flat_map(Listing())
    assert results(stream) == [
        (1, "Contains-3.0"),
        (1, "Contains-3.0-5.0"),
        (1, "Contains-3.0-5.0-7.0"),
        (2, "Contains-4.0"),
        (2, "Contains-4.0-2.0"),
        (2, "Contains-4.0-2.0-6.0"),
    ]


class EveryTwo(SinkFunction):
    written: list[list[Any]] = []  # noqa: RUF012 - shared with the copy in the job

    def open(self, runtime_context: RuntimeContext) -> None:
        self.buffer: list[Any] = []

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        self.buffer.append(value)
        if len(self.buffer) == 2:
            EveryTwo.written.append(self.buffer)
            self.buffer = []


def test_w_10_sink_that_writes_every_two_without_failure() -> None:
    EveryTwo.written.clear()
    env = environment()
    env.from_collection([("spark", 3), ("hadoop", 5), ("hive", 7), ("flume", 9)]).add_sink(EveryTwo())
    run_locally(env)
    assert EveryTwo.written == [[("spark", 3), ("hadoop", 5)], [("hive", 7), ("flume", 9)]]


def test_w_11_map_with_state_identity() -> None:
    values = [(1, "a"), (2, "b"), (3, "c")]
    stream = environment().from_collection(values).key_by(lambda r: r[0])
    assert results(stream.map_with_state(lambda element, state: (element, state))) == values


def test_w_12_format_after_sum() -> None:
    assert results(word_count(1, ["a b a"]).map(lambda pair: f"{pair[0]}:::{pair[1]}")) == ["a:::1", "b:::1", "a:::2"]


@pytest.mark.parametrize("parallelism", [1, 2, 3, 7])
def test_final_counts_do_not_depend_on_parallelism(parallelism: int) -> None:
    lines = [f"w{number % 13} w{number % 7}" for number in range(500)]
    expected: dict[str, int] = {}
    for word in " ".join(lines).split():
        expected[word] = expected.get(word, 0) + 1
    assert dict(sorted(results(word_count(parallelism, lines)), key=lambda pair: pair[1])) == expected


def test_w_71_union_keeps_everything_and_each_streams_order() -> None:
    env = environment()
    merged = env.from_collection([1, 2, 3]).union(env.from_collection([10, 20]), env.from_collection([100]))
    found = results(merged.map(lambda x: x))
    assert sorted(found) == [1, 2, 3, 10, 20, 100]
    assert [value for value in found if value < 10] == [1, 2, 3]
    assert [value for value in found if 10 <= value < 100] == [10, 20]


def test_a_stream_united_with_itself_gives_every_record_twice() -> None:
    numbers = environment().from_collection([1, 2])
    assert sorted(results(numbers.union(numbers).map(lambda x: x))) == [1, 1, 2, 2]


def test_chinese_keys_and_text_pass_unharmed() -> None:
    stream = environment(3).from_collection(["张三 李四", "张三"]).flat_map(str.split).map(lambda w: (w, 1))
    assert sorted(results(stream.key_by(0).sum(1))) == [("张三", 1), ("张三", 2), ("李四", 1)]
