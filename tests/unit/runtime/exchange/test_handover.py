"""A record is what it was when it was emitted, whatever functions change later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import (
    CEP,
    AggregateFunction,
    CoMapFunction,
    CountTrigger,
    DataStream,
    EmbeddedRocksDBStateBackend,
    EventTimeSessionWindows,
    FilterFunction,
    FlatMapFunction,
    HashMapStateBackend,
    JoinFunction,
    KeyedProcessFunction,
    OutputTag,
    Pattern,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimestampAssigner,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import UserFunctionError
from tests.unit.local_jobs import collect, environment, local_run, results
from tests.unit.runtime.windows.window_bench import KINDS, window_harness

BACKENDS = pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
Record = dict[str, Any]


@pytest.fixture(params=[True, False], ids=["chained", "not chained"])
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    env = environment()
    if not request.param:
        env.disable_operator_chaining()
    return env


def test_a_record_that_a_generator_changes_and_yields_again(env: StreamExecutionEnvironment) -> None:
    def count(_: int) -> Iterator[Record]:
        record: Record = {}
        for number in range(3):
            record["i"] = number
            yield record

    assert results(env.from_collection([1]).flat_map(count)) == [{"i": 0}, {"i": 1}, {"i": 2}]


def test_the_input_that_a_generator_changes_and_yields_again(env: StreamExecutionEnvironment) -> None:
    class Steps(ProcessFunction[Record, Record]):
        def process_element(self, value: Record, ctx: Any) -> Iterator[Record]:
            value["step"] = 1
            yield value
            value["step"] = 2
            yield value

    assert results(env.from_collection([{}, {}]).process(Steps())) == [{"step": 1}, {"step": 2}] * 2


def test_an_object_that_a_function_returns_each_time(env: StreamExecutionEnvironment) -> None:
    class Reusing:
        def __init__(self) -> None:
            self.record: list[int] = [0]

        def __call__(self, value: int) -> list[int]:
            self.record[0] = value
            return self.record

    assert results(env.from_collection([1, 2, 3]).map(Reusing())) == [[1], [2], [3]]


def test_a_part_that_all_records_share(env: StreamExecutionEnvironment) -> None:
    class Tagging:
        def __init__(self) -> None:
            self.tags: list[int] = []

        def __call__(self, value: int) -> tuple[int, list[int]]:
            self.tags.append(value)
            return value, self.tags

    tagged = env.from_collection([1, 2, 3]).map(Tagging())
    assert results(tagged) == [(1, [1]), (2, [1, 2]), (3, [1, 2, 3])]


def test_a_record_that_a_filter_has_kept(env: StreamExecutionEnvironment) -> None:
    class Marking(FilterFunction[Record]):
        def __init__(self) -> None:
            self.last: Record = {}

        def filter(self, value: Record) -> bool:
            self.last["was"] = "last"
            self.last = value
            return True

    assert results(env.from_collection([{"i": 1}, {"i": 2}]).filter(Marking())) == [{"i": 1}, {"i": 2}]


@BACKENDS
def test_a_list_that_is_kept_in_state(backend: Any, env: StreamExecutionEnvironment) -> None:
    class Gathering(KeyedProcessFunction[int, int, list[int]]):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

        def process_element(self, value: int, ctx: Any) -> Iterator[list[int]]:
            seen = self.seen.value() or []
            seen.append(value)
            self.seen.update(seen)
            yield seen

    env.set_state_backend(backend())
    stream = env.from_collection([1, 2, 3]).key_by(lambda _: 0).process(Gathering())
    assert results(stream) == [[1], [1, 2], [1, 2, 3]]


def add_in_place(total: Record, record: Record) -> Record:
    total["n"] += record["n"]
    return total


@BACKENDS
def test_a_reduce_that_changes_its_first_argument(backend: Any, env: StreamExecutionEnvironment) -> None:
    env.set_state_backend(backend())
    stream = env.from_collection([{"n": 1}, {"n": 2}, {"n": 3}]).key_by(lambda _: 0).reduce(add_in_place)
    assert results(stream) == [{"n": 1}, {"n": 3}, {"n": 6}]


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value["t"] * 1000  # type: ignore[no-any-return]


def timed(env: StreamExecutionEnvironment, records: list[Record]) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    return env.from_collection(records).assign_timestamps_and_watermarks(strategy).key_by(lambda _: 0)


class Listing(AggregateFunction[Record, list[int], list[int]]):
    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Record, accumulator: list[int]) -> list[int]:
        accumulator.append(value["t"])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return a + b


@BACKENDS
def test_an_accumulator_whose_window_fires_several_times(backend: Any) -> None:
    env = environment().set_state_backend(backend())
    windowed = timed(env, [{"t": 1}, {"t": 2}, {"t": 3}]).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    assert results(windowed.trigger(CountTrigger.of(1)).aggregate(Listing())) == [[1], [1, 2], [1, 2, 3]]


@BACKENDS
def test_windows_that_overlap_do_not_share_records(backend: Any) -> None:
    """Windows of 2 s every second: each record is in two, and each window adds up its own records."""
    env = environment().set_state_backend(backend())
    records = [{"t": 1, "n": 1}, {"t": 2, "n": 10}, {"t": 3, "n": 100}]
    windowed = timed(env, records).window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
    assert [record["n"] for record in results(windowed.reduce(add_in_place))] == [1, 11, 110, 100]


class Consuming(ProcessWindowFunction[Record, Any, int, Any]):
    """Empties the records of its window."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[list[int]]:
        yield [element.pop("n", None) for element in elements]


