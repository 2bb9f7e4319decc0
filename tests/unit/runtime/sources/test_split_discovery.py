"""Splits are numbered in one place, new ones are found while the job runs, and nothing is read twice or missed."""

from __future__ import annotations

from typing import Any

from penstock import (
    Boundedness,
    OutputTag,
    ReaderContext,
    Source,
    SourceSplit,
    SplitReader,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from penstock.runtime.sources.enumeration import SplitEnumeration
from penstock.testing.local_run import LocalRun
from tests.unit.local_jobs import collect, environment

SHELVES: dict[str, list[int]] = {}
"""What the source finds: names of splits with the timestamps that are in them."""
COMMITTED: list[tuple[str, int]] = []


class ShelfSource(Source[int]):
    """A directory, so to speak: splits appear, grow and stay."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED
    discovery_interval = 1000

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit(name) for name in sorted(SHELVES)]

    def discover_splits(self, known: Any) -> list[SourceSplit]:
        return self.create_splits(1)  # those that are known are not taken again

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return _Reader(split.id, position or 0, context)


class _Reader(SplitReader[int]):
    def __init__(self, name: str, start: int, context: ReaderContext) -> None:
        self._name = name
        self._next = start
        self._context = context

    def read(self, limit: int) -> tuple[list[int], list[int]] | None:
        found = SHELVES[self._name][self._next :]
        self._next += len(found)
        odd = [value for value in found if value < 0]
        if odd:
            self._context.side_output("odd", odd)
        values = [value for value in found if value >= 0]
        return values, list(values)

    def position(self) -> int:
        return self._next

    def committed(self, position: Any) -> None:
        COMMITTED.append((self._name, position))


def job(parallelism: int) -> StreamExecutionEnvironment:
    env = environment(parallelism)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(ShelfSource(), WatermarkStrategy.for_monotonous_timestamps(), "shelves").uid("source")
    collect(stream)
    collect(stream.get_side_output(OutputTag("odd")), "odd")
    return env


def start(parallelism: int, restore: Any = None) -> LocalRun:
    run = LocalRun.of(job(parallelism), restore=restore)
    run.step()
    return run


def test_new_splits_are_found_in_their_interval_and_read_by_one_subtask() -> None:
    SHELVES.clear()
    SHELVES["a"] = [1, 2]
    run = start(2)
    SHELVES["b"] = [10]
    run.advance(999)
    run.step()
    assert run.collected["out"] == [1, 2], "it is not time to look"
    run.advance(1)
    run.step()
    assert sorted(run.collected["out"]) == [1, 2, 10]
    SHELVES["c"] = [20]
    SHELVES["a"].append(3)
    run.advance(1000)
    run.step()
    run.step()  # a subtask reads its splits in turn
    assert sorted(run.collected["out"]) == [1, 2, 3, 10, 20]
    run.close()


def test_a_restart_goes_on_in_known_splits_and_finds_those_in_between_with_any_parallelism() -> None:
    SHELVES.clear()
    SHELVES.update(a=[1, 2], b=[10])
    run = start(2)
    checkpoint = run.checkpoint()
    SHELVES["c"] = [20]
    run.advance(1000)
    run.step()
    assert sorted(run.collected["out"]) == [1, 2, 10, 20], "20 came behind the checkpoint"
    run.close()
    SHELVES["d"] = [30]
    again = start(3, checkpoint)
    assert sorted(again.collected["out"]) == [20, 30], "each once, and nothing of the checkpoint again"
    again.close()


def test_numbers_do_not_change_when_splits_come() -> None:
    SHELVES.clear()
    SHELVES.update(m=[], z=[])
    enumeration = SplitEnumeration(ShelfSource(), 2, None)
    SHELVES["a"] = []
    assert {number: split.id for number, split in enumeration.discover().items()} == {2: "a"}
    assert {number: split.id for number, split in enumeration.splits.items()} == {0: "m", 1: "z", 2: "a"}
    assert [split.id for split in enumeration.of_subtask(0).values()] == ["m", "a"]


def test_a_subtask_without_splits_does_not_hold_time_back_and_takes_part_when_it_gets_one() -> None:
    SHELVES.clear()
    SHELVES["a"] = [100, 200]
    run = LocalRun.of(_windowed(2))
    run.step()
    run.advance(200)
    run.settle()
    assert run.collected.get("out", []) == [100], "the window up to 150 has fired: the other subtask is idle"
    SHELVES["b"] = [260]
    run.advance(800)
    run.step()
    run.advance(200)  # a watermark of the new split brings its subtask back
    SHELVES["a"] += [400]
    run.step()
    run.advance(200)
    run.settle()
    assert sorted(run.collected["out"]) == [100], "the new split holds time at 260"
    SHELVES["b"] += [500]
    run.step()
    run.advance(200)
    run.settle()
    assert sorted(run.collected["out"]) == [100, 460], "200 and 260 are in the window up to 300"
    run.close()


def _windowed(parallelism: int) -> StreamExecutionEnvironment:
    from penstock import Time, TumblingEventTimeWindows

    env = environment(parallelism)
    stream = env.from_source(ShelfSource(), WatermarkStrategy.for_monotonous_timestamps(), "shelves")
    windows = stream.key_by(lambda value: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(150)))
    collect(windows.reduce(lambda left, right: left + right).set_parallelism(1))
    return env


def test_readers_hear_of_complete_checkpoints_only() -> None:
    SHELVES.clear()
    SHELVES["a"] = [1, 2]
    COMMITTED.clear()
    run = start(1)
    SHELVES["a"].append(3)
    number = run.checkpoints.begin()
    assert number is not None
    run.checkpoints.give_up(number, "the test says so")
    run.settle()
    assert COMMITTED == []
    run.step()
    run.checkpoint()
    assert COMMITTED[-1] == ("a", 3)
    run.close()


def test_a_source_has_side_outputs() -> None:
    SHELVES.clear()
    SHELVES["a"] = [1, -1, 2]
    run = start(1)
    assert run.collected == {"out": [1, 2], "odd": [-1]}
    run.close()
