"""Jobs that are restored from a checkpoint go on as if nothing had happened, whenever it was taken."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    AsyncDataStream,
    AsyncFunction,
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SinkFunction,
    SourceFunction,
    StateTtlConfig,
    Time,
    ValueStateDescriptor,
)
from penstock.testing import LocalRun, build_job
from tests.unit.local_jobs import environment
from tests.unit.runtime.checkpoint.recovery_bench import check_every_crash, cut, job_of, timed

BOTH_BACKENDS = pytest.mark.parametrize("backend", ["heap", "rocksdb"])


@BOTH_BACKENDS
def test_w_86_sums_of_even_and_odd_numbers(backend: str) -> None:
    def build(env: Any) -> Any:
        return timed(env, [(n, n) for n in range(1, 8)]).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)

    check_every_crash(build, [1, 2, 4, 6, 9, 12, 16], backend=backend)


def test_w_126_a_count_goes_back_to_the_last_marker_and_not_to_the_start() -> None:
    def build(env: Any) -> Any:
        return timed(env, [(bead, bead) for bead in range(10)]).key_by(lambda _: "rope").map(Position())

    first = LocalRun(job_of(build))
    for _ in range(5):
        first.step()
    _, marker = cut(first, [0, 0])
    assert first.collected["out"][-1] == 7
    second = LocalRun(job_of(build), restore=marker)
    second.step()
    assert second.collected["out"] == [6]
    assert second.run().collected["out"][-1] == 10


class Position(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def map(self, value: Any) -> int:
        self.count.update((self.count.value() or 0) + 1)
        return self.count.value()


@BOTH_BACKENDS
def test_rolling_aggregations(backend: str) -> None:
    rows = [("a", 3), ("b", 5), ("a", 1), ("a", 4), ("b", 9)]

    def build(env: Any) -> Any:
        keyed = timed(env, [(row, 0) for row in rows]).key_by(lambda row: row[0])
        return keyed.sum(1).union(keyed.max(1), keyed.min_by(1))

    check_every_crash(
        build,
        [("a", 3)] * 3
        + [("b", 5)] * 3
        + [("a", 4), ("a", 3), ("a", 1), ("a", 8), ("a", 4), ("a", 1)]
        + [("b", 14), ("b", 9), ("b", 5)],
        backend=backend,
    )


@BOTH_BACKENDS
def test_map_with_state(backend: str) -> None:
    def build(env: Any) -> Any:
        words = timed(env, [(word, 0) for word in "abaab"])
        return words.key_by(lambda word: word).map_with_state(lambda word, seen: ((word, seen or 0), (seen or 0) + 1))

    check_every_crash(build, [("a", 0), ("b", 0), ("a", 1), ("a", 2), ("b", 1)], backend=backend)


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[1] / accumulator[0]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class AllStates(KeyedProcessFunction):
    """Keeps every kind of state, and event-time timers."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list"))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b))
        self.average = runtime_context.get_aggregating_state(AggregatingStateDescriptor("average", Average()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        number = value[1]
        self.value.update(number)
        self.list.add(number)
        self.map.put(number % 2, (self.map.get(number % 2) or 0) + 1)
        self.sum.add(number)
        self.average.add(number)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 15)
        yield self.everything(value[0])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "timer", timestamp, self.everything(ctx.get_current_key())
        if timestamp % 2:
            self.list.clear()

    def everything(self, key: str) -> Any:
        values = self.value.value(), tuple(self.list.get()), tuple(sorted(self.map.items()))
        return key, *values, self.sum.get(), self.average.get()


@BOTH_BACKENDS
def test_every_kind_of_keyed_state_with_event_time_timers(backend: str) -> None:
    def build(env: Any) -> Any:
        rows = [(("a", 4), 0), (("b", 7), 5), (("a", 2), 10), (("a", 1), 20), (("b", 3), 40)]
        return timed(env, rows).key_by(lambda row: row[0]).process(AllStates())

    expected = [
        ("a", 4, (4,), ((0, 1),), 4, 4.0),
        ("b", 7, (7,), ((1, 1),), 7, 7.0),
        ("a", 2, (4, 2), ((0, 2),), 6, 3.0),
        ("a", 1, (4, 2, 1), ((0, 2), (1, 1)), 7, 7 / 3),
        # The watermark behind this record is 19.
        ("timer", 15, ("a", 1, (4, 2, 1), ((0, 2), (1, 1)), 7, 7 / 3)),
        # The next record comes at 40; the watermark behind it is 39 and fires the timers of 20, 25 and 35.
        ("b", 3, (7, 3), ((1, 2),), 10, 5.0),
        ("timer", 20, ("b", 3, (7, 3), ((1, 2),), 10, 5.0)),
        ("timer", 25, ("a", 1, (), ((0, 2), (1, 1)), 7, 7 / 3)),
        ("timer", 35, ("a", 1, (), ((0, 2), (1, 1)), 7, 7 / 3)),
        ("timer", 55, ("b", 3, (7, 3), ((1, 2),), 10, 5.0)),
    ]
    check_every_crash(build, expected, backend=backend)


class Reminder(KeyedProcessFunction):
    """Says something 100 ms after a record."""

    def process_element(self, value: str, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 100)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


@BOTH_BACKENDS
def test_processing_time_timers(backend: str) -> None:
    def build(env: Any) -> Any:
        records = timed(env, [(word, 0) for word in "abcdefgh"])
        return records.key_by(lambda word: word).process(Reminder())

    # a at 0, b at 60, c at 120; at 180 those of a and b have fired, and that of c fires at 220.
    actions = [0, 60, 0, 60, 0, 60, 40]
    check_every_crash(build, [("a", 100), ("b", 160), ("c", 220)], actions=actions, backend=backend)


def test_a_processing_time_timer_that_was_missed_fires_when_the_job_is_back() -> None:
    def build(env: Any) -> Any:
        return timed(env, [(word, 0) for word in "abcdefgh"]).key_by(lambda word: word).process(Reminder())

    first = LocalRun(job_of(build))
    first.step()
    checkpoint = first.checkpoint()
    later = LocalRun(job_of(build), restore=checkpoint)
    later.clock.set(5000)
    later.open()
    later.settle()
    assert later.collected["out"] == [("a", 100)]


def test_processing_time_timers_do_not_outlive_the_end_of_the_input() -> None:
    """As in Flink: what a timer would emit has nobody to go to."""

    def build(env: Any) -> Any:
        short = timed(env, [("a", 0)], name="short").key_by(lambda word: word).process(Reminder())
        return short.union(timed(env, [(word, 0) for word in "bcdefgh"], name="long"))

    first = LocalRun(job_of(build))
    for _ in range(3):
        first.step()
    first.advance(1000)
    _, checkpoint = cut(first)
    restored = LocalRun(job_of(build), restore=checkpoint)
    restored.clock.set(5000)
    everything = first.collected["out"] + restored.run().collected["out"]
    assert everything == list("bcdefgh")


class TtlCount(MapFunction):
    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("count")
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(100)).build())
        self.count = runtime_context.get_state(descriptor)

    def map(self, value: Any) -> tuple[Any, int]:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