@BACKENDS
@pytest.mark.parametrize("assigner", ["sliding", "tumbling", "session"])
def test_a_window_function_that_changes_its_elements(backend: Any, assigner: str) -> None:
    """A window that fires again shows its function the records as they came, and so does a neighbouring window."""
    env = environment().set_state_backend(backend())
    stream = timed(env, [{"t": 1, "n": 1}, {"t": 2, "n": 2}])
    if assigner == "sliding":
        stream = stream.window(SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1)))
        assert results(stream.process(Consuming())) == [[1], [1, 2], [2]]
        return
    gap = EventTimeSessionWindows.with_gap(Time.seconds(5))
    stream = stream.window(TumblingEventTimeWindows.of(Time.seconds(10)) if assigner == "tumbling" else gap)
    assert results(stream.trigger(CountTrigger.of(1)).process(Consuming())) == [[1], [1, 2]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_late_record_fires_a_window_with_the_records_as_they_came(kind: str) -> None:
    window = TumblingEventTimeWindows.of(10_000)
    harness = window_harness(kind, window, key=lambda _: 0, function=Consuming(), allowed_lateness=60_000)
    harness.push({"n": 1}, 1_000)
    harness.push_watermark(12_000)
    harness.push({"n": 3}, 2_000)
    assert harness.values == [[1], [1, 3]]


def test_two_consumers_of_a_stream(env: StreamExecutionEnvironment) -> None:
    def mark(record: Record) -> Record:
        record["seen"] = True
        record["parts"].append(1)
        return record

    stream = env.from_collection([{"i": 1, "parts": []}, {"i": 2, "parts": []}]).map(lambda record: record)
    collect(stream.map(mark), "a")
    collect(stream, "b")
    collect(stream.map(mark), "c")
    run = local_run(env).run()
    marked = [{"i": 1, "parts": [1], "seen": True}, {"i": 2, "parts": [1], "seen": True}]
    assert run.collected == {"a": marked, "b": [{"i": 1, "parts": []}, {"i": 2, "parts": []}], "c": marked}


def test_one_object_several_times_in_a_collection(env: StreamExecutionEnvironment) -> None:
    def count(record: Record) -> Record:
        record["n"] = record.get("n", 0) + 1
        return record

    record: Record = {}
    assert results(env.from_collection([record, record, record]).map(count)) == [{"n": 1}] * 3


@pytest.mark.parametrize("exchange", ["rebalance", "key_by", "broadcast", "none"])
def test_a_part_that_two_records_share_is_two_behind_an_exchange(exchange: str) -> None:
    env = environment()
    tags: list[str] = []
    stream: Any = env.from_collection([(1, tags), (2, tags)])
    if exchange == "key_by":
        stream = stream.key_by(lambda record: 0)
    elif exchange != "none":
        stream = getattr(stream, exchange)()

    def tag(record: tuple[int, list[str]]) -> tuple[int, list[str]]:
        record[1].append("seen")
        return record

    assert results(stream.map(tag)) == [(1, ["seen"]), (2, ["seen"])]


@BACKENDS
def test_join_functions_that_change_their_records(backend: Any) -> None:
    class Pairing(ProcessJoinFunction[Record, Record, Any]):
        def process_element(self, left: Record, right: Record, ctx: Any) -> Iterator[Any]:
            left["n"] += 1
            right["n"] += 1
            yield left["n"], right["n"]

    def streams() -> tuple[Any, Any]:
        env = environment().set_state_backend(backend())
        records = [{"t": 1, "n": 0}, {"t": 2, "n": 0}]
        return timed(env, records), timed(env, records)

    left, right = streams()
    joined = left.interval_join(right).between(Time.seconds(-5), Time.seconds(5)).process(Pairing())
    assert results(joined) == [(1, 1)] * 4
    left, right = streams()

    def pair(left: Record, right: Record) -> Any:
        left["n"] += 1
        right["n"] += 1
        return left["n"], right["n"]

    joined = left.join(right).where(lambda _: 0).equal_to(lambda _: 0).without_window().apply(pair)
    assert results(joined) == [(1, 1)] * 4


def test_co_map_and_stateful_functions(env: StreamExecutionEnvironment) -> None:
    class Reusing(CoMapFunction[int, int, list[int]]):
        def __init__(self) -> None:
            self.seen: list[int] = []

        def map1(self, value: int) -> list[int]:
            self.seen.append(value)
            return self.seen

        def map2(self, value: int) -> list[int]:
            return self.map1(value)

    one, other = env.from_collection([1, 2]), env.from_collection([])
    assert results(one.connect(other).map(Reusing())) == [[1], [1, 2]]


@dataclass
class Point:
    x: int
    path: list[int]


def test_objects_of_classes(env: StreamExecutionEnvironment) -> None:
    def walk(point: Point) -> Iterator[Point]:
        for _ in range(2):
            point.x += 1
            point.path.append(point.x)
            yield point

    assert results(env.from_collection([Point(0, [])]).flat_map(walk)) == [Point(1, [1]), Point(2, [1, 2])]


def test_main_and_side_outputs_come_in_the_order_they_were_emitted() -> None:
    tag: OutputTag[Any] = OutputTag("odd")

    class Dividing(ProcessFunction[int, Any]):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            yield f"{value} first"
            ctx.output(tag, f"{value} aside")
            yield tag, f"{value} aside by name"
            yield f"{value} last"

    env = environment()
    env.set_parallelism(1)
    main = env.from_collection([1, 2]).process(Dividing())
    main.print()
    main.get_side_output(tag).print()
    order = ["first", "aside", "aside by name", "last"]
    assert local_run(env).run().printed == [f"{number} {what}" for number in (1, 2) for what in order]


def test_what_a_collector_is_given_is_what_it_was_at_that_moment(env: StreamExecutionEnvironment) -> None:
    class Collecting(FlatMapFunction[int, Record]):
        def flat_map(self, value: int, out: Any) -> None:  # type: ignore[override]
            record: Record = {}
            for number in range(3):
                record["i"] = number
                out.collect(record)
            record["i"] = "later"

    assert results(env.from_collection([1]).flat_map(Collecting())) == [{"i": 0}, {"i": 1}, {"i": 2}]


def test_a_collector_and_side_outputs_keep_their_order() -> None:
    tag: OutputTag[Any] = OutputTag("aside")

    class Dividing(KeyedProcessFunction[int, int, Any]):
        def process_element(self, value: int, ctx: Any, out: Any) -> None:  # type: ignore[override]
            record = [value]
            out.collect(record)
            ctx.output(tag, f"{value} aside")
            record.append(0)
            out.collect(record)

    class PerWindow(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Any, out: Any) -> None:  # type: ignore[override]
            seen: list[Any] = []
            for element in elements:
                seen.append(element)
                out.collect(seen)
                context.output(tag, f"{element} aside")

    def printed(stream: DataStream[Any]) -> list[str]:
        stream.print()
        stream.get_side_output(tag).print()
        return local_run(stream.get_execution_environment()).run().printed

    divided = environment().from_collection([1, 2]).key_by(lambda _: 0).process(Dividing())
    assert printed(divided) == ["[1]", "1 aside", "[1, 0]", "[2]", "2 aside", "[2, 0]"]
    windowed = environment().from_collection([3, 4]).key_by(lambda _: 0).count_window(2).process(PerWindow())
    assert printed(windowed) == ["[3]", "3 aside", "[3, 4]", "4 aside"]


def test_a_join_function_that_returns_one_object_for_all_pairs() -> None:
    class Reusing(JoinFunction[Any, Any, Record]):
        def __init__(self) -> None:
            self.pair: Record = {}

        def join(self, first: Any, second: Any) -> Record:
            self.pair["pair"] = (first, second)
            return self.pair

    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamped())
    lefts, rights = (
        env.from_collection(numbers).assign_timestamps_and_watermarks(strategy) for numbers in ([1, 2], [3, 4])
    )
    windows = TumblingEventTimeWindows.of(Time.milliseconds(100))
    joined = lefts.join(rights).where(lambda _: 0).equal_to(lambda _: 0).window(windows).apply(Reusing())
    assert results(joined) == [{"pair": pair} for pair in ((1, 3), (1, 4), (2, 3), (2, 4))]


