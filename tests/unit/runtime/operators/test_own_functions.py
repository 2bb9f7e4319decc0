"""One object of the program in two steps is an object of its own in every subtask of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from penstock import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    CountTrigger,
    CountTumblingWindowAssigner,
    Duration,
    Evictor,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    MapStateDescriptor,
    OutputTag,
    ParallelSourceFunction,
    Partitioner,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    ReducingStateDescriptor,
    RuntimeContext,
    SinkFunction,
    SourceSplit,
    SplitReader,
    StreamExecutionEnvironment,
    TimestampAssigner,
    Trigger,
    TriggerResult,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.testing import LocalRun
from penstock.vocabulary.sources.protocol import ReaderContext, Source
from tests.unit.local_jobs import collect, environment, results

USED: dict[int, Any] = {}
"""The objects that were called while a job ran, which are kept so that no two have the same identity."""


def use(held: object) -> None:
    USED[id(held)] = held


class Mapping(MapFunction):
    def map(self, value: Any) -> Any:
        use(self)
        return value


class FlatMapping(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        use(self)
        yield value


class Filtering(FilterFunction):
    def filter(self, value: Any) -> bool:
        use(self)
        return True


class Processing(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        use(self)
        yield value


class KeyedProcessing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        use(self)
        yield value


class Reducing(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        use(self)
        return value2


class ByLast(KeySelector):
    def get_key(self, value: int) -> int:
        use(self)
        return value % 10


class ToOne(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        use(self)
        return key % num_partitions


class Adding(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        use(self)
        return value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_b


class Windowing(ProcessWindowFunction):
    def process(self, key: int, context: ProcessWindowFunction.Context, elements: Iterable[int]) -> Iterator[int]:
        use(self)
        yield from elements


class Firing(CountTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        use(self)
        return super().on_element(element, timestamp, window, ctx)


class Assigning(CountTumblingWindowAssigner):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        use(self)
        return super().assign_windows(element, timestamp, context)


class Evicting(Evictor):
    def evict_before(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        use(self)

    def evict_after(self, elements: Any, size: int, window: Any, evictor_context: Any) -> None:
        pass


class Stamping(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        use(self)
        return value


class Asking(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        use(self)
        return [value]


class Joining(CoMapFunction):
    def map1(self, value: Any) -> Any:
        use(self)
        return value

    def map2(self, value: Any) -> Any:
        use(self)
        return value


RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())


class Ruling(BroadcastProcessFunction):
    def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[int]:
        use(self)
        yield value

    def process_broadcast_element(self, value: int, ctx: BroadcastProcessFunction.Context) -> None:
        use(self)


class WithReducer(KeyedProcessFunction):
    """Keeps state whose descriptor, and with it a function, came with the step."""

    def __init__(self, reducer: Reducing) -> None:
        self.descriptor = ReducingStateDescriptor("last", reducer, Types.INT())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_reducing_state(self.descriptor)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self.last.add(value)
        yield self.last.get()


def one_window(stream: Any) -> Any:
    return stream.key_by(lambda value: value % 8).window(CountTumblingWindowAssigner.of(2))


def asked(stream: Any, function: Asking) -> Any:
    return AsyncDataStream.ordered_wait(stream, function, Duration.of_seconds(10))


def ruled(stream: Any, function: Ruling) -> Any:
    rules = stream.get_execution_environment().from_collection([1]).broadcast(RULES)
    return stream.connect(rules).process(function)


STEPS: dict[str, tuple[Any, Callable[[Any, Any], Any], int]] = {
    "map": (Mapping(), lambda stream, used: stream.map(used), 4),
    "bound method": (Mapping(), lambda stream, used: stream.map(used.map), 4),
    "closure": (Mapping(), lambda stream, used: stream.map(lambda value: used.map(value)), 4),
    "flat map": (FlatMapping(), lambda stream, used: stream.flat_map(used), 4),
    "filter": (Filtering(), lambda stream, used: stream.filter(used), 4),
    "process": (Processing(), lambda stream, used: stream.process(used), 4),
    "keyed process": (KeyedProcessing(), lambda stream, used: stream.key_by(lambda v: v % 8).process(used), 4),
    "reduce": (Reducing(), lambda stream, used: stream.key_by(lambda v: v % 8).reduce(used), 4),
    # The step that sends and the step that receives each have one.
    "key selector": (ByLast(), lambda stream, used: stream.key_by(used).map(lambda v: v), 4),
    "key selector of state": (ByLast(), lambda stream, used: stream.key_by(used).reduce(lambda a, b: b), 8),
    "partitioner": (ToOne(), lambda stream, used: stream.partition_custom(used, lambda v: v).map(lambda v: v), 4),
    "aggregate": (Adding(), lambda stream, used: one_window(stream).aggregate(used), 4),
    "window reduce": (Reducing(), lambda stream, used: one_window(stream).reduce(used), 4),
    "window function": (Windowing(), lambda stream, used: one_window(stream).process(used), 4),
    "trigger": (Firing(2), lambda stream, used: one_window(stream).trigger(used).reduce(lambda a, b: b), 4),
    "evictor": (Evicting(), lambda stream, used: one_window(stream).evictor(used).reduce(lambda a, b: b), 4),
    "assigner": (
        Assigning(2),
        lambda stream, used: stream.key_by(lambda v: v % 8).window(used).reduce(lambda a, b: b),
        4,
    ),
    "timestamp assigner": (
        Stamping(),
        lambda stream, used: stream.assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(used)
        ),
        4,
    ),
    "watermark strategy": (
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamping()),
        lambda stream, used: stream.assign_timestamps_and_watermarks(used),
        4,
    ),
    "async": (Asking(), asked, 4),
    "connected": (Joining(), lambda stream, used: stream.connect(stream).map(used), 4),
    "broadcast": (Ruling(), ruled, 4),
    "descriptor": (Reducing(), lambda stream, used: stream.key_by(lambda v: v % 8).process(WithReducer(used)), 4),
}


@pytest.mark.parametrize("is_chain", [False, True], ids=["side by side", "one after the other"])
@pytest.mark.parametrize("kind", STEPS)
def test_two_steps_of_two_subtasks_use_objects_of_their_own(kind: str, is_chain: bool) -> None:
    used, add, count = STEPS[kind]
    USED.clear()
    env = environment(2)
    numbers = env.from_collection(list(range(64))).rebalance().map(lambda v: v)
    first = add(numbers, used)
    collect(first, "first")
    collect(add(first if is_chain else numbers, used), "second")
    run = LocalRun(env._build_job(None)).run()
    assert run.collected["first"]
    assert run.collected["second"]
    assert len(USED) == count
    assert id(used) not in USED


def test_a_function_that_another_step_holds_is_not_the_same_one() -> None:
    USED.clear()
    env = environment()
    inner = Mapping()

    class Outer(MapFunction):
        def __init__(self) -> None:
            self.inner = inner

        def map(self, value: Any) -> Any:
            return self.inner.map(value)

    assert results(env.from_collection([1]).map(Outer()).map(inner)) == [1]
    assert len(USED) == 2


def test_what_one_step_refers_to_twice_stays_one_object() -> None:
    class Noting(KeySelector):
        def __init__(self, notes: list[int]) -> None:
            self.notes = notes

        def get_key(self, value: int) -> int:
            self.notes.append(value)
            return value

    class Reading(KeyedProcessFunction):
        def __init__(self, notes: list[int]) -> None:
            self.notes = notes

        def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
            yield len(self.notes)

    notes: list[int] = []
    env = environment()
    counts = results(env.from_collection([5]).key_by(Noting(notes)).process(Reading(notes)))
    assert counts == [1]


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[str, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value() or 0


def test_keyed_state_of_two_steps_with_one_function_is_not_mixed_up() -> None:
    env = environment()
    words = env.from_collection(["a", "a"])
    counting = Counting()
    collect(words.key_by(lambda word: word).process(counting), "first")
    collect(words.key_by(lambda word: word).process(counting), "second")
    run = LocalRun(env._build_job(None)).run()
    assert run.collected == {"first": [("a", 1), ("a", 2)], "second": [("a", 1), ("a", 2)]}


class Writing(SinkFunction):
    def invoke(self, value: Any, context: Any) -> None:
        use(self)


def test_sinks() -> None:
    USED.clear()
    env = environment(2)
    numbers = env.from_collection(list(range(8))).rebalance().map(lambda v: v)
    sink = Writing()
    numbers.add_sink(sink)
    numbers.map(lambda v: v).add_sink(sink)
    LocalRun(env._build_job(None)).run()
    assert len(USED) == 4


class Feeding(ParallelSourceFunction):
    def run(self, ctx: Any) -> None:
        use(self)
        ctx.collect(1)

    def cancel(self) -> None:
        pass


def test_source_functions() -> None:
    USED.clear()
    env = environment(2)
    source = Feeding()
    collect(env.add_source(source).union(env.add_source(source)))
    assert LocalRun(env._build_job(None)).run().collected == {"out": [1, 1, 1, 1]}
    assert len(USED) == 4


class Once(Source[int]):
    """Finds one split, once in the life of the object."""

    def __init__(self) -> None:
        self.is_found = False

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        if self.is_found:
            return ()
        self.is_found = True
        return [SourceSplit("only")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        use(self)
        return One()


class One(SplitReader[int]):
    def __init__(self) -> None:
        self._is_read = False

    def read(self, limit: int) -> tuple[list[int], None] | None:
        if self._is_read:
            return None
        self._is_read = True
        return [1], None

    def position(self) -> Any:
        return self._is_read


def test_sources_where_they_are_divided_and_where_they_are_read() -> None:
    USED.clear()
    env = environment()
    source = Once()
    strategy = WatermarkStrategy.no_watermarks()
    first, second = (env.from_source(source, strategy, name) for name in ("first", "second"))
    collect(first.union(second))
    assert LocalRun(env._build_job(None)).run().collected == {"out": [1, 1]}
    assert len(USED) == 2
    assert not source.is_found


def test_two_exchanges_of_one_keyed_stream() -> None:
    USED.clear()
    env = environment(2)
    keyed = env.from_collection(list(range(20))).key_by(ByLast())
    collect(keyed.map(lambda v: v), "first")
    collect(keyed.map(lambda v: v), "second")
    LocalRun(env._build_job(None)).run()
    assert len(USED) == 2  # the source has one subtask, which sends to two steps


def test_tags_are_equal_wherever_they_are() -> None:
    tag = OutputTag("odd", Types.INT())

    class Splitting(ProcessFunction):
        def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
            if value % 2:
                yield tag, value

    env: StreamExecutionEnvironment = environment()
    split = env.from_collection([1, 2, 3]).process(Splitting())
    assert results(split.get_side_output(tag)) == [1, 3]
