"""The answers to the Nexmark questions, computed over all data at once, without any streaming."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks import nexmark
from benchmarks.nexmark import AUCTION, BID, DIGESTS, PERSON, Happening

Checks = dict[str, int]


def checks(job: str, records: int, parallelism: int) -> Checks:
    """Returns the number of results and their check sum; the sum only where windows depend on the clock."""
    events = map(nexmark.Auctions(records, parallelism), range(records))
    digests = [DIGESTS[job](result) for result in _ANSWERS[job](events)]
    return {"sum": sum(digests)} if job == nexmark.CLOCK_JOB else {"results": len(digests), "sum": sum(digests)}


def _bids(events: Iterable[Happening]) -> Iterator[Happening]:
    return (event for event in events if event[0] == BID)


def _suggestions(events: Iterable[Happening]) -> Iterator[tuple[Any, ...]]:
    everything = list(events)
    sellers = {event[2]: event for event in everything if event[0] == PERSON and event[5] in ("OR", "ID", "CA")}
    for event in everything:
        if event[0] == AUCTION and event[4] == 10 and event[3] in sellers:
            yield nexmark.suggestion(sellers[event[3]], event)


def _hottest(events: Iterable[Happening]) -> Iterator[tuple[int, int, int]]:
    counts: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for bid in _bids(events):
        pane = bid[1] - bid[1] % nexmark.HOT_SLIDE_MS
        for back in range(0, nexmark.HOT_MS, nexmark.HOT_SLIDE_MS):
            counts[pane - back][bid[2]] += 1
    for start, auctions in counts.items():
        most = max(auctions.values())
        yield most, -min(auction for auction, count in auctions.items() if count == most), start


def _highest(events: Iterable[Happening]) -> Iterator[tuple[int, int, int, int]]:
    windows: defaultdict[int, list[Happening]] = defaultdict(list)
    for bid in _bids(events):
        windows[bid[1] // nexmark.HIGHEST_MS].append(bid)
    for bids in windows.values():
        best = min(bids, key=lambda bid: (-bid[4], bid[2], bid[1], bid[3]))
        yield best[4], -best[2], -best[1], -best[3]


def _newcomers(events: Iterable[Happening]) -> Iterator[tuple[int, int, int]]:
    everything = [event for event in events if event[0] != BID]
    registered = {event[2]: event[1] // nexmark.NEWCOMER_MS for event in everything if event[0] == PERSON}
    for event in everything:
        if event[0] == AUCTION and registered.get(event[3]) == event[1] // nexmark.NEWCOMER_MS:
            yield event[3], event[1] - event[1] % nexmark.NEWCOMER_MS, event[2]


def _sessions(events: Iterable[Happening]) -> Iterator[tuple[int, int, int]]:
    times: defaultdict[int, list[int]] = defaultdict(list)
    for bid in _bids(events):
        times[bid[3]].append(bid[1])
    for bidder, stamps in times.items():
        stamps.sort()
        begun, count, previous = stamps[0], 0, stamps[0]
        for stamp in stamps:
            if stamp - previous > nexmark.SESSION_MS:
                yield bidder, begun, count
                begun, count = stamp, 0
            count, previous = count + 1, stamp
        yield bidder, begun, count


_ANSWERS: dict[str, Callable[[Iterable[Happening]], Iterable[tuple[Any, ...]]]] = {
    "q0": lambda events: map(nexmark.passed, _bids(events)),
    "q1": lambda events: map(nexmark.converted, _bids(events)),
    "q2": lambda events: (nexmark.selected(bid) for bid in _bids(events) if bid[2] % 123 == 0),
    "q3": _suggestions,
    "q5": _hottest,
    "q7": _highest,
    "q8": _newcomers,
    "q11": _sessions,
    "q12": lambda events: ((bid[3], 1) for bid in _bids(events)),
}