@BOTH_BACKENDS
def test_state_expires_by_the_time_it_was_written_and_not_by_the_time_of_the_restart(backend: str) -> None:
    def build(env: Any) -> Any:
        return timed(env, [(word, 0) for word in "aabaab"]).key_by(lambda word: word).map(TtlCount())

    actions = [0, 60, 0, 60, 0, 60, 0, 60, 0, 200, 0]
    expected = [("a", 1), ("a", 2), ("b", 1), ("a", 1), ("a", 2), ("b", 1)]
    check_every_crash(build, expected, actions=actions, backend=backend)


class Limits(KeyedBroadcastProcessFunction):
    """Lets numbers through up to a limit that the other stream sets, and counts them per key."""

    LIMITS: MapStateDescriptor[str, int] = MapStateDescriptor("limits")

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(self.LIMITS).get("limit")
        if limit is None or value <= limit:
            self.count.update((self.count.value() or 0) + 1)
            yield value, self.count.value()

    def process_broadcast_element(self, value: int, ctx: Any) -> None:
        ctx.get_broadcast_state(self.LIMITS).put("limit", value)


@pytest.mark.parametrize(("parallelism", "restored"), [(1, 1), (3, 3), (1, 3), (3, 2)])
def test_broadcast_state(parallelism: int, restored: int) -> None:
    def build(env: Any) -> Any:
        limits = timed(env, [(3, 0), (100, 0), (6, 0)], name="limits").broadcast(Limits.LIMITS)
        numbers = timed(env, [(n, 0) for n in (5, 2, 7, 8)], name="numbers")
        return numbers.key_by(lambda n: n % 2).connect(limits).process(Limits())

    # Both sources are asked in turn, the limits first: 5 meets 3, 2 meets 100, 7 and 8 meet 6.
    check_every_crash(build, [(2, 1)], parallelism=parallelism, restored_parallelism=restored)


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Writes every two records (W-10); what is between is operator state."""

    written: ClassVar[list[Any]] = []

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("buffered"))
        self.buffered = list(self.state.get())

    def invoke(self, value: Any, context: Any) -> None:
        self.buffered.append(value)
        if len(self.buffered) == 2:
            BufferingSink.written.append(self.buffered)
            self.buffered = []

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.buffered)


def buffering_job(words: list[str]) -> Any:
    env = environment()
    timed(env, [(word, 0) for word in words]).add_sink(BufferingSink())
    return build_job(env)


def test_w_10_a_buffer_of_operator_state_survives_a_restart() -> None:
    words = ["spark", "hadoop", "hive", "flume", "flink", "kafka"]
    for crash in range(7):
        BufferingSink.written = []
        first = LocalRun(buffering_job(words))
        for _ in range(crash):
            first.step()
        checkpoint = first.checkpoint()
        before = len(BufferingSink.written)
        first.step()
        del BufferingSink.written[before:]
        LocalRun(buffering_job(words), restore=checkpoint).run()
        assert BufferingSink.written == [["spark", "hadoop"], ["hive", "flume"], ["flink", "kafka"]]


class Union(MapFunction, CheckpointedFunction):
    """Keeps what it has seen in a union list, which everybody gets in full."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_union_list_state(ListStateDescriptor("seen"))
        self.known = tuple(sorted(self.state.get()))
        self.seen: list[Any] = []

    def map(self, value: Any) -> Any:
        self.seen.append(value)
        return value, self.known

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.seen)


