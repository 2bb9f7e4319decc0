"""The jobs on PyFlink, in a local cluster inside this process, in process or thread mode."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from pyflink.common import Configuration, Types
from pyflink.common.time import Time
from pyflink.datastream import (
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows

from benchmarks import workload
from benchmarks.feeder import Feeder
from benchmarks.join_workload import JOINS, RULES_JOB
from benchmarks.ledger import Delays, stamp_entry
from benchmarks.nexmark import QUERIES
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems import pyflink_joins, pyflink_nexmark
from benchmarks.systems.pyflink_steps import EVENT, Counting, Generate, Named, Sink, events, numbers


class Keys(MapFunction):  # type: ignore[misc]
    """Maps a number to its key."""

    def __init__(self, keys: int, ledger: str) -> None:
        self._keys, self._ledger, self._fresh = keys, ledger, True

    def map(self, value: int) -> int:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return value % self._keys


class Words(FlatMapFunction):  # type: ignore[misc]
    """Maps a number to the words of its line."""

    def __init__(self, ledger: str) -> None:
        self._ledger, self._fresh = ledger, True

    def open(self, runtime_context: RuntimeContext) -> None:
        self._lines = workload.text()

    def flat_map(self, value: int) -> Iterator[str]:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        yield from self._lines[value % len(self._lines)].split()


class Parse(MapFunction):  # type: ignore[misc]
    """Reads a line of the feeder."""

    def map(self, value: str) -> tuple[int, int]:
        number, created = value.split()
        return int(number), int(created)


class Count(KeyedProcessFunction):  # type: ignore[misc]
    """Emits the running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[Any, int]]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value, count


class CountDown(KeyedProcessFunction):  # type: ignore[misc]
    """Counts the records that wait, and lets a timer per record count them down and emit."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._waiting = runtime_context.get_state(ValueStateDescriptor("waiting", Types.LONG()))

    def process_element(self, value: workload.Event, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._waiting.update((self._waiting.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1] + workload.TIMER_MS)
        return iter(())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[workload.Event]:
        self._waiting.update(self._waiting.value() - 1)
        yield ctx.get_current_key(), timestamp, 1


class CountAndForward(Count):
    """Counts per key and passes the record on."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class Summing(Counting):
    """Sums the values of a window."""

    def add(self, value: workload.Event, accumulator: int) -> int:
        return accumulator + value[2]


class DelaySink(FlatMapFunction):  # type: ignore[misc]
    """Notes how old each record is."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def open(self, runtime_context: RuntimeContext) -> None:
        self._delays = Delays(self._ledger)

    def flat_map(self, value: tuple[int, int]) -> Iterator[int]:
        self._delays.add(value[1])
        return iter(())

    def close(self) -> None:
        self._delays.close()


def run(assignment: Assignment) -> Outcome:
    """Runs one job and leaves its stamps in the ledger."""
    configuration = Configuration()
    configuration.set_string("python.execution-mode", assignment.variant)
    configuration.set_string("rest.port", "0")
    settings = {"python.execution-mode": assignment.variant}
    if assignment.is_latency:
        configuration.set_string("python.fn-execution.bundle.time", "10")
        settings |= {"python.fn-execution.bundle.time": "10 ms (1 s if unset)", "buffer timeout": "1 ms"}
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_python_executable(sys.executable)
    environment.set_parallelism(assignment.parallelism)
    if assignment.is_latency:
        environment.set_buffer_timeout(1)
        _latency(environment, assignment)
    elif assignment.job == "words" or assignment.job in workload.COUNT_KEYS:
        _counts(environment, assignment)
    elif assignment.job in JOINS or assignment.job == RULES_JOB:
        pyflink_joins.build(environment, assignment)
    elif assignment.job in QUERIES:
        pyflink_nexmark.build(environment, assignment)
    elif assignment.job == workload.CHAIN_JOB:
        _chain(environment, assignment)
    elif assignment.job == workload.TIMER_JOB:
        _timers(environment, assignment)
    else:
        _windows(environment, assignment)
    environment.execute(assignment.job)
    versions = {"python": platform.python_version(), "apache-flink": version("apache-flink")}
    return Outcome(settings=settings, versions=versions)


def _counts(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    units = numbers(environment, assignment.units)
    if assignment.job == "words":
        kind = Types.STRING()
        keyed = units.flat_map(Words(assignment.ledger), output_type=kind)
    else:
        kind = Types.LONG()
        keyed = units.map(Keys(workload.COUNT_KEYS[assignment.job], assignment.ledger), output_type=kind)
    counts = keyed.key_by(lambda key: key, key_type=kind).process(
        Count(), output_type=Types.TUPLE([kind, Types.LONG()])
    )
    counts.flat_map(Sink(assignment.ledger, marks=False), output_type=Types.LONG()).print()


def _chain(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    kind = Types.TUPLE([Types.LONG(), Types.LONG()])
    results = (
        numbers(environment, assignment.records)
        .map(Generate(workload.reading, assignment.ledger), output_type=kind)
        .filter(workload.is_valid)
        .map(workload.converted, output_type=kind)
        .filter(workload.is_high)
        .map(workload.weighted, output_type=kind)
    )
    results.flat_map(Sink(assignment.ledger, marks=False), output_type=Types.LONG()).print()


def _timers(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    keyed = events(environment, assignment.records, event, assignment.ledger).key_by(
        lambda record: record[0], key_type=Types.LONG()
    )
    results = keyed.process(CountDown(), output_type=EVENT)
    results.flat_map(Sink(assignment.ledger, marks=True, every=1), output_type=Types.LONG()).print()


def _windows(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    assigner, function = {
        "tumbling": (TumblingEventTimeWindows.of(Time.milliseconds(workload.TUMBLING_MS)), Counting()),
        "sliding": (
            SlidingEventTimeWindows.of(Time.milliseconds(workload.SLIDING_MS), Time.milliseconds(workload.SLIDE_MS)),
            Summing(),
        ),
        "sessions": (EventTimeSessionWindows.with_gap(Time.milliseconds(workload.SESSION_GAP_MS)), Counting()),
    }[assignment.job]
    results = (
        events(environment, assignment.records, event, assignment.ledger)
        .key_by(lambda record: record[0], key_type=Types.LONG())
        .window(assigner)
        .aggregate(function, window_function=Named(), accumulator_type=Types.LONG(), output_type=EVENT)
    )
    results.flat_map(Sink(assignment.ledger, marks=True, every=1), output_type=Types.LONG()).print()


def _latency(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Reads from Flink's socket source: PyFlink has no sources written in Python."""
    feeder = Feeder(assignment)
    feeder.start()
    kind = Types.TUPLE([Types.LONG(), Types.LONG()])
    lines = DataStream(environment._j_stream_execution_environment.socketTextStream(feeder.host, feeder.port))
    stream = lines.map(Parse(), output_type=kind).set_parallelism(1)
    for exchange in range(workload.EXCHANGES[assignment.job]):
        keyed = stream.key_by(
            lambda record, wide=2**exchange: record[0] % workload.LATENCY_KEYS // wide, key_type=Types.LONG()
        )
        stream = keyed.process(CountAndForward(), output_type=kind)
    stream.flat_map(DelaySink(assignment.ledger), output_type=Types.LONG()).print()


if __name__ == "__main__":
    main(run)
