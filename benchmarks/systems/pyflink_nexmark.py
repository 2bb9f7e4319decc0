"""The Nexmark jobs on PyFlink's DataStream API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.time import Time
from pyflink.datastream import (
    AggregateFunction,
    DataStream,
    FlatMapFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)

from benchmarks import nexmark
from benchmarks.feeder import NumberFeeder
from benchmarks.ledger import Tally
from benchmarks.nexmark import AUCTION, PERSON
from benchmarks.program import Assignment
from benchmarks.systems.pyflink_steps import EVENT, Counting, EventTime, Generate, Named, numbers

ANYTHING = Types.PICKLED_BYTE_ARRAY()
LONG = Types.LONG()
OFFER = Types.TUPLE([LONG, LONG, LONG, LONG])


class DigestSink(FlatMapFunction):  # type: ignore[misc]
    """Counts the results and adds up their digests."""

    def __init__(self, assignment: Assignment) -> None:
        self._job, self._ledger = assignment.job, assignment.ledger

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger, every=256 if self._job in nexmark.STATELESS else 1)
        self._digest = nexmark.DIGESTS[self._job]

    def flat_map(self, value: Any) -> Iterator[int]:
        if self._job == nexmark.CLOCK_JOB:
            self._tally.add_at(self._digest(value), value[2])
        else:
            self._tally.add(self._digest(value))
        return iter(())

    def close(self) -> None:
        self._tally.close()


class Suggest(nexmark.Suggestions, KeyedProcessFunction):  # type: ignore[misc]
    """Query 3, with the state of this system."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._person = runtime_context.get_state(ValueStateDescriptor("person", ANYTHING))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", ANYTHING))


class Hot(ProcessWindowFunction):  # type: ignore[misc]
    """Query 5: adds the auction and the window to a count, in the order of which the hottest is the maximum."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int, int]]:
        yield nexmark.hot(key, context.window().start, next(iter(elements)))


class Newcomers(ProcessWindowFunction):  # type: ignore[misc]
    """Query 8: pairs the person of a window with the auctions of that window; PyFlink's streams have no join."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int, int]]:
        found = list(elements)
        if any(event[0] == PERSON for event in found):
            start = context.window().start
            yield from ((key, start, event[2]) for event in found if event[0] == AUCTION)


class CountAndLast(AggregateFunction):  # type: ignore[misc]
    """Query 12: counts, and notes when the last record came."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, time.monotonic_ns()

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], max(a[1], b[1])


class WithBidder(ProcessWindowFunction):  # type: ignore[misc]
    """Query 12: adds the bidder to a count."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int, int]]:
        count, last = next(iter(elements))
        yield key, count, last


def build(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Adds the steps of a query."""
    job = assignment.job
    event = Generate(nexmark.Auctions(assignment.records, assignment.parallelism), assignment.ledger)
    if job == nexmark.CLOCK_JOB:
        results = _clocked(_fed(environment, assignment).map(event, output_type=ANYTHING))
    else:
        events = numbers(environment, assignment.records).map(event, output_type=ANYTHING)
        if job not in nexmark.STATELESS:
            strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(200))
            events = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))
        results = _QUERIES[job](events)
    results.flat_map(DigestSink(assignment), output_type=LONG).print()


def _fed(environment: StreamExecutionEnvironment, assignment: Assignment) -> DataStream:
    """Returns numbers from a socket that stays open until the last windows of the clock have ended."""
    # All numbers are in the buffers of the connection at once; working them off may take as many windows as this.
    feeder = NumberFeeder(assignment.records, 30 * nexmark.PROCESSING_MS / 1_000)
    feeder.start()
    lines = DataStream(environment._j_stream_execution_environment.socketTextStream(feeder.host, feeder.port))
    return lines.map(int, output_type=LONG).set_parallelism(1).rebalance()


def _suggested(events: DataStream) -> DataStream:
    keyed = events.filter(nexmark.is_local_interest).key_by(nexmark.person_key, key_type=LONG)
    return keyed.process(Suggest(), output_type=ANYTHING)


def _hottest(events: DataStream) -> DataStream:
    windows = SlidingEventTimeWindows.of(Time.milliseconds(nexmark.HOT_MS), Time.milliseconds(nexmark.HOT_SLIDE_MS))
    counts = (
        events.filter(nexmark.is_bid)
        .map(nexmark.auction_event, output_type=EVENT)
        .key_by(_first, key_type=LONG)
        .window(windows)
        .aggregate(Counting(), window_function=Hot(), accumulator_type=Types.LONG(), output_type=EVENT)
    )
    return _best(counts, nexmark.HOT_SLIDE_MS, EVENT)


def _highest(events: DataStream) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(nexmark.HIGHEST_MS))
    bids = events.filter(nexmark.is_bid).map(nexmark.offer, output_type=OFFER)
    best = bids.key_by(lambda offer: offer[1], key_type=LONG).window(windows).reduce(_greater, output_type=OFFER)
    return _best(best, nexmark.HIGHEST_MS, OFFER)


def _best(results: DataStream, size: int, kind: Any) -> DataStream:
    """Takes the maximum per window over everything."""
    windows = TumblingEventTimeWindows.of(Time.milliseconds(size))
    return results.key_by(lambda _: 0, key_type=LONG).window(windows).reduce(_greater, output_type=kind)


def _newcomers(events: DataStream) -> DataStream:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(nexmark.NEWCOMER_MS))
    keyed = events.filter(nexmark.is_newcomer).key_by(nexmark.person_key, key_type=LONG)
    return keyed.window(windows).process(Newcomers(), output_type=EVENT)


def _sessions(events: DataStream) -> DataStream:
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(nexmark.SESSION_MS))
    bids = events.filter(nexmark.is_bid).map(nexmark.bidder_event, output_type=EVENT).key_by(_first, key_type=LONG)
    return bids.window(windows).aggregate(
        Counting(), window_function=Named(), accumulator_type=Types.LONG(), output_type=EVENT
    )


def _clocked(events: DataStream) -> DataStream:
    windows = TumblingProcessingTimeWindows.of(Time.milliseconds(nexmark.PROCESSING_MS))
    bids = events.filter(nexmark.is_bid).map(nexmark.bidder_event, output_type=EVENT).key_by(_first, key_type=LONG)
    return bids.window(windows).aggregate(
        CountAndLast(), window_function=WithBidder(), accumulator_type=Types.PICKLED_BYTE_ARRAY(), output_type=EVENT
    )


def _first(record: tuple[int, ...]) -> int:
    return record[0]


def _greater(one: Any, other: Any) -> Any:
    return max(one, other)


_QUERIES = {
    "q0": lambda events: events.filter(nexmark.is_bid).map(nexmark.passed, output_type=ANYTHING),
    "q1": lambda events: events.filter(nexmark.is_bid).map(nexmark.converted, output_type=ANYTHING),
    "q2": lambda events: events.filter(nexmark.is_selected).map(nexmark.selected, output_type=ANYTHING),
    "q3": _suggested,
    "q5": _hottest,
    "q7": _highest,
    "q8": _newcomers,
    "q11": _sessions,
}
