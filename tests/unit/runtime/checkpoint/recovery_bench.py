"""Crashes jobs in this process at every step and compares what comes out with a run that nothing happened to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock import (
    DataStream,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedStream,
    StreamExecutionEnvironment,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.testing import LocalCheckpoint, LocalRun, build_job
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from tests.unit.local_jobs import collect, environment

__all__ = ["BACKENDS", "Build", "Replay", "check_every_crash", "cut", "each_record", "job_of", "steps_of", "timed"]

BACKENDS = {"heap": HashMapStateBackend, "rocksdb": EmbeddedRocksDBStateBackend}

Build = Callable[[StreamExecutionEnvironment], "DataStream[Any]"]
"""Makes the stream whose records are collected."""

STEP = 0
"""Asks every source once; any other number is how many milliseconds the clock moves on."""


class Replay(Source[Any]):
    """Lists that are read one record at a time, each list as a split of its own; records are ``(value, timestamp)``."""

    boundedness = Boundedness.BOUNDED

    def __init__(self, *splits: Sequence[tuple[Any, int]]) -> None:
        self._splits = splits

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit(f"split {number}", records) for number, records in enumerate(self._splits)]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        return _ReplayReader(split.detail, position or 0)


class _ReplayReader(SplitReader[Any]):
    def __init__(self, records: Sequence[tuple[Any, int]], position: int) -> None:
        self._records = records
        self._position = position

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        if self._position == len(self._records):
            return None
        value, timestamp = self._records[self._position]
        self._position += 1
        return [value], [timestamp]

    def position(self) -> int:
        return self._position


class _EachRecord(WatermarkGenerator[Any]):
    """Says after each record that time has come up to it, less a delay."""

    def __init__(self, delay: int) -> None:
        self._delay = delay

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp - self._delay - 1))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        return


def each_record(delay: int = 0) -> WatermarkStrategy:
    """Returns the strategy that emits a watermark behind each record."""
    return WatermarkStrategy.for_generator(lambda: _EachRecord(delay))


def timed(
    env: StreamExecutionEnvironment, *splits: Sequence[tuple[Any, int]], delay: int = 0, name: str = "replay"
) -> DataStream[Any]:
    """Returns a stream of records with timestamps and a watermark behind each of them."""
    return env.from_source(Replay(*splits), each_record(delay), name)


def job_of(build: Build, parallelism: int = 1, backend: str = "heap") -> Any:
    """Returns the job that collects a stream."""
    env = environment(parallelism)
    env.set_state_backend(BACKENDS[backend]())
    env.enable_checkpointing(3_600_000)
    stream = build(env)
    assert not isinstance(stream, KeyedStream)
    collect(stream)
    return build_job(env)


def drive(run: LocalRun, actions: Sequence[int]) -> None:
    """Asks sources and moves the clock."""
    for action in actions:
        if action == STEP:
            run.step()
        else:
            run.advance(action)


def cut(run: LocalRun, then: Sequence[int] = ()) -> tuple[list[Any], LocalCheckpoint]:
    """Takes a checkpoint and returns what came out before it.

    The snapshot is stored only after a few more actions, so that what they change must not be in it.
    """
    run.open()
    run.checkpoints.begin()
    run.settle()
    before = list(run.collected.get("out", []))
    drive(run, then)
    run.checkpoints.work()
    return before, run.checkpoints.complete[0]


def steps_of(build: Build, parallelism: int = 1) -> list[int]:
    """Returns as many steps as the sources have records and ends."""
    run = LocalRun(job_of(build, parallelism))
    count = 0
    while not run.is_finished:
        run.step()
        count += 1
    run.close()
    return [STEP] * count


def outcome(run: LocalRun, actions: Sequence[int]) -> list[Any]:
    """Returns everything that comes out up to the end."""
    drive(run, actions)
    run.run()
    return run.collected.get("out", [])


def check_every_crash(
    build: Build,
    expected: list[Any],
    *,
    actions: Sequence[int] | None = None,
    parallelism: int = 1,
    restored_parallelism: int | None = None,
    backend: str = "heap",
    is_ordered: bool = True,
) -> None:
    """Takes a checkpoint before every action, crashes two actions later and goes on from the checkpoint.

    What came out before the checkpoint and what comes out after it must be together what comes out without a crash;
    in the same order where one subtask does it all, unless timers of several keys fire at the same time.
    """
    actions = steps_of(build, parallelism) if actions is None else actions
    restored_parallelism = restored_parallelism or parallelism

    def in_order(out: list[Any]) -> list[Any]:
        return out if is_ordered and parallelism == restored_parallelism == 1 else sorted(out, key=repr)

    wanted = in_order(expected)
    undisturbed = in_order(outcome(LocalRun(job_of(build, parallelism, backend)), actions))
    assert undisturbed == wanted, f"without a crash: {undisturbed} instead of {wanted}"
    # Opening a RocksDB takes longer than anything else here: with it, every fourth moment will do.
    for number in range(0, len(actions) + 1, 1 if backend == "heap" else 4):
        first = LocalRun(job_of(build, parallelism, backend))
        drive(first, actions[:number])
        before, checkpoint = cut(first, actions[number : number + 2])
        first.close()
        second = LocalRun(job_of(build, restored_parallelism, backend), restore=checkpoint)
        after = outcome(second, actions[number:])
        found = in_order(before + after)
        assert found == wanted, f"crash after {number} actions: {before} and then {after} instead of {wanted}"
