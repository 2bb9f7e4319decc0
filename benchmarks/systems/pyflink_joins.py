"""The jobs with two streams on PyFlink, as far as it has them.

PyFlink's streams have no join. The interval join is what its documentation leaves to the user: connected streams, map
state by timestamp on each side, and a timer that cleans up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor

from benchmarks import join_workload, workload
from benchmarks.program import Assignment
from benchmarks.systems.pyflink_steps import EVENT, Generate, Sink, events, numbers

RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class PairNearby(KeyedCoProcessFunction):  # type: ignore[misc]
    """Pairs events of a key that are close in time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._lefts, self._rights = (
            runtime_context.get_map_state(MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY()))
            for name in ("lefts", "rights")
        )

    def process_element1(self, value: workload.Event, ctx: Any) -> Iterator[workload.Event]:
        if self._is_kept(value, self._lefts, ctx):
            for right in self._near(value, self._rights):
                yield join_workload.pair(value, right)

    def process_element2(self, value: workload.Event, ctx: Any) -> Iterator[workload.Event]:
        if self._is_kept(value, self._rights, ctx):
            for left in self._near(value, self._lefts):
                yield join_workload.pair(left, value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[workload.Event]:
        over = timestamp - join_workload.INTERVAL_MS
        self._lefts.remove(over)
        self._rights.remove(over)
        return iter(())

    @staticmethod
    def _is_kept(event: workload.Event, own: Any, ctx: Any) -> bool:
        time = event[1]
        if time < ctx.timer_service().current_watermark():
            return False
        own.put(time, [*(own.get(time) or ()), event])
        ctx.timer_service().register_event_time_timer(time + join_workload.INTERVAL_MS)
        return True

    @staticmethod
    def _near(event: workload.Event, other: Any) -> Iterator[workload.Event]:
        for time, partners in other.items():
            if abs(time - event[1]) <= join_workload.INTERVAL_MS:
                yield from partners


class Enrich(join_workload.Enrichment, KeyedBroadcastProcessFunction):  # type: ignore[misc]
    """The rules as broadcast state of PyFlink."""

    rules = RULES


def build(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Adds the steps of a job with two streams."""
    make = _enriched if assignment.job == join_workload.RULES_JOB else _interval_join
    sink = Sink(assignment.ledger, marks=True)
    make(environment, assignment).flat_map(sink, output_type=Types.LONG()).print()


def _interval_join(environment: StreamExecutionEnvironment, assignment: Assignment) -> DataStream:
    count = join_workload.per_stream(assignment.records)
    left, right = (
        events(
            environment,
            count,
            join_workload.JoinEvents(side, assignment.records, assignment.parallelism),
            assignment.ledger,
        ).key_by(lambda event: event[0], key_type=Types.LONG())
        for side in (join_workload.LEFT, join_workload.RIGHT)
    )
    return left.connect(right).process(PairNearby(), output_type=EVENT)


def _enriched(environment: StreamExecutionEnvironment, assignment: Assignment) -> DataStream:
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    stream = (
        numbers(environment, assignment.records)
        .map(Generate(event, assignment.ledger), output_type=EVENT)
        .key_by(lambda event: event[0], key_type=Types.LONG())
    )
    rules = numbers(environment, join_workload.RULES).set_parallelism(1)
    rules = rules.map(join_workload.rule, output_type=Types.TUPLE([Types.LONG(), Types.LONG()])).set_parallelism(1)
    return stream.connect(rules.broadcast(RULES)).process(Enrich(), output_type=EVENT)
