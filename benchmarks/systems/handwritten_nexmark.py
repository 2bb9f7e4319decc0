"""What the processes of the hand-written program do in the Nexmark jobs."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import nexmark
from benchmarks.ledger import Tally, stamp_entry
from benchmarks.nexmark import AUCTION, BID, DIGESTS, PERSON, Auctions, is_local_interest
from benchmarks.systems.handwritten_tasks import Watermarks, session_task
from benchmarks.workload import OUT_OF_ORDER_MS, ranges

_FOR_EVER = 2**63 - 1
_NONE = (0, 0)

Fill = Callable[[range, list[Any]], int]
"""Makes the events of some numbers, puts what is asked for into the buffers and returns the newest time."""


def layers(job: str, records: int, parallelism: int, batch: int, ledger: str) -> list[list[Callable[..., None]]]:
    """Returns what the processes run."""
    parts = ranges(records, parallelism)
    event = Auctions(records, parallelism)
    if job in nexmark.STATELESS:
        return [[partial(_STATELESS[job], event, batch, ledger, part) for part in parts]]
    sources: list[Callable[..., None]] = [
        partial(source, _FILLS[job](event, parallelism), parallelism, batch, ledger, part) for part in parts
    ]
    if job in ("q5", "q7"):
        windows = partial(hot_task if job == "q5" else highest_task, parallelism)
        return [sources, [windows] * parallelism, [partial(best_task, job, ledger, parallelism)]]
    if job == "q11":
        task: Callable[..., None] = partial(session_task, ledger, parallelism, gap=nexmark.SESSION_MS)
    elif job == "q8":
        task = partial(newcomer_task, ledger, parallelism)
    else:
        task = partial(suggestion_task if job == "q3" else clock_task, ledger)
    return [sources, [task] * parallelism]


def pass_task(event: Auctions, batch: int, ledger: str, part: range) -> None:
    """Query 0."""
    sink, digest = Tally(ledger), DIGESTS["q0"]
    stamp_entry(ledger)
    for low in range(part.start, part.stop, batch):
        results = []
        for number in range(low, min(low + batch, part.stop)):
            bid = event(number)
            if bid[0] == BID:
                results.append((bid[2], bid[3], bid[4], bid[1], bid[6]))
        sink.add_many([digest(result) for result in results])
    sink.close()


def convert_task(event: Auctions, batch: int, ledger: str, part: range) -> None:
    """Query 1."""
    sink, digest = Tally(ledger), DIGESTS["q1"]
    stamp_entry(ledger)
    for low in range(part.start, part.stop, batch):
        results = []
        for number in range(low, min(low + batch, part.stop)):
            bid = event(number)
            if bid[0] == BID:
                results.append((bid[2], bid[3], bid[4] * 908 // 1_000, bid[1], bid[6]))
        sink.add_many([digest(result) for result in results])
    sink.close()


def select_task(event: Auctions, batch: int, ledger: str, part: range) -> None:
    """Query 2."""
    sink, digest = Tally(ledger), DIGESTS["q2"]
    stamp_entry(ledger)
    for low in range(part.start, part.stop, batch):
        results = []
        for number in range(low, min(low + batch, part.stop)):
            bid = event(number)
            if bid[0] == BID and bid[2] % 123 == 0:
                results.append((bid[2], bid[4]))
        sink.add_many([digest(result) for result in results])
    sink.close()


_STATELESS = {"q0": pass_task, "q1": convert_task, "q2": select_task}


def source(fill: Fill, targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Makes events and sends what a query asks for to the key's process; every batch ends with a watermark."""
    stamp_entry(ledger)
    step = batch * targets
    for low in range(part.start, part.stop, step):
        buffers: list[list[Any]] = [[] for _ in range(targets)]
        newest = fill(range(low, min(low + step, part.stop)), [buffer.append for buffer in buffers])
        for target, buffer in enumerate(buffers):
            outbox.send(target, (buffer, newest - OUT_OF_ORDER_MS - 1))
    for target in range(targets):
        outbox.send(target, ([], _FOR_EVER))


def _bids_by(place: int, event: Auctions, targets: int) -> Fill:
    def fill(numbers: range, adders: list[Any]) -> int:
        for number in numbers:
            happening = event(number)
            if happening[0] == BID:
                key = happening[place]
                adders[key % targets]((key, happening[1], happening[4]))
        return int(happening[1])

    return fill


def _offers(event: Auctions, targets: int) -> Fill:
    def fill(numbers: range, adders: list[Any]) -> int:
        for number in numbers:
            bid = event(number)
            if bid[0] == BID:
                adders[bid[2] % targets]((bid[4], -bid[2], -bid[1], -bid[3]))
        return int(bid[1])

    return fill


def _people(event: Auctions, targets: int, *, local: bool) -> Fill:
    def fill(numbers: range, adders: list[Any]) -> int:
        for number in numbers:
            happening = event(number)
            if happening[0] != BID and (not local or is_local_interest(happening)):
                key = happening[2] if happening[0] == PERSON else happening[3]
                adders[key % targets](happening)
        return int(happening[1])

    return fill


_FILLS: dict[str, Callable[[Auctions, int], Fill]] = {
    "q3": partial(_people, local=True),
    "q5": partial(_bids_by, 2),
    "q7": _offers,
    "q8": partial(_people, local=False),
    "q11": partial(_bids_by, 3),
    "q12": partial(_bids_by, 3),
}


