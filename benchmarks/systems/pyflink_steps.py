"""The steps that several jobs on PyFlink have in common: sources, timestamps, the counting sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    FlatMapFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

from benchmarks import workload
from benchmarks.ledger import Tally, stamp_entry

EVENT = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class Generate(MapFunction):  # type: ignore[misc]
    """Maps a number to its event."""

    def __init__(self, event: Callable[[int], Any], ledger: str) -> None:
        self._event, self._ledger, self._fresh = event, ledger, True

    def map(self, value: int) -> Any:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return self._event(value)


class EventTime(TimestampAssigner):  # type: ignore[misc]
    """Takes an event's time from the event."""

    def extract_timestamp(self, value: workload.Event, record_timestamp: int) -> int:
        return value[1]


class Counting(AggregateFunction):  # type: ignore[misc]
    """Counts the events of a window."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: workload.Event, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Named(ProcessWindowFunction):  # type: ignore[misc]
    """Adds the key and the window to an aggregate."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[workload.Event]:
        yield key, context.window().start, next(iter(elements))


class Sink(FlatMapFunction):  # type: ignore[misc]
    """Counts and sums the results; PyFlink has no sinks written in Python, so it is a step that emits nothing."""

    def __init__(self, ledger: str, *, marks: bool, every: int = 256) -> None:
        self._ledger, self._marks, self._every = ledger, marks, every

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger, every=self._every)

    def flat_map(self, value: Any) -> Iterator[int]:
        self._tally.add(workload.mark(*value) if self._marks else value[1])
        return iter(())

    def close(self) -> None:
        self._tally.close()


def numbers(environment: StreamExecutionEnvironment, count: int) -> DataStream:
    """Returns the numbers from 0, without timestamps."""
    source = NumberSequenceSource(0, count - 1)
    return environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


def events(
    environment: StreamExecutionEnvironment, count: int, event: Callable[[int], workload.Event], ledger: str
) -> DataStream:
    """Returns the events of the numbers from 0, with their timestamps and watermarks."""
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(workload.OUT_OF_ORDER_MS)
    ).with_timestamp_assigner(EventTime())
    stream = numbers(environment, count).map(Generate(event, ledger), output_type=EVENT)
    return stream.assign_timestamps_and_watermarks(times)
