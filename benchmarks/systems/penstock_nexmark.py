"""The Nexmark jobs on penstock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from benchmarks import nexmark
from benchmarks.ledger import Tally
from benchmarks.nexmark import AUCTION, BID, PERSON, Happening
from benchmarks.program import Assignment
from benchmarks.systems.penstock_steps import Counting, EventTime, Generate, Named, numbers, tally
from penstock import (
    AggregateFunction,
    DataStream,
    Duration,
    EventTimeSessionWindows,
    JoinFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    NumberSequenceSource,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    SlidingEventTimeWindows,
    SourceSplit,
    SplitReader,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)


class ClockSink(SinkFunction):
    """Takes the time of the last record from the result: windows of the clock end later than their records."""

    def __init__(self, ledger: str) -> None:
        self._ledger = ledger

    def open(self, runtime_context: RuntimeContext) -> None:
        self._tally = Tally(self._ledger, every=1)
        self._digest = nexmark.DIGESTS[nexmark.CLOCK_JOB]

    def invoke(self, value: Any, context: Any) -> None:
        self._tally.add_at(self._digest(value), value[2])

    def close(self) -> None:
        self._tally.close()


class Suggest(nexmark.Suggestions, KeyedProcessFunction):
    """Query 3, with the state of this system."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._person = runtime_context.get_state(ValueStateDescriptor("person", Types.PICKLED_BYTE_ARRAY()))
        self._waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))


class Hot(ProcessWindowFunction):
    """Query 5: adds the auction and the window to a count, in the order of which the hottest is the maximum."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int, int]]:
        yield nexmark.hot(key, context.window().start, next(iter(elements)))


class Newcomer(JoinFunction[Happening, Happening, tuple[int, int, int]]):
    """Query 8: a person and an auction of the same window."""

    def join(self, first: Happening, second: Happening) -> tuple[int, int, int]:
        return first[2], second[1] - second[1] % nexmark.NEWCOMER_MS, second[2]


class CountAndLast(AggregateFunction):
    """Query 12: counts, and notes when the last record came."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, time.monotonic_ns()

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], max(acc_a[1], acc_b[1])


class WithBidder(ProcessWindowFunction):
    """Query 12: adds the bidder to a count."""

    def process(self, key: int, context: Any, elements: Any) -> Iterator[tuple[int, int, int]]:
        count, last = next(iter(elements))
        yield key, count, last


class LingeringNumbers(NumberSequenceSource):
    """Numbers whose end comes two windows later, so that the last windows of the clock end before the job does."""

    def open_split(self, split: SourceSplit, position: Any, context: Any) -> SplitReader[int]:
        return LingeringReader(super().open_split(split, position, context))


class LingeringReader(SplitReader[int]):
    """Says for a while that nothing is there before it says that nothing will come."""

    wait_millis = 50

    def __init__(self, reader: SplitReader[int]) -> None:
        self._reader, self._ends = reader, 0

    def read(self, limit: int) -> tuple[list[int], list[int] | None] | None:
        found = self._reader.read(limit)
        if found is not None:
            return found
        now = time.monotonic_ns()
        self._ends = self._ends or now + 2 * nexmark.PROCESSING_MS * 1_000_000
        return ([], None) if now < self._ends else None

    def position(self) -> Any:
        return self._reader.position()


def build(environment: StreamExecutionEnvironment, assignment: Assignment) -> None:
    """Adds the steps of a query."""
    job = assignment.job
    event = Generate(nexmark.Auctions(assignment.records, assignment.parallelism), assignment.ledger)
    if job == nexmark.CLOCK_JOB:
        source = LingeringNumbers(0, assignment.records - 1)
        events = environment.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(event)
        _clocked(events).add_sink(ClockSink(assignment.ledger))
        return
    events = numbers(environment, assignment.records).map(event)
    if job not in nexmark.STATELESS:
        # Events are in order; the bound is that of the other jobs.
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(200))
        events = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(EventTime()))
    tally(_QUERIES[job](events), assignment.ledger, nexmark.DIGESTS[job])


def _suggested(events: DataStream[Happening]) -> DataStream[Any]:
    return events.filter(nexmark.is_local_interest).key_by(nexmark.person_key).process(Suggest())


def _hottest(events: DataStream[Happening]) -> DataStream[Any]:
    windows = SlidingEventTimeWindows.of(Time.milliseconds(nexmark.HOT_MS), Time.milliseconds(nexmark.HOT_SLIDE_MS))
    counts = (
        events.filter(nexmark.is_bid)
        .map(nexmark.auction_event)
        .key_by(_first)
        .window(windows)
        .aggregate(Counting(), window_function=Hot())
    )
    return counts.window_all(TumblingEventTimeWindows.of(Time.milliseconds(nexmark.HOT_SLIDE_MS))).reduce(max)


def _highest(events: DataStream[Happening]) -> DataStream[Any]:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(nexmark.HIGHEST_MS))
    bids = events.filter(nexmark.is_bid).map(nexmark.offer)
    return bids.key_by(lambda offer: offer[1]).window(windows).reduce(max).window_all(windows).reduce(max)


def _newcomers(events: DataStream[Happening]) -> DataStream[Any]:
    persons = events.filter(lambda event: event[0] == PERSON)
    auctions = events.filter(lambda event: event[0] == AUCTION)
    windows = TumblingEventTimeWindows.of(Time.milliseconds(nexmark.NEWCOMER_MS))
    joined = persons.join(auctions).where(lambda person: person[2]).equal_to(lambda auction: auction[3])
    return joined.window(windows).apply(Newcomer())


def _sessions(events: DataStream[Happening]) -> DataStream[Any]:
    windows = EventTimeSessionWindows.with_gap(Time.milliseconds(nexmark.SESSION_MS))
    bids = events.filter(nexmark.is_bid).map(nexmark.bidder_event).key_by(_first)
    return bids.window(windows).aggregate(Counting(), window_function=Named())


def _clocked(events: DataStream[Happening]) -> DataStream[Any]:
    windows = TumblingProcessingTimeWindows.of(Time.milliseconds(nexmark.PROCESSING_MS))
    bids = events.filter(lambda event: event[0] == BID).map(nexmark.bidder_event).key_by(_first)
    return bids.window(windows).aggregate(CountAndLast(), window_function=WithBidder())


def _first(record: tuple[int, ...]) -> int:
    return record[0]


_QUERIES = {
    "q0": lambda events: events.filter(nexmark.is_bid).map(nexmark.passed),
    "q1": lambda events: events.filter(nexmark.is_bid).map(nexmark.converted),
    "q2": lambda events: events.filter(nexmark.is_selected).map(nexmark.selected),
    "q3": _suggested,
    "q5": _hottest,
    "q7": _highest,
    "q8": _newcomers,
    "q11": _sessions,
}
