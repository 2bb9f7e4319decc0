"""map, flat_map and filter with callables and function objects, and the life cycle of function objects."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    Collector,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RichFilterFunction,
    RichFlatMapFunction,
    RichMapFunction,
    Row,
    RuntimeContext,
    SinkFunction,
    StateAccessError,
    UserFunctionError,
    ValueStateDescriptor,
)
from penstock.runtime.operators.flat_map import FlatMapOperator
from penstock.runtime.operators.stateless import FilterOperator, MapOperator
from tests.unit.local_jobs import collect, environment, results, run_locally
from tests.unit.runtime.operators.operator_bench import Bench


def one(values: list[Any]) -> Any:
    return environment().from_collection(values)


class Double(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Odd(FilterFunction):
    def filter(self, value: int) -> bool:
        return value % 2 == 1


class Yielding(FlatMapFunction):
    def flat_map(self, value: str) -> Iterator[str]:
        yield from value.split()


class Collecting(FlatMapFunction):
    """Java's form."""

    def flat_map(self, value: str, out: Collector[str]) -> None:  # type: ignore[override]
        for word in value.split():
            out.collect(word)


@pytest.mark.parametrize("function", [Double(), lambda x: 2 * x, functools.partial(lambda x, y: x * y, 2)])
def test_map(function: Any) -> None:
    assert results(one([1, 2]).map(function)) == [2, 4]


@pytest.mark.parametrize("function", [Odd(), lambda x: x % 2, lambda x: x % 2 == 1])
def test_filter(function: Any) -> None:
    assert results(one([1, 2, 3]).filter(function)) == [1, 3]


def _generator(line: str) -> Iterator[str]:
    yield from line.split()


def _with_collector(line: str, out: Collector[str]) -> None:
    for word in line.split():
        out.collect(word)


def _with_both(line: str, out: Collector[str]) -> Iterator[str]:
    first, *others = line.split()
    out.collect(first)
    yield from others


@pytest.mark.parametrize(
    "function",
    [Yielding(), Collecting(), str.split, lambda line: line.split(), _generator, _with_collector, _with_both],
    ids=["yields", "collects", "builtin", "lambda", "generator", "collector", "both"],
)
def test_flat_map(function: Any) -> None:
    assert results(one(["a b", "", "c"] if function is not _with_both else ["a b", "c"]).flat_map(function)) == [
        "a", "b", "c",
    ]  # fmt: skip


def test_flat_map_may_return_nothing() -> None:
    assert results(one([1, 2, 3]).flat_map(lambda x: [x] if x == 2 else None)) == [2]


def test_an_optional_parameter_is_no_collector() -> None:
    def pair(value: int, factor: int = 10) -> list[int]:
        return [value, value * factor]

    assert results(one([1]).flat_map(pair)) == [1, 10]


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (MapOperator(lambda x: -x), [(-1, 10), (-2, 20), (-3, 30)]),
        (FilterOperator(lambda x: x != 2), [(1, 10), (3, 30)]),
        (FlatMapOperator(lambda x: [x] * (x - 1)), [(2, 20), (3, 30), (3, 30)]),
    ],
)
def test_results_have_the_timestamp_of_their_record(operator: Any, expected: list[tuple[int, int]]) -> None:
    bench = Bench(operator)
    operator.process([1, 2, 3], [10, 20, 30])
    assert bench.main.flat == expected


def test_watermarks_and_idleness_pass() -> None:
    bench = Bench(MapOperator(lambda x: x))
    bench.operator.process_watermark(5)
    bench.operator.process_status(True)
    assert bench.main.flat == [("watermark", 5), ("idle", True)]


@pytest.mark.parametrize("operator", [FilterOperator(lambda _: False), FlatMapOperator(lambda _: [])])
def test_nothing_left_is_not_emitted(operator: Any) -> None:
    bench = Bench(operator)
    operator.process([1], None)
    operator.process([1], [5])
    assert bench.main.elements == []


def test_project_picks_fields_in_the_order_given() -> None:
    assert results(one([("a", 1, True), ("b", 2, False)]).project(2, 0)) == [(True, "a"), (False, "b")]


