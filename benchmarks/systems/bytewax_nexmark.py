"""The Nexmark jobs, the stateless chain and the timers on Bytewax."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.operators import StatefulLogic

from benchmarks import nexmark, workload
from benchmarks.nexmark import AUCTION, PERSON, Happening
from benchmarks.program import Assignment

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def chain(stream: Any) -> Any:
    """Adds the steps of the stateless chain."""
    readings = op.map("reading", stream, workload.reading)
    converted = op.map("converted", op.filter("valid", readings, workload.is_valid), workload.converted)
    return op.map("weighted", op.filter("high", converted, workload.is_high), workload.weighted)


class CountDown(StatefulLogic[Any, Any, Any]):
    """Counts the records of a key that wait, and lets a timer per record count them down and emit.

    Bytewax has timers of the clock only: those of event time are kept here, behind the key's newest event.
    """

    def __init__(self, wait: int) -> None:
        self._wait, self._waiting, self._newest = wait, 0, 0
        self._timers: set[int] = set()
        self._heap: list[int] = []

    def on_item(self, value: workload.Event) -> tuple[Iterable[int], bool]:
        key, at, _ = value
        self._key = key
        self._waiting += 1
        timer = at + workload.TIMER_MS
        if timer not in self._timers:
            self._timers.add(timer)
            heapq.heappush(self._heap, timer)
        self._newest = max(self._newest, at)
        return self._fire(self._newest - self._wait), StatefulLogic.RETAIN

    def on_eof(self) -> tuple[Iterable[int], bool]:
        return self._fire(2**63), StatefulLogic.DISCARD

    def _fire(self, up_to: int) -> list[int]:
        results = []
        while self._heap and self._heap[0] <= up_to:
            timer = heapq.heappop(self._heap)
            self._timers.remove(timer)
            self._waiting -= 1
            results.append(workload.mark(self._key, timer, 1))
        return results

    def snapshot(self) -> None:
        return None


def timers(assignment: Assignment, stream: Any, wait: timedelta) -> Any:
    """Adds the steps of the job with a timer per record."""
    event = workload.Events(assignment.job, assignment.records, assignment.parallelism)
    keyed = op.key_on("key", op.map("event", stream, event), lambda record: str(record[0]))
    millis = int(wait.total_seconds() * 1_000)
    return op.key_rm("results", op.stateful("timers", keyed, lambda _: CountDown(millis)))


def query(assignment: Assignment, stream: Any, wait: timedelta) -> Any:
    """Adds the steps of a Nexmark query and returns the stream of digests; of query 12 with the last record's time."""
    job = assignment.job
    events = op.map("event", stream, nexmark.Auctions(assignment.records, assignment.parallelism))
    digest = nexmark.DIGESTS[job]
    if job in nexmark.STATELESS:
        keep, make = _STATELESS[job]
        return op.map("digest", op.map("result", op.filter("keep", events, keep), make), digest)
    clock = win.EventClock(lambda record: EPOCH + timedelta(milliseconds=record[1]), wait)
    results = _QUERIES[job](events, clock, wait)
    if job == nexmark.CLOCK_JOB:
        return op.map("digest", results, lambda result: (digest(result), result[2]))
    return op.map("digest", results, digest)


def _suggested(events: Any, clock: Any, wait: timedelta) -> Any:
    def suggest(state: Any, event: Happening) -> tuple[Any, list[Any]]:
        person, waiting = state or (None, [])
        if event[0] == AUCTION:
            if person is None:
                return (None, [*waiting, event]), []
            return (person, waiting), [nexmark.suggestion(person, event)]
        return (event, []), [nexmark.suggestion(event, auction) for auction in waiting]

    keyed = op.key_on("key", op.filter("keep", events, nexmark.is_local_interest), _person_key)
    return op.key_rm("suggestions", op.stateful_flat_map("suggest", keyed, suggest))


def _hottest(events: Any, clock: Any, wait: timedelta) -> Any:
    bids = op.map("bid", op.filter("bids", events, nexmark.is_bid), nexmark.auction_event)
    keyed = op.key_on("key", bids, _first_as_text)
    size, slide = timedelta(milliseconds=nexmark.HOT_MS), timedelta(milliseconds=nexmark.HOT_SLIDE_MS)
    windower = win.SlidingWindower(length=size, offset=slide, align_to=EPOCH)
    counts = win.fold_window("count", keyed, clock, windower, lambda: 0, _add_one, _plus).down

    def hot(item: tuple[str, tuple[int, int]]) -> tuple[int, int, int]:
        auction, (window, count) = item
        return nexmark.hot(int(auction), window * nexmark.HOT_SLIDE_MS, count)

    # One tumbling window of the slide's length per sliding window: results carry the start of theirs.
    return _best(op.map("hot", counts, hot), lambda result: result[2], nexmark.HOT_SLIDE_MS, wait)


