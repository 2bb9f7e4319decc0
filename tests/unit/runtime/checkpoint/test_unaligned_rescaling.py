"""Unaligned checkpoints with records in flight come back with another parallelism: nothing is lost, doubled or late."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    CoProcessFunction,
    DataStream,
    Duration,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StateRestoreError,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
)
from penstock.common import Time
from penstock.testing import LocalCheckpoint, LocalRun
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import Replay, each_record, timed
from tests.unit.runtime.task.slow_run import Slow

END = 1_000_000
KEYS = 7
SPLITS = [[((n * (split + 2)) % KEYS, split, n) for n in range(8)] for split in range(3)]
"""Records ``(key, split, number)``; the numbers of a split grow, and are its timestamps."""
Row = tuple[int, int, int]


def rows(env: StreamExecutionEnvironment, name: str, *splits: list[Row]) -> DataStream[Row]:
    return timed(env, *([(row, row[2] * 10) for row in split] for split in splits), name=name).uid(name)


class Number(KeyedProcessFunction):
    """Gives the records of a key their number: state in front of and behind the records in flight."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Ledger(KeyedProcessFunction):
    """Says at the end of time what a key has seen, in its order."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer(END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), tuple(self.seen.get())


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


RULES: Any = MapStateDescriptor("rules")


class WithRules(KeyedBroadcastProcessFunction):
    """Passes rows on; the rules are kept, the same everywhere."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value, 1)


def key(row: Any) -> Any:
    return row[0]


Shape = Callable[[StreamExecutionEnvironment, int], DataStream[Any]]
"""Makes, with the parallelism of the middle step, the stream that the ledger gets."""