class ByName(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value["name"]


class Named:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.mark.parametrize(
    ("record", "selector"),
    [
        (("k", 1), 0),
        (("k", 1), lambda record: record[0]),
        ({"name": "k"}, "name"),
        ({"name": "k"}, ByName()),
        (Row(name="k", other=1), "name"),
        (Row("k", 1), 0),
        (Named("k"), "name"),
        ("k", str),
    ],
)
def test_ways_to_name_a_key(record: Any, selector: Any) -> None:
    class Key(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield ctx.get_current_key()

    assert results(one([record]).key_by(selector).process(Key())) == ["k"]


# -- the life cycle

EVENTS: list[str] = []


class Watched:
    """What all functions below write down."""

    def open(self, runtime_context: RuntimeContext) -> None:
        EVENTS.append(f"open {type(self).__name__} {runtime_context.get_index_of_this_subtask()}")
        self.me = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        EVENTS.append(f"close {type(self).__name__} {self.me}")


class WatchedMap(Watched, RichMapFunction):
    def map(self, value: int) -> int:
        if value == 13:
            raise ValueError("unlucky")
        return value


class WatchedFlatMap(Watched, RichFlatMapFunction):
    def flat_map(self, value: int) -> list[int]:
        return [value]


class WatchedFilter(Watched, RichFilterFunction):
    def filter(self, value: int) -> bool:
        return True


class WatchedReduce(Watched, ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class WatchedProcess(Watched, ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        yield value


class WatchedKeyed(Watched, KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


class WatchedSink(Watched, SinkFunction):
    def invoke(self, value: int, context: SinkFunction.Context) -> None: ...


def life_cycle(values: list[int]) -> Any:
    EVENTS.clear()
    env = environment(2)
    stream = env.from_collection(values).map(WatchedMap()).flat_map(WatchedFlatMap()).filter(WatchedFilter())
    stream = stream.process(WatchedProcess()).key_by(lambda x: x).reduce(WatchedReduce())
    stream.key_by(lambda x: x).process(WatchedKeyed()).add_sink(WatchedSink())
    return env


ALL = [
    f"{event} {kind.__name__} {subtask}"
    for event in ("open", "close")
    for kind in (
        WatchedMap, WatchedFlatMap, WatchedFilter, WatchedReduce, WatchedProcess, WatchedKeyed, WatchedSink,
    )
    for subtask in (0, 1)
]  # fmt: skip


def test_open_and_close_once_per_subtask() -> None:
    run_locally(life_cycle([1, 2, 3]))
    assert Counter(EVENTS) == Counter(ALL)


def test_close_after_a_failure_too() -> None:
    with pytest.raises(UserFunctionError, match="unlucky"):
        run_locally(life_cycle([1, 13]))
    assert Counter(EVENTS) == Counter(ALL)


class FailsToOpen(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        EVENTS.append("open fails")
        raise OSError("no connection")

    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        EVENTS.append("close after failed open")


def test_a_failure_in_open_closes_what_was_opened() -> None:
    EVENTS.clear()
    env = environment()
    env.from_collection([1]).map(FailsToOpen()).name("opening").map(WatchedMap()).print()
    with pytest.raises(UserFunctionError, match="no connection") as caught:
        run_locally(env)
    assert caught.value.step == "opening (1/1)"
    assert Counter(EVENTS) == Counter(
        ["open WatchedMap 0", "open fails", "close after failed open", "close WatchedMap 0"]
    )


class FailsToClose(MapFunction):
    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        raise OSError("cannot close")


def test_a_failure_in_close_is_shown_after_all_are_closed() -> None:
    EVENTS.clear()
    env = environment(2)
    env.from_collection([1]).map(FailsToClose()).name("closing").map(WatchedMap()).print()
    with pytest.raises(UserFunctionError, match="cannot close") as caught:
        run_locally(env)
    assert caught.value.step.startswith("closing (")
    assert Counter(event for event in EVENTS if event.startswith("close")) == Counter(
        ["close WatchedMap 0", "close WatchedMap 1"]
    )


def test_the_first_failure_counts_not_the_one_in_close() -> None:
    env = environment()
    env.from_collection([13]).map(FailsToClose()).map(WatchedMap()).print()
    with pytest.raises(UserFunctionError, match="unlucky"):
        run_locally(env)


class Describing(RichMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        context = self.get_runtime_context()
        assert context is self.context
        return (
            context.get_task_name(),
            context.get_number_of_parallel_subtasks(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_index_of_this_subtask(),
            context.get_attempt_number(),
            context.get_task_name_with_subtasks(),
            context.get_job_parameter("city", "nowhere"),
            context.get_job_parameter("street", "nowhere"),
        )


def test_the_runtime_context_describes_the_subtask() -> None:
    env = environment(2)
    env.get_config().set_global_job_parameters({"city": "Berlin"})
    stream = env.from_collection([0]).global_().map(Describing()).name("describe")
    assert results(stream) == [("describe", 2, 128, 0, 0, "describe (1/2)", "Berlin", "nowhere")]


class StateInMap(RichMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def map(self, value: str) -> tuple[str, int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value, count


def test_a_function_object_on_a_keyed_stream_has_state() -> None:
    stream = one(["a", "b", "a"]).key_by(lambda x: x).map(StateInMap())
    assert results(stream) == [("a", 1), ("b", 1), ("a", 2)]


def test_state_on_an_unkeyed_stream_is_refused_with_the_step() -> None:
    stream = one(["a"]).map(StateInMap()).name("counting")
    with pytest.raises(UserFunctionError, match=r"'counting', whose input is not keyed. Call key_by\(\)") as caught:
        results(stream)
    assert "StateAccessError" in caught.value.error


class StateInOpen(RichMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        runtime_context.get_state(ValueStateDescriptor("count", None)).update(1)

    def map(self, value: Any) -> Any:
        return value


def test_state_in_open_is_refused() -> None:
    with pytest.raises(UserFunctionError, match=r"no current key \(in open\(\)") as caught:
        results(one(["a"]).key_by(lambda x: x).map(StateInOpen()))
    assert StateAccessError.__name__ in caught.value.error


class Writing(SinkFunction):
    written: list[Any] = []  # noqa: RUF012 - shared by all copies in this process

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        Writing.written.append((value, context.timestamp(), context.current_watermark()))


def test_a_sink_function_sees_record_time_and_watermark() -> None:
    Writing.written.clear()
    env = environment()
    stream = env.from_collection([5]).assign_ascending_timestamps(lambda value: value)
    stream.add_sink(Writing())
    env.from_collection(["plain"]).add_sink(Writing())
    run_locally(env)
    assert sorted(Writing.written, key=str) == [("plain", None, -(2**63)), (5, 5, -(2**63))]


def test_two_readers_of_a_stream_do_not_share_the_run() -> None:
    env = environment()
    source = env.from_collection([1, 2])
    collect(source.map(lambda x: -x), "negative")
    collect(source.filter(lambda x: x == 1), "one")
    collect(source, "all")
    assert run_locally(env).collected == {"negative": [-1, -2], "one": [1], "all": [1, 2]}