def suggestion_task(ledger: str, inbox: Any) -> None:
    """Query 3: keeps persons for ever, and auctions until their seller is known."""
    sink, digest = Tally(ledger, every=1), DIGESTS["q3"]
    persons: dict[int, Any] = {}
    waiting: dict[int, list[Any]] = {}
    for _, (batch, _) in inbox:
        results = []
        for event in batch:
            if event[0] == AUCTION:
                person = persons.get(event[3])
                if person is None:
                    waiting.setdefault(event[3], []).append(event)
                else:
                    results.append((person[3], person[4], person[5], event[2]))
            else:
                persons[event[2]] = event
                results += [(event[3], event[4], event[5], auction[2]) for auction in waiting.pop(event[2], ())]
        if results:
            sink.add_many([digest(result) for result in results])
    sink.close()


def hot_task(channels: int, inbox: Any, outbox: Any) -> None:
    """Query 5, first half: counts the bids of each auction in every window that covers them."""
    watermarks = Watermarks(channels)
    windows: dict[int, dict[int, int]] = {}
    size, slide = nexmark.HOT_MS, nexmark.HOT_SLIDE_MS
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        for auction, at, _ in batch:
            for start in range(at - at % slide, at - size, -slide):
                if start + size - 1 <= passed:
                    continue
                window = windows.get(start)
                if window is None:
                    window = windows[start] = {}
                window[auction] = window.get(auction, 0) + 1
        if watermarks.advances(channel, watermark):
            ended = sorted(start for start in windows if start + size - 1 <= watermarks.current)
            counts = [
                (start, (count, -auction, start)) for start in ended for auction, count in windows.pop(start).items()
            ]
            outbox.send(0, (counts, watermarks.current))


def highest_task(channels: int, inbox: Any, outbox: Any) -> None:
    """Query 7, first half: the highest bid of each auction and window."""
    watermarks = Watermarks(channels)
    windows: dict[int, dict[int, Any]] = {}
    size = nexmark.HIGHEST_MS
    for channel, (batch, watermark) in inbox:
        for offer in batch:
            start = -offer[2] - -offer[2] % size
            window = windows.get(start)
            if window is None:
                window = windows[start] = {}
            known = window.get(offer[1])
            if known is None or offer > known:
                window[offer[1]] = offer
        if watermarks.advances(channel, watermark):
            ended = sorted(start for start in windows if start + size - 1 <= watermarks.current)
            outbox.send(
                0, ([(start, best) for start in ended for best in windows.pop(start).values()], watermarks.current)
            )


def best_task(job: str, ledger: str, channels: int, inbox: Any) -> None:
    """The second half of queries 5 and 7: the maximum of each window."""
    sink, digest = Tally(ledger, every=1), DIGESTS[job]
    watermarks = Watermarks(channels)
    windows: dict[int, Any] = {}
    size = nexmark.HOT_MS if job == "q5" else nexmark.HIGHEST_MS
    for channel, (batch, watermark) in inbox:
        for start, result in batch:
            known = windows.get(start)
            if known is None or result > known:
                windows[start] = result
        if watermarks.advances(channel, watermark):
            ended = sorted(start for start in windows if start + size - 1 <= watermarks.current)
            if ended:
                sink.add_many([digest(windows.pop(start)) for start in ended])
    sink.close()


def newcomer_task(ledger: str, channels: int, inbox: Any) -> None:
    """Query 8: pairs persons and the auctions they opened in the window in which they registered."""
    sink, digest = Tally(ledger, every=1), DIGESTS["q8"]
    watermarks = Watermarks(channels)
    windows: dict[int, tuple[set[int], list[Any]]] = {}
    size = nexmark.NEWCOMER_MS
    for channel, (batch, watermark) in inbox:
        for event in batch:
            start = event[1] - event[1] % size
            window = windows.get(start)
            if window is None:
                window = windows[start] = (set(), [])
            if event[0] == PERSON:
                window[0].add(event[2])
            else:
                window[1].append(event)
        if watermarks.advances(channel, watermark):
            results = []
            for start in sorted(start for start in windows if start + size - 1 <= watermarks.current):
                persons, auctions = windows.pop(start)
                results += [(auction[3], start, auction[2]) for auction in auctions if auction[3] in persons]
            if results:
                sink.add_many([digest(result) for result in results])
    sink.close()


def clock_task(ledger: str, inbox: Any) -> None:
    """Query 12: counts bids per bidder and window of the clock, and notes when the last one came."""
    sink, digest = Tally(ledger, every=1), DIGESTS["q12"]
    now = time.monotonic_ns
    window = 0
    counts: dict[int, tuple[int, int]] = {}
    for _, (batch, _) in inbox:
        current = now() // (nexmark.PROCESSING_MS * 1_000_000)
        if current != window:
            _emit_counts(counts, sink, digest)
            window, counts = current, {}
        for bidder, _, _ in batch:
            counts[bidder] = (counts.get(bidder, _NONE)[0] + 1, now())
    _emit_counts(counts, sink, digest)
    sink.close()


def _emit_counts(counts: dict[int, tuple[int, int]], sink: Tally, digest: Any) -> None:
    for bidder, (count, last) in counts.items():
        sink.add_at(digest((bidder, count, last)), last)
