"""The steps that several jobs on penstock have in common: sources, timestamps, the counting sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import workload
from benchmarks.ledger import Tally, stamp_entry
from penstock import (
    AggregateFunction,
    DataStream,
    Duration,
    FilterBatchesFunction,
    MapFunction,
    NumberSequenceSource,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
    TimestampAssigner,
    WatermarkStrategy,
)


class Generate(MapFunction):
    """Maps a number to its event."""

    def __init__(self, event: Callable[[int], Any], ledger: str) -> None:
        self._event, self._ledger, self._fresh = event, ledger, True

    def map(self, value: int) -> Any:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return self._event(value)


class EventTime(TimestampAssigner):
    """Takes an event's time from the event."""

    def extract_timestamp(self, value: workload.Event, record_timestamp: int) -> int:
        return value[1]


class Counting(AggregateFunction):
    """Counts the events of a window."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: workload.Event, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Named(ProcessWindowFunction):
    """Adds the key and the window to an aggregate."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[workload.Event]:
        yield key, context.window().start, next(iter(elements))


class Sink(SinkFunction):
    """Counts and sums the results: running counts, or events by their mark."""

    def __init__(self, ledger: str, *, marks: bool, every: int = 256) -> None:
        self._ledger, self._marks, self._every = ledger, marks, every

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger, every=self._every)

    def invoke(self, value: Any, context: Any) -> None:
        self._tally.add(workload.mark(*value) if self._marks else value[1])

    def close(self) -> None:
        self._tally.close()


class Tallying(FilterBatchesFunction):
    """Counts the results and adds up their digests, batch by batch as they come, and lets nothing through."""

    def __init__(self, ledger: str, digest: Callable[[Any], int]) -> None:
        self._ledger, self._digest = ledger, digest

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger)

    def filter_batches(self, values: list[Any]) -> list[bool]:
        self._tally.add_many(list(map(self._digest, values)))
        return [False] * len(values)

    def close(self) -> None:
        self._tally.close()


def tally(results: DataStream[Any], ledger: str, digest: Callable[[Any], int]) -> None:
    """Ends a job with the counting sink; it takes batches, as those of the hand-written program and of Bytewax do."""
    results.filter_batches(Tallying(ledger, digest)).add_sink(Sink(ledger, marks=False))


def mark_of(result: workload.Event) -> int:
    """Digests a key, a window and a value."""
    return workload.mark(*result)


def numbers(environment: StreamExecutionEnvironment, count: int) -> DataStream[int]:
    """Returns the numbers from 0, without timestamps."""
    return environment.from_source(NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), "numbers")


def events(
    environment: StreamExecutionEnvironment, count: int, event: Callable[[int], workload.Event], ledger: str
) -> DataStream[workload.Event]:
    """Returns the events of the numbers from 0, with their timestamps and watermarks."""
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(workload.OUT_OF_ORDER_MS)
    ).with_timestamp_assigner(EventTime())
    return numbers(environment, count).map(Generate(event, ledger)).assign_timestamps_and_watermarks(times)
