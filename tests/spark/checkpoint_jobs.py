"""Jobs with state over an input that a test lets in record by record. Workers import this module by its name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import (
    CheckpointedFunction,
    CheckpointListener,
    DataStream,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    SinkFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from tests.chaos.lifecycle import Diary

__all__ = ["AtEnd", "Fuse", "Notified", "Results", "Sum", "Tap", "Tapped", "WaitFor", "numbers"]


@dataclass(frozen=True)
class Tap:
    """A file that says how many records of each split may be read."""

    path: Path

    def open(self, count: int) -> None:
        """Lets more records in."""
        beside = self.path.with_suffix(".new")
        beside.write_text(str(count), encoding="utf-8")
        beside.replace(self.path)

    def allowed(self) -> int:
        return int(self.path.read_text(encoding="utf-8")) if self.path.exists() else 0


class Tapped(Source[int]):
    """The numbers from 0 up to a limit, in as many splits as asked for: split i has those that leave i."""

    boundedness = Boundedness.BOUNDED

    def __init__(self, tap: Tap, limit: int, splits: int = 2) -> None:
        self.tap = tap
        self.limit = limit
        self.splits = splits

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit(f"tap {number}", number) for number in range(self.splits)]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return _TapReader(self, split.detail, position or 0)


class _TapReader(SplitReader[int]):
    def __init__(self, source: Tapped, first: int, position: int) -> None:
        self.source = source
        self.first = first
        self.index = position
        self.count = len(range(first, source.limit, source.splits))
        self.allowed = 0

    def read(self, limit: int) -> tuple[list[int], list[int] | None] | None:
        if self.index == self.count:
            return None
        if self.index >= self.allowed:
            self.allowed = min(self.source.tap.allowed(), self.count)
        if self.index >= self.allowed:
            time.sleep(0.002)
            return [], None
        stop = min(self.index + 10, self.allowed)
        values = [self.first + index * self.source.splits for index in range(self.index, stop)]
        self.index = stop
        return values, values[:]

    def position(self) -> int:
        return self.index


class Sum(KeyedProcessFunction):
    """Emits each key's count and sum so far; keeps a timer for the end of event time if asked to."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        count, total = self.state.value() or (0, 0)
        self.state.update((count + 1, total + value))
        yield ctx.get_current_key(), count + 1, total + value


class AtEnd(Sum):
    """Says its sums only when event time reaches a point far away."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        list(super().process_element(value, ctx))
        ctx.timer_service().register_event_time_timer(1 << 40)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), *self.state.value()


@dataclass(frozen=True)
class Results:
    """A directory with the newest result of each key, which writing again does not change."""

    directory: Path

    def read(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for path in self.directory.glob("*.result"):
            count, total = path.read_text(encoding="utf-8").split()
            found[path.stem] = int(count), int(total)
        return found

    def sink(self) -> SinkFunction:
        return _ResultSink(self.directory)


class _ResultSink(SinkFunction):
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def invoke(self, value: tuple[Any, int, int], context: Any) -> None:
        key, count, total = value
        self.directory.mkdir(exist_ok=True)
        beside = self.directory / f"{key}.new"
        beside.write_text(f"{count} {total}", encoding="utf-8")
        beside.replace(self.directory / f"{key}.result")


@dataclass(frozen=True)
class Fuse:
    """Makes a function fail at a record, as often as it is asked to."""

    diary: Diary
    at: int
    times: int = 1

    def __call__(self, value: int) -> int:
        if value == self.at and len(self.diary.lines("failed")) < self.times:
            self.diary.fail(f"bad record {value}")
        return value


class Notified(MapFunction, CheckpointedFunction, CheckpointListener):
    """Writes down what it hears of checkpoints; keeps what it has seen as operator state."""

    def __init__(self, diary: Diary) -> None:
        self.diary = diary

    def initialize_state(self, context: Any) -> None:
        self.seen = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))
        self.diary.write(f"restored {context.get_restored_checkpoint_id()}")

    def map(self, value: Any) -> Any:
        self.seen.add(value)
        return value

    def snapshot_state(self, context: Any) -> None:
        self.diary.write(f"snapshot {context.get_checkpoint_id()}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.diary.write(f"complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.diary.write(f"aborted {checkpoint_id}")


def numbers(env: StreamExecutionEnvironment, tap: Tap, limit: int = 100, splits: int = 2) -> DataStream[int]:
    """Returns the stream of a tap."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(Tapped(tap, limit, splits), strategy, "numbers").uid("numbers")


class WaitFor(MapFunction):
    """Holds records up until there is a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def map(self, value: Any) -> Any:
        while not self.path.exists():
            time.sleep(0.02)
        return value