def _keyed(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    return rows(env, "rows", *SPLITS).key_by(key).process(Number()).uid("middle").set_parallelism(middle)


def _connected(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    first, second = rows(env, "first", *SPLITS[:2]), rows(env, "second", SPLITS[2])
    return first.connect(second).key_by(key, key).process(Both()).uid("middle").set_parallelism(middle)


def _united(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    first, second = rows(env, "first", SPLITS[0]), rows(env, "second", *SPLITS[1:])
    return first.union(second).key_by(key).process(Number()).uid("middle").set_parallelism(middle)


def _custom(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    spread = rows(env, "rows", *SPLITS).partition_custom(lambda number, count: number % count, key)
    return spread.map(lambda row: row).uid("middle").set_parallelism(middle)


def _in_turn(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    return rows(env, "rows", *SPLITS).rebalance().map(lambda row: row).uid("middle").set_parallelism(middle)


def _by_default(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    """In turn, unless there are as many sources as maps: then they are a chain."""
    return rows(env, "rows", *SPLITS).map(lambda row: row).uid("middle").set_parallelism(middle)


def _shuffled(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    return rows(env, "rows", *SPLITS).shuffle().map(lambda row: row).uid("middle").set_parallelism(middle)


def _to_the_first(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    return rows(env, "rows", *SPLITS).global_().map(lambda row: row).uid("middle").set_parallelism(middle)


def _rescaled(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    return rows(env, "rows", *SPLITS).rescale().map(lambda row: row).uid("middle").set_parallelism(middle)


def _with_rules(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    rules = timed(env, [(n, n) for n in range(6)], name="rules").uid("rules").broadcast(RULES)
    keyed = rows(env, "rows", *SPLITS).key_by(key)
    return keyed.connect(rules).process(WithRules()).uid("middle").set_parallelism(middle)


IN_ORDER: dict[str, Shape] = {
    "keyed": _keyed,
    "connected": _connected,
    "united": _united,
    "custom": _custom,
    "global": _to_the_first,
    "with rules": _with_rules,
}
IN_ANY_ORDER: dict[str, Shape] = {
    "in turn": _in_turn,
    "by default": _by_default,
    "shuffled": _shuffled,
    "rescaled": _rescaled,
}
SHAPES = {**IN_ORDER, **IN_ANY_ORDER}


def job(shape: Shape, sources: int, middle: int, last: int) -> Any:
    env = environment(sources)
    env.set_max_parallelism(12)
    env.enable_checkpointing(3_600_000)
    env.get_checkpoint_config().enable_unaligned_checkpoints()
    env.get_checkpoint_config().set_force_unaligned_checkpoints()  # for partition_custom()
    collect(shape(env, middle).key_by(key).process(Ledger()).uid("ledger").set_parallelism(last))
    return env._build_job(None)


PARALLELISM = st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))


def through(builds: list[Callable[[], Any]], choices: random.Random) -> dict[int, tuple[Any, ...]]:
    """Runs the first job up to an unaligned checkpoint, the next ones from there, the last one to its end.

    Returns what the keys have seen; a key whose time had ended in front of a checkpoint has said so in that run.
    """
    checkpoint: LocalCheckpoint | None = None
    seen: dict[int, tuple[Any, ...]] = {}
    for build in builds[:-1]:
        slow = Slow(build(), checkpoint)
        slow.wander(choices, choices.randrange(60))
        slow.run.checkpoints.begin()
        slow.send_all()
        slow.wander(choices, choices.randrange(60))
        checkpoint = slow.complete()
        slow.run.close()
        seen.update(slow.run.collected.get("out", []))
    out = LocalRun(builds[-1](), restore=checkpoint).run().collected.get("out", [])
    assert len(out) == len(dict(out))
    return {**seen, **dict(out)}


@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    parallelisms=st.lists(PARALLELISM, min_size=2, max_size=4),
    seed=st.integers(0, 1 << 30),
)
def test_every_record_counts_once_and_in_its_order_whatever_the_parallelism(
    shape: str, parallelisms: list[tuple[int, int, int]], seed: int
) -> None:
    builds = [lambda each=each: job(SHAPES[shape], *each) for each in parallelisms]
    seen = through(builds, random.Random(seed))
    for number in range(KEYS):
        expected = [row for split in SPLITS for row in split if row[0] == number]
        assert sorted(seen.get(number, ())) == sorted(expected)
        if shape in IN_ORDER:
            for split in range(len(SPLITS)):
                numbers = [row[2] for row in seen.get(number, ()) if row[1] == split]
                assert numbers == sorted(numbers), f"key {number} of split {split}"


def _windows(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    counts = rows(env, "rows", *SPLITS).map(lambda row: (row[0], 1)).uid("ones").rebalance().map(lambda one: one)
    windows = counts.uid("spread").key_by(key).window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    return windows.reduce(lambda one, other: (one[0], one[1] + other[1])).uid("windows").set_parallelism(middle)


@settings(max_examples=12, deadline=None)
@given(parallelisms=st.lists(PARALLELISM, min_size=2, max_size=4), seed=st.integers(0, 1 << 30))
def test_event_time_goes_on_and_no_window_fires_early_or_twice(
    parallelisms: list[tuple[int, int, int]], seed: int
) -> None:
    builds = [lambda each=each: job(_windows, *each) for each in parallelisms]
    seen = through(builds, random.Random(seed))
    counts = Counter((row[0], row[2] * 10 // 20) for split in SPLITS for row in split)
    for number in range(KEYS):
        # One result per window of the key, in the order of the windows.
        expected = [(number, counts[number, window]) for window in range(4) if (number, window) in counts]
        assert list(seen.get(number, ())) == expected


def behind_one_fast_channel(build: Any) -> LocalCheckpoint:
    """Delivers the barrier of the first source at once, and what the others have sent in front of theirs later."""
    slow = Slow(build)
    for task in range(len(slow.run.stages[0])):
        for _ in range(3):
            slow.poll(task)
    slow.run.checkpoints.begin()
    slow.send_all()
    for index in range(len(slow.run.stages[1])):
        slow.deliver(99, sender=0, index=index)
    checkpoint = slow.complete()
    slow.run.close()
    return checkpoint


def in_flight_to(checkpoint: LocalCheckpoint, operator: str) -> int:
    return len(checkpoint.metadata.operators[operator].in_flight)


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (4, 1), (2, 2)])
@pytest.mark.parametrize("shape", ["keyed", "custom", "in turn", "connected"])
def test_records_in_flight_move(shape: str, before: int, after: int) -> None:
    checkpoint = behind_one_fast_channel(job(SHAPES[shape], before, before, before))
    assert in_flight_to(checkpoint, "middle") == before
    restored = LocalRun(job(SHAPES[shape], after, after, after), restore=checkpoint).run()
    seen = [row for _, rows in restored.collected["out"] for row in rows]
    assert sorted(seen) == sorted(row for split in SPLITS for row in split)


@pytest.mark.parametrize("shape", ["with rules", "rescaled"])
def test_copies_and_fixed_pairs_of_subtasks_keep_their_barriers_in_line(shape: str) -> None:
    checkpoint = behind_one_fast_channel(job(SHAPES[shape], 4, 2, 2))
    assert in_flight_to(checkpoint, "middle") == 0


def _changing(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
    def once_more(row: dict[str, int]) -> tuple[int, int, int]:
        row["times"] += 1
        return row["key"], row["times"], 0

    maps = rows(env, "rows", *SPLITS).map(lambda row: {"key": row[0], "times": 0}).uid("maps")
    return maps.rebalance().map(once_more).uid("middle").set_parallelism(middle)


def test_records_in_flight_are_kept_as_they_came_and_not_as_a_function_left_them() -> None:
    checkpoint = behind_one_fast_channel(job(_changing, 2, 2, 1))
    assert in_flight_to(checkpoint, "middle") > 0
    restored = LocalRun(job(_changing, 2, 2, 1), restore=checkpoint).run()
    assert {row[1] for _, rows in restored.collected["out"] for row in rows} == {1}


def test_a_program_with_other_inputs_is_refused_and_one_with_the_same_in_another_order_is_not() -> None:
    def reordered(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
        second, first = rows(env, "second", *SPLITS[1:]), rows(env, "first", SPLITS[0])
        return second.union(first).key_by(key).process(Number()).uid("middle").set_parallelism(middle)

    def with_one(env: StreamExecutionEnvironment, middle: int) -> DataStream[Any]:
        env._allows_non_restored_state = True
        return rows(env, "second", *SPLITS[1:]).key_by(key).process(Number()).uid("middle").set_parallelism(middle)

    checkpoint = behind_one_fast_channel(job(_united, 2, 2, 2))
    restored = LocalRun(job(reordered, 3, 3, 3), restore=checkpoint).run()
    seen = [row for _, rows in restored.collected["out"] for row in rows]
    assert sorted(seen) == sorted(row for split in SPLITS for row in split)
    with pytest.raises(StateRestoreError, match="inputs are others now"):
        LocalRun(job(with_one, 2, 2, 2), restore=checkpoint)


class SaysItsTime(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


def test_a_channel_that_was_idle_holds_time_back_again_once_it_has_caught_up() -> None:
    def build() -> Any:
        env = environment()
        env.enable_checkpointing(3_600_000)
        env.get_checkpoint_config().enable_unaligned_checkpoints()
        quiet = Replay([(0, 1)], [(1, 100), (2, 150), (3, 900), (4, 1000)])
        first = env.from_source(quiet, each_record().with_idleness(Duration.of_millis(50)), "quiet").uid("quiet")
        second = timed(env, [(10, 500), (11, 600), (12, 2000), (13, 2001)], name="busy").uid("busy")
        collect(first.union(second).key_by(lambda _: 0).process(SaysItsTime()).uid("time"))
        return env._build_job(None)

    def deliver(slow: Slow) -> None:
        """Delivers what is on the wire, that of the quiet source first."""
        slow.send_all()
        inbox = slow.run._inboxes[1, 0]
        for block in sorted(inbox, key=lambda block: block[0]):
            slow.run.stages[1][0].receive(block)
        inbox.clear()

    slow = Slow(build())
    quiet, busy = slow.run.stages[0][0].subtasks.values()
    for _ in range(4):
        quiet.poll()  # 1, 0, 2 and the end of the split that has 0 alone
    busy.poll()
    slow.run.clock.advance(1000)
    slow.run.stages[0][0].processing_time.fire_due()
    deliver(slow)
    busy.poll()
    slow.run.checkpoints.begin()
    deliver(slow)  # the barrier of the quiet source overtakes 11
    assert slow.run.collected["out"][-1] == (11, 499)
    checkpoint = slow.complete()
    assert in_flight_to(checkpoint, "time") == 1

    slow = Slow(build(), checkpoint)
    quiet, busy = slow.run.stages[0][0].subtasks.values()
    assert slow.run.collected["out"] == [(11, 499)]
    quiet.poll()  # 3, while the split that had ended still counts as active: nobody says that the source is active
    quiet.poll()
    deliver(slow)
    busy.poll()
    busy.poll()
    deliver(slow)
    # Time is 899 of the quiet source, and not 1999 of the busy one.
    assert slow.run.collected["out"] == [(11, 499), (3, 599), (12, 599), (13, 899)]
