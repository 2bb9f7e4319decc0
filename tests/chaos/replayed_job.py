"""A job with counts, lists, maps, timers and windows over an input that can be read again, and what it must arrive at.

Its final state goes to one file per key, so that writing it twice changes nothing. Workers import this module by its
name.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    SinkFunction,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from tests.chaos.faults import WORKER_POINTS, FaultPlan, install

__all__ = ["Readings", "build", "expected", "final_state"]

KEYS = 13
STEP = 20
"""Milliseconds of event time from one record of a split to the next."""
DISORDER = 300
WINDOW = 1000
SLOT = 700
END = 1 << 50


@dataclass(frozen=True)
class Readings:
    """How much input there is and how fast it comes."""

    records: int = 2000
    """Of each split."""
    splits: int = 2
    per_second: int = 1000
    """Of each split."""

    def record(self, split: int, index: int) -> tuple[tuple[int, int], int]:
        """Returns a record and its timestamp: ``(key, number)``, not quite in the order of time."""
        number = index * self.splits + split
        jitter = number * 7919 % DISORDER
        return (number * 31 % KEYS, number), index * STEP + jitter


class ReadingSource(Source[Any]):
    boundedness = Boundedness.BOUNDED

    def __init__(self, readings: Readings) -> None:
        self.readings = readings

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit(f"split {number}", number) for number in range(self.readings.splits)]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        return _ReadingReader(self.readings, split.detail, position or 0)


class _ReadingReader(SplitReader[Any]):
    def __init__(self, readings: Readings, split: int, position: int) -> None:
        self.readings = readings
        self.split = split
        self.index = self.first = position
        self.started = time.monotonic()

    def read(self, limit: int) -> tuple[list[Any], list[int] | None] | None:
        readings = self.readings
        if self.index == readings.records:
            return None
        due = self.first + int((time.monotonic() - self.started) * readings.per_second) + 1
        stop = min(due, readings.records, self.index + limit)
        if stop <= self.index:
            time.sleep(0.002)
            return [], None
        records = [readings.record(self.split, index) for index in range(self.index, stop)]
        self.index = stop
        return [value for value, _ in records], [timestamp for _, timestamp in records]

    def position(self) -> int:
        return self.index


class Armed(MapFunction):
    """Passes records on; makes the process it comes to suffer planned faults."""

    def __init__(self, plan: FaultPlan | None) -> None:
        self.plan = plan

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.plan is not None:
            install(self.plan, WORKER_POINTS)

    def map(self, value: Any) -> Any:
        return value


class Everything(KeyedProcessFunction):
    """Keeps a count, a list and a map per key, and counts its timers; tells all of it at the end of time."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired"))
        self.some = runtime_context.get_list_state(ListStateDescriptor("some"))
        self.rests = runtime_context.get_map_state(MapStateDescriptor("rests"))

    def process_element(self, value: tuple[int, int], ctx: Any) -> None:
        number = value[1]
        self.count.update((self.count.value() or 0) + 1)
        if number % 50 < KEYS:
            self.some.add(number)
        self.rests.put(number % 5, (self.rests.get(number % 5) or 0) + number)
        timers = ctx.timer_service()
        timers.register_event_time_timer((ctx.timestamp() // SLOT + 1) * SLOT + DISORDER)
        timers.register_event_time_timer(END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        if timestamp != END:
            self.fired.update((self.fired.value() or 0) + 1)
            return
        content = {
            "count": self.count.value(),
            "fired": self.fired.value(),
            "some": sorted(self.some.get()),
            "rests": sorted(self.rests.items()),
        }
        yield f"state-{ctx.get_current_key()}", content


class Windows(KeyedProcessFunction):
    """Gathers the results of a key's windows and tells them at the end of time."""

    def open(self, runtime_context: Any) -> None:
        self.windows = runtime_context.get_list_state(ListStateDescriptor("windows"))

    def process_element(self, value: tuple[int, int], ctx: Any) -> None:
        self.windows.add((ctx.timestamp() // WINDOW, value[1]))
        ctx.timer_service().register_event_time_timer(END)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield f"windows-{ctx.get_current_key()}", {"sums": sorted(self.windows.get())}


class FileSink(SinkFunction):
    """Writes a file per key, whole or not at all."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def invoke(self, value: tuple[str, Any], context: Any) -> None:
        name, content = value
        self.directory.mkdir(parents=True, exist_ok=True)
        beside = self.directory / f"{name}.new"
        beside.write_text(json.dumps(content), encoding="utf-8")
        beside.replace(self.directory / f"{name}.json")


def build(env: StreamExecutionEnvironment, readings: Readings, directory: Path, plan: FaultPlan | None) -> None:
    """Puts the job into an environment; its final state will be in the directory."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(DISORDER)
    records = env.from_source(ReadingSource(readings), strategy, "readings").uid("readings").map(Armed(plan))
    keyed = records.key_by(lambda record: record[0])
    states = keyed.process(Everything()).uid("everything")
    windows = keyed.window(TumblingEventTimeWindows.of(WINDOW)).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")
    gathered = windows.key_by(lambda record: record[0]).process(Windows()).uid("gathered")
    states.union(gathered).add_sink(FileSink(directory)).uid("files")


def expected(readings: Readings) -> dict[str, Any]:
    """The final state, reckoned without any job."""
    count: dict[int, int] = defaultdict(int)
    some: dict[int, list[int]] = defaultdict(list)
    rests: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    slots: dict[int, set[int]] = defaultdict(set)
    windows: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for split in range(readings.splits):
        for index in range(readings.records):
            (key, number), timestamp = readings.record(split, index)
            count[key] += 1
            if number % 50 < KEYS:
                some[key].append(number)
            rests[key][number % 5] += number
            slots[key].add(timestamp // SLOT)
            windows[key][timestamp // WINDOW] += number
    found: dict[str, Any] = {}
    for key in count:
        found[f"state-{key}"] = {
            "count": count[key],
            "fired": len(slots[key]),
            "some": sorted(some[key]),
            "rests": [list(entry) for entry in sorted(rests[key].items())],
        }
        found[f"windows-{key}"] = {"sums": [list(entry) for entry in sorted(windows[key].items())]}
    return found


def final_state(directory: Path) -> dict[str, Any]:
    """Returns what the job has arrived at."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in directory.glob("*.json")}