def test_union_lists_go_to_every_subtask_in_full() -> None:
    def build(env: Any) -> Any:
        return timed(env, [(n, 0) for n in range(4)], [(n, 0) for n in range(10, 14)]).map(Union())

    first = LocalRun(job_of(build, 2))
    first.step()
    first.step()
    checkpoint = first.checkpoint()
    again = LocalRun(job_of(build, 3), restore=checkpoint).run().collected["out"]
    assert sorted(again) == [(n, (0, 1, 10, 11)) for n in (2, 3, 12, 13)]


def test_splits_are_read_on_from_their_positions_and_finished_ones_not_again() -> None:
    def build(env: Any) -> Any:
        return timed(env, [(1, 0)], [(n, 0) for n in (11, 12, 13, 14)], []).map(lambda n: n)

    check_every_crash(build, [1, 11, 12, 13, 14], parallelism=2)
    check_every_crash(build, [1, 11, 12, 13, 14], parallelism=1, restored_parallelism=3)


def test_a_checkpoint_behind_the_end_of_all_input_holds_everything() -> None:
    def build(env: Any) -> Any:
        return timed(env, [(n, n) for n in range(5)]).key_by(lambda n: n % 2).reduce(lambda a, b: a + b)

    run = LocalRun(job_of(build)).run()
    (last,) = run.checkpoints.complete
    assert last.metadata.kind.value == "final checkpoint"
    assert LocalRun(job_of(build), restore=last).run().collected == {}


class Counting(SourceFunction, CheckpointedFunction):
    """Emits numbers and moves on under the checkpoint lock; ``allowed`` is how far it may go."""

    allowed = threading.Semaphore(0)

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("position"))
        self.position = next(iter(self.state.get()), 0)

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.position])

    def run(self, ctx: Any) -> None:
        self.is_running = True
        while self.is_running and self.position < 6:
            Counting.allowed.acquire()
            with ctx.get_checkpoint_lock():
                ctx.collect_with_timestamp(self.position, self.position)
                ctx.emit_watermark(self.position)
                self.position += 1

    def cancel(self) -> None:
        self.is_running = False
        Counting.allowed.release()


def test_a_source_function_goes_on_from_the_position_it_kept_under_the_lock() -> None:
    def build(env: Any) -> Any:
        return env.add_source(Counting()).key_by(lambda _: 0).map(Position())

    for crash in range(6):
        Counting.allowed = threading.Semaphore(crash)
        first = LocalRun(job_of(build))
        while len(first.collected.get("out", [])) < crash:
            first.step()
        before, checkpoint = cut(first)
        first.close()
        Counting.allowed = threading.Semaphore(100)
        assert before + LocalRun(job_of(build), restore=checkpoint).run().collected["out"] == [1, 2, 3, 4, 5, 6]


class Gated(AsyncFunction):
    """Answers when it is told to."""

    gate = threading.Event()

    async def async_invoke(self, value: int) -> list[int]:
        while not Gated.gate.is_set():
            await asyncio.sleep(0.001)
        return [value * 10]


@pytest.mark.parametrize("wait", [AsyncDataStream.ordered_wait, AsyncDataStream.unordered_wait])
@pytest.mark.parametrize("crash", [1, 3, 5])
def test_requests_without_an_answer_are_made_again(wait: Any, crash: int) -> None:
    def build(env: Any) -> Any:
        return wait(timed(env, [(n, n) for n in range(6)]), Gated(), Time.seconds(60), 3)

    Gated.gate = threading.Event()
    first = LocalRun(job_of(build))
    for _ in range(crash):
        first.step()
    before, checkpoint = cut(first)
    assert before == []
    first.close()
    Gated.gate.set()
    assert sorted(LocalRun(job_of(build), restore=checkpoint).run().collected["out"]) == [0, 10, 20, 30, 40, 50]
