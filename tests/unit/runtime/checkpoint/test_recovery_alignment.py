"""Barriers on several channels: what is in a snapshot, and what a restored job makes of it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    CheckpointingMode,
    CoProcessFunction,
    Duration,
    KeyedProcessFunction,
    ListStateDescriptor,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.testing import LocalCheckpoint, LocalRun, build_job
from penstock.vocabulary.sources.protocol import ReaderContext, SourceSplit, SplitReader
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import Replay, timed
from tests.unit.runtime.task.slow_run import Slow


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value)
        yield self.sum.value()


def two_channels(**options: Any) -> Any:
    """Returns a job whose sums get numbers from two splits, each over a channel of its own."""
    env = environment()
    env.enable_checkpointing(3_600_000, options.get("mode"))
    if options.get("unaligned"):
        env.get_checkpoint_config().enable_unaligned_checkpoints()
    numbers = timed(env, [(n, 0) for n in (1, 2, 3)], [(n, 0) for n in (10, 20, 30)]).set_parallelism(2)
    collect(numbers.key_by(lambda _: 0).process(Sum()).set_parallelism(1))
    return build_job(env)


def fast_and_slow_channel(job: Any) -> tuple[Slow, LocalCheckpoint]:
    """Delivers a record behind the barrier of one channel before what is in front of the barrier of the other."""
    slow = Slow(job)
    slow.poll(0)
    slow.poll(1)
    slow.run.checkpoints.begin()
    for task in slow.run.stages[0]:
        slow.send(task)
    slow.poll(0)
    slow.deliver(3, sender=0)  # 1, the barrier, 2
    slow.deliver(9, sender=1)  # 10, the barrier
    slow.run.checkpoints.work()
    return slow, slow.run.checkpoints.complete[0]


def sum_in(job: Any, checkpoint: LocalCheckpoint) -> int:
    """Returns the sum that a restored job starts with; the recorded elements of an unaligned one are processed."""
    probe = Slow(job, checkpoint)
    keys = [operator for subtask in probe.run.stages[1][0].subtasks.values() for operator in subtask.chain.operators]
    keys[0].context.keys.key = 0
    state = keys[0].context.keyed_state().value_state(ValueStateDescriptor("sum")).value()
    probe.run.close()
    return state


def test_w_87_an_aligned_snapshot_holds_what_is_in_front_of_the_barriers_and_nothing_else() -> None:
    slow, checkpoint = fast_and_slow_channel(two_channels())
    # The 2 behind the first barrier had to wait for the other barrier.
    assert slow.run.collected["out"] == [1, 11, 13]
    assert sum_in(two_channels(), checkpoint) == 11
    assert LocalRun(two_channels(), restore=checkpoint).run().collected["out"][-1] == 66


def test_at_least_once_nobody_waits_and_a_record_may_count_twice() -> None:
    job = two_channels(mode=CheckpointingMode.AT_LEAST_ONCE)
    slow, checkpoint = fast_and_slow_channel(job)
    assert slow.run.collected["out"] == [1, 3, 13]
    assert sum_in(job, checkpoint) == 13
    assert LocalRun(job, restore=checkpoint).run().collected["out"][-1] == 68  # the 2 was read again


def test_an_unaligned_snapshot_is_taken_at_once_and_records_the_slow_channel() -> None:
    job = two_channels(unaligned=True)
    slow, checkpoint = fast_and_slow_channel(job)
    assert slow.run.collected["out"] == [1, 3, 13]
    (in_flight,) = [
        stored for operator in checkpoint.metadata.operators.values() for stored in operator.in_flight.values()
    ]
    assert in_flight.size > 0
    # The state is 1; the recorded 10 is processed before anything else.
    assert sum_in(job, checkpoint) == 11
    restored = LocalRun(job, restore=checkpoint).run().collected["out"]
    assert restored[0] == 11
    assert restored[-1] == 66


@pytest.mark.parametrize("moment", [0, 63, 64, 200, 299])
def test_an_unaligned_snapshot_in_the_middle_of_a_long_run_records_the_rest_of_it(moment: int) -> None:
    """Timers get their turn between two parts of a long run, that of the alignment too: no part is lost."""

    def job() -> Any:
        env = environment()
        env.enable_checkpointing(3_600_000)
        env.get_checkpoint_config().enable_unaligned_checkpoints()
        env.get_checkpoint_config().set_aligned_checkpoint_timeout(Duration.of_millis(5))
        numbers = env.from_source(AllAtOnce([1] * 300, [1000]), WatermarkStrategy.no_watermarks(), "numbers")
        collect(numbers.set_parallelism(2).key_by(lambda _: 0).process(SlowSum()).set_parallelism(1))
        return build_job(env)

    slow = Slow(job())
    SlowSum.moment, SlowSum.clock = moment, slow.run.clock
    slow.poll(0)
    slow.run.checkpoints.begin()
    for task in slow.run.stages[0]:
        slow.send(task)
    slow.deliver(1, sender=1)
    slow.deliver(1, sender=0)
    assert slow.run.collected["out"][-1] == 300
    slow.run.settle()
    slow.run.checkpoints.work()
    SlowSum.moment = -1
    assert LocalRun(job(), restore=slow.run.checkpoints.complete[0]).run().collected["out"][-1] == 1300


class AllAtOnce(Replay):
    """Gives a whole split in one run."""

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        return _WholeSplit(split.detail, is_read=bool(position))


class _WholeSplit(SplitReader[Any]):
    def __init__(self, records: list[Any], is_read: bool) -> None:
        self._records = records
        self._is_read = is_read

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        if self._is_read:
            return None
        self._is_read = True
        return list(self._records), None

    def position(self) -> bool:
        return self._is_read


class SlowSum(Sum):
    """Takes 10 ms for the record at a given position."""

    moment = -1
    clock: Any = None

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if (self.sum.value() or 0) == SlowSum.moment:
            SlowSum.clock.advance(10)
        yield from super().process_element(value, ctx)


def test_an_aborted_checkpoint_lets_its_channels_go_on() -> None:
    slow = Slow(two_channels())
    slow.poll(0)
    number = slow.run.checkpoints.begin()
    assert number is not None
    slow.poll(0)
    for task in slow.run.stages[0]:
        slow.send(task)
    slow.deliver(9, sender=0)
    assert slow.run.collected["out"] == [1]
    slow.run.checkpoints.give_up(number, "the disk is full")
    assert slow.run.collected["out"] == [1, 3]
    checkpoint = slow.run.checkpoint()
    assert checkpoint.checkpoint_id == number + 1
    assert LocalRun(two_channels(), restore=checkpoint).run().collected["out"][-1] == 66


class Merge(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "first", value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "second", value


@settings(max_examples=25, deadline=None)
@given(data=st.data(), unaligned=st.booleans())
def test_whatever_the_channels_deliver_when_nothing_is_lost_and_nothing_counts_twice(
    data: Any, unaligned: bool
) -> None:
    def job() -> Any:
        env = environment(2)
        env.enable_checkpointing(3_600_000)
        if unaligned:
            env.get_checkpoint_config().enable_unaligned_checkpoints()
        first = timed(env, [(n, n) for n in range(8)], [(n, n) for n in range(100, 108)], name="first")
        second = timed(env, [(n, n) for n in range(1000, 1006)], name="second")
        merged = first.connect(second).key_by(lambda n: n % 3, lambda n: n % 3).process(Merge())
        collect(merged.key_by(lambda pair: pair[1] % 5).process(Kept()))
        return build_job(env)

    choices = random.Random(data.draw(st.integers(0, 1 << 30)))
    slow = Slow(job())
    begins = choices.randrange(12)
    for turn in range(40):
        if turn == begins:
            slow.run.checkpoints.begin()
            for task in slow.run.stages[0]:
                slow.send(task)
        if choices.random() < 0.4:
            slow.poll(choices.randrange(2))
        else:
            stage = choices.choice([1, 2])
            sender = choices.choice([None, 0, 1])
            slow.deliver(choices.randrange(3), sender=sender, stage=stage, index=choices.randrange(2))
    while slow.run.settle() or not slow.run.checkpoints.is_idle:
        slow.run.checkpoints.work()
    checkpoint = slow.run.checkpoints.complete[0]
    out = LocalRun(job(), restore=checkpoint).run().collected.get("out", [])
    # What a key has seen is its state: the longest list of each key holds every record once.
    longest: dict[int, list[Any]] = {}
    for key, seen in [*slow.run.collected.get("out", []), *out]:
        longest[key] = max(longest.get(key, []), seen, key=len)
    found = sorted(value for seen in longest.values() for value in seen)
    expected = [("first", n) for n in [*range(8), *range(100, 108)]] + [("second", n) for n in range(1000, 1006)]
    assert found == sorted(expected)


class Kept(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value)
        yield ctx.get_current_key(), list(self.seen.get())


def test_a_savepoint_that_stops_the_job_holds_windows_open_unless_it_drains(tmp_path: Any) -> None:
    def job() -> Any:
        env = environment()
        collect(timed(env, [(n, n) for n in range(10)]).key_by(lambda _: 0).process(AtTwenty()))
        return build_job(env)

    stopped = LocalRun(job())
    for _ in range(4):
        stopped.step()
    path = stopped.savepoint(tmp_path, stop=True)
    assert stopped.is_finished
    assert stopped.collected.get("out", []) == []
    assert LocalRun(job(), restore=path).run().collected["out"] == [10]
    drained = LocalRun(job())
    for _ in range(4):
        drained.step()
    path = drained.savepoint(tmp_path, stop=True, drain=True)
    assert drained.is_finished
    assert drained.collected["out"] == [4]
    with pytest.raises(Exception, match="There is no checkpoint"):
        LocalRun(job(), restore=tmp_path / "other")


class AtTwenty(KeyedProcessFunction):
    """Counts, and says the count when event time is 20."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(20)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.count.value()


def test_a_savepoint_holds_what_finished_before_also_without_checkpointing(tmp_path: Any) -> None:
    def job() -> Any:
        env = environment()
        short = timed(env, [(n, n) for n in (1, 2)], name="short").rebalance().map(lambda n: n)
        long = timed(env, [(n, n) for n in (10, 20, 30, 40, 50)], name="long").rebalance().map(lambda n: n)
        collect(short.union(long).key_by(lambda _: 0).process(Sum()))
        return build_job(env)

    first = LocalRun(job())
    for _ in range(5):
        first.step()
    path = first.savepoint(tmp_path)
    before = first.collected["out"][-1]
    assert before == 153
    assert LocalRun(job(), restore=path).run().collected.get("out", [before])[-1] == 153
    second = LocalRun(job())
    for _ in range(3):
        second.step()
    path = second.savepoint(tmp_path)
    assert second.collected["out"][-1] == 63
    assert LocalRun(job(), restore=path).run().collected["out"] == [103, 153]
