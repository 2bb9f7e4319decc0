"""What the processes of the hand-written program do in the jobs with two streams.

The sources of the first stream come first among the channels of a task, then those of the second one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.join_workload import (
    INTERVAL_MS,
    JOIN_WINDOW_MS,
    LEFT,
    RIGHT,
    RULES,
    RULES_JOB,
    JoinEvents,
    enrich,
    pair,
    per_stream,
    rule,
)
from benchmarks.ledger import Tally
from benchmarks.systems.handwritten_tasks import Watermarks, event_source, send_events
from benchmarks.workload import Event, mark, ranges

_NEVER = -(2**63)
_CLEAN_EVERY_MS = 1_000
"""Event time between two cleanings of the interval join: they go through all keys, so they must be few."""


def layers(job: str, records: int, parallelism: int, batch: int, ledger: str) -> list[list[Callable[..., None]]]:
    """Returns what the processes run: the sources of both streams, then the tasks."""
    if job == RULES_JOB:
        source = partial(event_source, job, records, parallelism, batch, ledger)
        sources: list[Callable[..., None]] = [partial(source, part) for part in ranges(records, parallelism)]
        return [[*sources, partial(rule_source, parallelism)], [partial(rules_task, ledger, parallelism)] * parallelism]
    sides = [
        partial(join_source, side, records, parallelism, batch, ledger, part)
        for side in (LEFT, RIGHT)
        for part in ranges(per_stream(records), parallelism)
    ]
    task = interval_task if job == "interval-join" else window_task
    return [[*sides], [partial(task, ledger, parallelism)] * parallelism]


def join_source(side: int, records: int, targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Generates the events of one side of a join and sends each to its key's process, with watermarks."""
    send_events(JoinEvents(side, records, targets), targets, batch, ledger, part, outbox)


def rule_source(targets: int, outbox: Any) -> None:
    """Sends all rules to everyone."""
    for target in range(targets):
        outbox.send(target, [rule(number) for number in range(RULES)])


Buffer = dict[int, list[Event]]
"""The events of one side that may still find partners, by key, in the order of their arrival."""


def interval_task(ledger: str, sources: int, inbox: Any) -> None:
    """Pairs each event with the buffered ones of the other side and keeps it until its interval has passed."""
    sink = Tally(ledger)
    watermarks = Watermarks(2 * sources)
    lefts: Buffer = {}
    rights: Buffer = {}
    cleaned = _NEVER
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        results: list[Event] = []
        if channel < sources:
            _pair_lefts(batch, lefts, rights, passed, results.append)
        else:
            _pair_rights(batch, lefts, rights, passed, results.append)
        if results:
            sink.add_many([mark(*result) for result in results])
        if watermarks.advances(channel, watermark) and watermarks.current >= cleaned + _CLEAN_EVERY_MS:
            cleaned = watermarks.current
            for buffer in (lefts, rights):
                _forget(buffer, cleaned - INTERVAL_MS)
    sink.close()


def _pair_lefts(batch: list[Event], lefts: Buffer, rights: Buffer, passed: int, emit: Callable[[Event], None]) -> None:
    for left in batch:
        key, time, _ = left
        if time < passed:
            continue
        partners = rights.get(key)
        if partners is not None:
            low, high = time - INTERVAL_MS, time + INTERVAL_MS
            for right in partners:
                if low <= right[1] <= high:
                    emit(pair(left, right))
        known = lefts.get(key)
        if known is None:
            lefts[key] = [left]
        else:
            known.append(left)


def _pair_rights(batch: list[Event], lefts: Buffer, rights: Buffer, passed: int, emit: Callable[[Event], None]) -> None:
    for right in batch:
        key, time, _ = right
        if time < passed:
            continue
        partners = lefts.get(key)
        if partners is not None:
            low, high = time - INTERVAL_MS, time + INTERVAL_MS
            for left in partners:
                if low <= left[1] <= high:
                    emit(pair(left, right))
        known = rights.get(key)
        if known is None:
            rights[key] = [right]
        else:
            known.append(right)


def _forget(buffer: Buffer, limit: int) -> None:
    """Drops the events up to a time, and the keys that have none left."""
    for key in list(buffer):
        kept = [event for event in buffer[key] if event[1] > limit]
        if kept:
            buffer[key] = kept
        else:
            del buffer[key]


def window_task(ledger: str, sources: int, inbox: Any) -> None:
    """Collects both sides per window and key and pairs them when the watermark passes the window's end."""
    sink = Tally(ledger)
    watermarks = Watermarks(2 * sources)
    windows: dict[int, tuple[Buffer, Buffer]] = {}
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        side = LEFT if channel < sources else RIGHT
        for event in batch:
            key, time, _ = event
            start = time - time % JOIN_WINDOW_MS
            window = windows.get(start)
            if window is None:
                if start + JOIN_WINDOW_MS - 1 <= passed:
                    continue
                window = windows[start] = ({}, {})
            known = window[side].get(key)
            if known is None:
                window[side][key] = [event]
            else:
                known.append(event)
        if watermarks.advances(channel, watermark):
            ended = watermarks.current - JOIN_WINDOW_MS + 1
            for start in sorted(start for start in windows if start <= ended):
                results = _window_pairs(*windows.pop(start))
                sink.add_many([mark(*result) for result in results])
    sink.close()


def _window_pairs(lefts: Buffer, rights: Buffer) -> list[Event]:
    return [pair(left, right) for key, mine in lefts.items() for left in mine for right in rights.get(key, ())]


def rules_task(ledger: str, sources: int, inbox: Any) -> None:
    """Applies to each event the rule of its key; events wait until the rules are there."""
    sink = Tally(ledger)
    factors: dict[int, int] = {}
    waiting: list[Event] = []
    for channel, batch in inbox:
        if channel == sources:
            factors.update(batch)
            events, waiting = waiting, []
        else:
            events, _ = batch
        if factors:
            results = [enrich(event, factors[event[0]]) for event in events]
            sink.add_many([mark(*result) for result in results])
        else:
            waiting += events
    sink.close()
