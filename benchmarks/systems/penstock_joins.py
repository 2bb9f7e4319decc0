"""The jobs with two streams on penstock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import join_workload, workload
from benchmarks.program import Assignment
from benchmarks.systems.penstock_steps import Generate, events, mark_of, numbers, tally
from penstock import (
    DataStream,
    JoinFunction,
    KeyedBroadcastProcessFunction,
    MapStateDescriptor,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    Types,
)

RULES: MapStateDescriptor[int, int] = MapStateDescriptor("rules", Types.LONG(), Types.LONG())


class PairNearby(ProcessJoinFunction[workload.Event, workload.Event, workload.Event]):
    """Makes a result of a pair of the interval join."""

    def process_element(self, left: workload.Event, right: workload.Event, ctx: Any) -> Iterator[workload.Event]:
        yield join_workload.pair(left, right)


class PairInWindow(JoinFunction[workload.Event, workload.Event, workload.Event]):
    """Makes a result of a pair of the window join."""

    def join(self, first: workload.Event, second: workload.Event) -> workload.Event:
        return join_workload.pair(first, second)


class Enrich(
    join_workload.Enrichment, KeyedBroadcastProcessFunction[int, workload.Event, tuple[int, int], workload.Event]
):
    """The rules as broadcast state of Penstock."""

    rules = RULES


def build(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Adds the steps of a job with two streams."""
    if assignment.job == join_workload.RULES_JOB:
        results = _enriched(environment, assignment)
    else:
        left, right = (_side(environment, assignment, side) for side in (join_workload.LEFT, join_workload.RIGHT))
        join = interval_join if assignment.job == "interval-join" else _window_join
        results = join(left, right)
    tally(results, assignment.ledger, mark_of)


def interval_join(left: DataStream[workload.Event], right: DataStream[workload.Event]) -> DataStream[workload.Event]:
    """Pairs events of a key that are close in time."""
    bound = join_workload.INTERVAL_MS
    return (
        left.key_by(_key)
        .interval_join(right.key_by(_key))
        .between(Time.milliseconds(-bound), Time.milliseconds(bound))
        .process(PairNearby())
    )


def _window_join(left: DataStream[workload.Event], right: DataStream[workload.Event]) -> DataStream[workload.Event]:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(join_workload.JOIN_WINDOW_MS))
    return left.join(right).where(_key).equal_to(_key).window(windows).apply(PairInWindow())


def _enriched(environment: StreamExecutionEnvironment, assignment: Assignment) -> DataStream[workload.Event]:
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    stream = numbers(environment, assignment.records).map(Generate(event, assignment.ledger))
    rules = numbers(environment, join_workload.RULES).set_parallelism(1).map(join_workload.rule).set_parallelism(1)
    return stream.key_by(_key).connect(rules.broadcast(RULES)).process(Enrich())


def _side(environment: StreamExecutionEnvironment, assignment: Assignment, side: int) -> DataStream[workload.Event]:
    event = join_workload.JoinEvents(side, assignment.records, assignment.parallelism)
    return events(environment, join_workload.per_stream(assignment.records), event, assignment.ledger)


def _key(event: workload.Event) -> int:
    return event[0]
