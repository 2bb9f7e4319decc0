"""The jobs of the cost curves on penstock: each is named ``<curve>@<point>`` and varies one thing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from typing import Any

import penstock
from benchmarks import workload
from benchmarks.ledger import stamp_entry
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems.penstock import Count, Keys, Summing
from benchmarks.systems.penstock_steps import Named, Sink, events, numbers
from penstock import (
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    Types,
    ValueStateDescriptor,
)

SLIDE_MS = 1_000
STATE_VALUE = 1_000
"""Bytes of a value in the job of the state curve."""


class Sized(MapFunction):
    """Maps a number to a key and that many bytes, which are not shared with any other record."""

    def __init__(self, size: int, ledger: str) -> None:
        self._padding, self._ledger, self._fresh = b"x" * max(0, size - 8), ledger, True

    def map(self, value: int) -> tuple[int, bytes]:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return value % 1_000, value.to_bytes(8, "little") + self._padding


class CountSized(Count):
    """Counts per key and lets go of the bytes."""

    def process_element(self, value: tuple[int, bytes], ctx: Any) -> Iterator[Any]:
        yield from super().process_element(value[0], ctx)


class Replace(KeyedProcessFunction):
    """Reads the key's value and puts another one of the same size in its place."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._state = runtime_context.get_state(ValueStateDescriptor("value", Types.PICKLED_BYTE_ARRAY()))
        self._padding = b"x" * (STATE_VALUE - 8)

    def process_element(self, value: int, ctx: Any) -> Iterator[tuple[int, int]]:
        known = self._state.value()
        seen = 0 if known is None else int.from_bytes(known[:8], "little")
        self._state.update((seen + 1).to_bytes(8, "little") + self._padding)
        yield value, 1


class Increment(MapFunction):
    """Adds one; the first of a chain notes when it begins."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def map(self, value: int) -> int:
        if self._ledger:
            stamp_entry(self._ledger)
            self._ledger = ""
        return value + 1


def run(assignment: Assignment) -> Outcome:
    """Runs one point of a curve and leaves its stamps in the ledger."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    curve, _, text = assignment.job.partition("@")
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(assignment.parallelism)
    _CURVES[curve](environment, assignment, int(text))
    environment.execute(assignment.job)
    versions = {"python": platform.python_version(), "penstock": penstock.__version__}
    return Outcome(settings={"backend": assignment.variant or "heap"}, versions=versions)


def _keys(environment: StreamExecutionEnvironment, assignment: Assignment, keys: int) -> None:
    stream = numbers(environment, assignment.records).map(Keys(keys, assignment.ledger))
    stream.key_by(lambda key: key).process(Count()).add_sink(Sink(assignment.ledger, marks=False))


def _parallelism(environment: StreamExecutionEnvironment, assignment: Assignment, _: int) -> None:
    _keys(environment, assignment, 1_000)


def _overlap(environment: StreamExecutionEnvironment, assignment: Assignment, overlap: int) -> None:
    event = workload.Events("sliding", assignment.records, assignment.parallelism)
    windows = SlidingEventTimeWindows.of(Time.milliseconds(overlap * SLIDE_MS), Time.milliseconds(SLIDE_MS))
    results = (
        events(environment, assignment.records, event, assignment.ledger)
        .key_by(lambda record: record[0])
        .window(windows)
        .aggregate(Summing(), window_function=Named())
    )
    results.map(lambda result: (0, result[2])).add_sink(Sink(assignment.ledger, marks=False, every=1))


def _size(environment: StreamExecutionEnvironment, assignment: Assignment, size: int) -> None:
    stream = numbers(environment, assignment.records).map(Sized(size, assignment.ledger))
    counts = stream.key_by(lambda record: record[0]).process(CountSized())
    counts.add_sink(Sink(assignment.ledger, marks=False))


def _chain(environment: StreamExecutionEnvironment, assignment: Assignment, length: int) -> None:
    stream = numbers(environment, assignment.records)
    for step in range(length):
        stream = stream.map(Increment("" if step else assignment.ledger))
    stream.map(lambda value: (0, value)).add_sink(Sink(assignment.ledger, marks=False))


def _state(environment: StreamExecutionEnvironment, assignment: Assignment, megabytes: int) -> None:
    is_disk = assignment.variant == "rocksdb"
    environment.set_state_backend(EmbeddedRocksDBStateBackend() if is_disk else HashMapStateBackend())
    keys = megabytes * 1_000_000 // STATE_VALUE
    stream = numbers(environment, assignment.records).map(Keys(keys, assignment.ledger))
    stream.key_by(lambda key: key).process(Replace()).add_sink(Sink(assignment.ledger, marks=False))


_CURVES = {
    "keys": _keys,
    "overlap": _overlap,
    "size": _size,
    "parallelism": _parallelism,
    "cores": lambda environment, assignment, _: _chain(environment, assignment, 5),
    "chain": _chain,
    "state": _state,
}


if __name__ == "__main__":
    main(run)