def _highest(events: Any, clock: Any, wait: timedelta) -> Any:
    offers = op.map("offer", op.filter("bids", events, nexmark.is_bid), nexmark.offer)
    keyed = op.key_on("key", offers, lambda offer: str(offer[1]))
    by_bid = win.EventClock(lambda offer: EPOCH - timedelta(milliseconds=offer[2]), wait)
    windower = win.TumblingWindower(length=timedelta(milliseconds=nexmark.HIGHEST_MS), align_to=EPOCH)
    best = win.reduce_window("best", keyed, by_bid, windower, max).down
    return _best(op.map("unkeyed", best, lambda item: item[1][1]), lambda offer: -offer[2], nexmark.HIGHEST_MS, wait)


def _best(results: Any, start: Any, size: int, wait: timedelta) -> Any:
    """Takes the maximum over all keys in tumbling windows; results of one key may trail far behind another's."""
    keyed = op.key_on("all", results, lambda _: "all")
    clock = win.EventClock(lambda result: EPOCH + timedelta(milliseconds=start(result)), 4 * wait)
    windower = win.TumblingWindower(length=timedelta(milliseconds=size), align_to=EPOCH)
    best = win.reduce_window("best of all", keyed, clock, windower, max).down
    return op.map("result", best, lambda item: item[1][1])


def _newcomers(events: Any, clock: Any, wait: timedelta) -> Any:
    keyed = op.key_on("key", op.filter("keep", events, nexmark.is_newcomer), _person_key)
    windower = win.TumblingWindower(length=timedelta(milliseconds=nexmark.NEWCOMER_MS), align_to=EPOCH)
    collected = win.collect_window("window", keyed, clock, windower).down

    def pairs(item: tuple[str, tuple[int, list[Happening]]]) -> Iterable[tuple[int, int, int]]:
        _, (window, found) = item
        if any(event[0] == PERSON for event in found):
            for event in found:
                if event[0] == AUCTION:
                    yield event[3], window * nexmark.NEWCOMER_MS, event[2]

    return op.flat_map("pairs", collected, pairs)


def _sessions(events: Any, clock: Any, wait: timedelta) -> Any:
    bids = op.map("bid", op.filter("bids", events, nexmark.is_bid), nexmark.bidder_event)
    keyed = op.key_on("key", bids, _first_as_text)
    windower = win.SessionWindower(gap=timedelta(milliseconds=nexmark.SESSION_MS))

    def fold(state: tuple[int, int] | None, record: workload.Event) -> tuple[int, int]:
        return (record[1], 1) if state is None else (min(state[0], record[1]), state[1] + 1)

    def merge(one: Any, other: Any) -> Any:
        return (one or other) if one is None or other is None else (min(one[0], other[0]), one[1] + other[1])

    sessions = win.fold_window("sessions", keyed, clock, windower, lambda: None, fold, merge).down
    return op.map("result", sessions, lambda item: (int(item[0]), *item[1][1]))


def _clocked(events: Any, clock: Any, wait: timedelta) -> Any:
    bids = op.map("bid", op.filter("bids", events, nexmark.is_bid), nexmark.bidder_event)
    keyed = op.key_on("key", bids, _first_as_text)
    windower = win.TumblingWindower(length=timedelta(milliseconds=nexmark.PROCESSING_MS), align_to=EPOCH)

    def fold(state: tuple[int, int], record: Any) -> tuple[int, int]:
        return state[0] + 1, time.monotonic_ns()

    def merge(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
        return one[0] + other[0], max(one[1], other[1])

    counts = win.fold_window("count", keyed, win.SystemClock(), windower, lambda: (0, 0), fold, merge).down
    return op.map("result", counts, lambda item: (int(item[0]), *item[1][1]))


def _first_as_text(record: tuple[int, ...]) -> str:
    return str(record[0])


def _person_key(event: Happening) -> str:
    return str(nexmark.person_key(event))


def _add_one(count: int, _: Any) -> int:
    return count + 1


def _plus(one: int, other: int) -> int:
    return one + other


_STATELESS = {
    "q0": (nexmark.is_bid, nexmark.passed),
    "q1": (nexmark.is_bid, nexmark.converted),
    "q2": (nexmark.is_selected, nexmark.selected),
}

_QUERIES = {
    "q3": _suggested,
    "q5": _hottest,
    "q7": _highest,
    "q8": _newcomers,
    "q11": _sessions,
    "q12": _clocked,
}
