"""The jobs on penstock, on a local Spark with just enough slots."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from operator import itemgetter
from typing import Any

import penstock
from benchmarks import workload
from benchmarks.join_workload import JOINS, RULES_JOB
from benchmarks.ledger import Delays, stamp_entry
from benchmarks.nexmark import QUERIES
from benchmarks.pacing import Schedule
from benchmarks.program import Assignment, Outcome, main
from benchmarks.systems import penstock_batches, penstock_joins, penstock_nexmark
from benchmarks.systems.penstock_steps import Counting, Generate, Named, events, mark_of, numbers, tally
from penstock import (
    DataStream,
    EventTimeSessionWindows,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RichParallelSourceFunction,
    RuntimeContext,
    SinkFunction,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
    ValueStateDescriptor,
)
from penstock.foundation.native import native


class Keys(MapFunction):
    """Maps a number to its key."""

    def __init__(self, keys: int, ledger: str) -> None:
        self._keys, self._ledger, self._fresh = keys, ledger, True

    def map(self, value: int) -> int:
        if self._fresh:
            self._fresh = False
            stamp_entry(self._ledger)
        return value % self._keys


class Words(FlatMapFunction):
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


class Ticks(RichParallelSourceFunction):
    """Emits each record when it is due."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment, self._part, self._stopped = assignment, 0, False

    def open(self, runtime_context: RuntimeContext) -> None:
        self._part = runtime_context.get_index_of_this_subtask()

    def run(self, ctx: Any) -> None:
        asked = self._assignment
        schedule = Schedule(parallelism=asked.parallelism, settle=asked.settle, seconds=asked.seconds)
        for number, created in schedule:
            if self._stopped:
                return
            ctx.collect((number * asked.parallelism + self._part, created))

    def cancel(self) -> None:
        self._stopped = True


class Count(KeyedProcessFunction):
    """Emits the running count of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield value, count


class CountDown(KeyedProcessFunction):
    """Counts the records that wait, and lets a timer per record count them down and emit."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._waiting = runtime_context.get_state(ValueStateDescriptor("waiting", Types.LONG()))

    def process_element(self, value: workload.Event, ctx: Any) -> None:
        self._waiting.update((self._waiting.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value[1] + workload.TIMER_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[workload.Event]:
        self._waiting.update(self._waiting.value() - 1)
        yield ctx.get_current_key(), timestamp, 1


class CountAndForward(Count):
    """Counts per key and passes the record on."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class Summing(Counting):
    """Sums the values of a window."""

    def add(self, value: workload.Event, accumulator: int) -> int:
        return accumulator + value[2]


class DelaySink(SinkFunction):
    """Notes how old each record is."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def open(self, runtime_context: RuntimeContext) -> None:
        self._delays = Delays(self._ledger)

    def invoke(self, value: tuple[int, int], context: Any) -> None:
        self._delays.add(value[1])

    def close(self) -> None:
        self._delays.close()


def run(assignment: Assignment) -> Outcome:
    """Runs one job and leaves its stamps in the ledger."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(assignment.parallelism)
    if assignment.is_latency:
        _latency(environment, assignment)
    elif assignment.job == "words" or assignment.job in workload.COUNT_KEYS:
        _counts(environment, assignment)
    elif assignment.job in JOINS or assignment.job == RULES_JOB:
        penstock_joins.build(environment, assignment)
    elif assignment.job in QUERIES:
        penstock_nexmark.build(environment, assignment)
    elif assignment.job == workload.CHAIN_JOB:
        (penstock_batches.build if assignment.variant == "batches" else _chain)(environment, assignment)
    elif assignment.job == workload.TIMER_JOB:
        event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
        keyed = events(environment, assignment.records, event, assignment.ledger).key_by(lambda record: record[0])
        tally(keyed.process(CountDown()), assignment.ledger, mark_of)
    else:
        _windows(environment, assignment)
    environment.execute(assignment.job)
    versions = {
        "python": platform.python_version(),
        "penstock": penstock.__version__,
        "pyspark": version("pyspark"),
        "pyarrow": version("pyarrow"),
    }
    accelerator = "not in use" if native is None else "in use"
    return Outcome(settings={"settings": "none beside the parallelism", "accelerator": accelerator}, versions=versions)


def _counts(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    units = numbers(environment, assignment.units)
    keys: DataStream[Any]
    if assignment.job == "words":
        keys = units.flat_map(Words(assignment.ledger))
    else:
        keys = units.map(Keys(workload.COUNT_KEYS[assignment.job], assignment.ledger))
    tally(keys.key_by(lambda key: key).process(Count()), assignment.ledger, itemgetter(1))


def _chain(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    results = (
        numbers(environment, assignment.records)
        .map(Generate(workload.reading, assignment.ledger))
        .filter(workload.is_valid)
        .map(workload.converted)
        .filter(workload.is_high)
        .map(workload.weighted)
    )
    tally(results, assignment.ledger, itemgetter(1))


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
    keyed = events(environment, assignment.records, event, assignment.ledger).key_by(lambda record: record[0])
    tally(keyed.window(assigner).aggregate(function, window_function=Named()), assignment.ledger, mark_of)


def _latency(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    stream: DataStream[Any] = environment.add_source(Ticks(assignment), "ticks")
    for exchange in range(workload.EXCHANGES[assignment.job]):
        keyed = stream.key_by(lambda record, wide=2**exchange: record[0] % workload.LATENCY_KEYS // wide)
        stream = keyed.process(CountAndForward())
    stream.add_sink(DelaySink(assignment.ledger))


if __name__ == "__main__":
    main(run)