class Stamped(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def test_the_matches_of_a_pattern_share_nothing() -> None:
    class Marking:
        def __init__(self) -> None:
            self.made: list[Any] = []

        def __call__(self, match: dict[str, list[Record]]) -> list[Any]:
            match["one"][0]["seen"] = match["one"][0].get("seen", 0) + 1
            self.made.append(match["one"][0]["seen"])
            return self.made

    env = environment()
    records = env.from_collection([{"i": 1}, {"i": 2}, {"i": 3}])
    pattern = Pattern.begin("one").where(lambda record: record["i"] == 1).followed_by_any("other")
    found = results(CEP.pattern(records, pattern).in_processing_time().max_runs_per_key(10).select(Marking()))
    assert found == [[1], [1, 1]]


def test_objects_are_reused_where_the_program_says_so() -> None:
    env = environment()
    env.get_config().enable_object_reuse()

    def count(_: int) -> Iterator[Record]:
        record: Record = {}
        for number in range(3):
            record["i"] = number
            yield record

    assert results(env.from_collection([1]).flat_map(count)) == [{"i": 2}] * 3


@pytest.mark.parametrize("kind", ["map", "filter", "flat_map", "process", "reduce"])
def test_what_came_before_a_record_that_fails_goes_on(kind: str) -> None:
    """As it would if records were handed over one by one."""

    def refuse(value: int, *_: Any) -> Any:
        if value == 3:
            message = "three"
            raise ValueError(message)
        return [value] if kind == "flat_map" else value

    class Refusing(ProcessFunction[int, int]):
        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            yield refuse(value)

    env = environment()
    stream: Any = env.from_collection([1, 2, 3, 4])
    if kind == "process":
        stream = stream.process(Refusing())
    elif kind == "reduce":
        stream = stream.key_by(lambda value: 0).reduce(lambda _, value: refuse(value))
    else:
        stream = getattr(stream, kind)(refuse)
    collect(stream)
    run = local_run(env)
    with pytest.raises(UserFunctionError, match="three"):
        run.run()
    assert run.collected.get("out") == [1, 2]
