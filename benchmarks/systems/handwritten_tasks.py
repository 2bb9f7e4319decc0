"""What the processes of the hand-written program do, one function per kind of process."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from benchmarks.ledger import Delays, Tally, stamp_entry
from benchmarks.pacing import Schedule
from benchmarks.program import Assignment
from benchmarks.workload import (
    LATENCY_KEYS,
    OUT_OF_ORDER_MS,
    SESSION_GAP_MS,
    SLIDE_MS,
    SLIDING_MS,
    TIMER_MS,
    TUMBLING_MS,
    Event,
    Events,
    converted,
    is_high,
    is_valid,
    mark,
    ranges,
    reading,
    text,
    weighted,
)

__all__ = ["ranges"]

_NEVER = -(2**63)
_FOR_EVER = 2**63 - 1
_second = itemgetter(1)


def number_source(keys: int, targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Maps each number to its key and sends it to the key's process."""
    stamp_entry(ledger)
    step = batch * targets
    for low in range(part.start, part.stop, step):
        buffers: list[list[int]] = [[] for _ in range(targets)]
        adders = [buffer.append for buffer in buffers]
        for number in range(low, min(low + step, part.stop)):
            key = number % keys
            adders[key % targets](key)
        for target, buffer in enumerate(buffers):
            outbox.send(target, buffer)


def word_source(targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Splits each line into words and sends each to the word's process."""
    lines = text()
    cycle = len(lines)
    stamp_entry(ledger)
    step = batch * targets // 10
    for low in range(part.start, part.stop, step):
        buffers: list[list[str]] = [[] for _ in range(targets)]
        adders = [buffer.append for buffer in buffers]
        for number in range(low, min(low + step, part.stop)):
            for word in lines[number % cycle].split():
                adders[hash(word) % targets](word)
        for target, buffer in enumerate(buffers):
            outbox.send(target, buffer)


def count_task(ledger: str, inbox: Any) -> None:
    """Counts per key and emits every running count to the counting sink."""
    sink = Tally(ledger)
    counts: dict[object, int] = {}
    seen = counts.get
    for _, batch in inbox:
        results = []
        emit = results.append
        for key in batch:
            count = seen(key, 0) + 1
            counts[key] = count
            emit((key, count))
        sink.add_many(list(map(_second, results)))
    sink.close()


def ticking_source(assignment: Assignment, targets: int, part: int, outbox: Any) -> None:
    """Sends each record alone, the moment it is due."""
    schedule = Schedule(parallelism=targets, settle=assignment.settle, seconds=assignment.seconds)
    for number, created in schedule:
        key = (number * targets + part) % LATENCY_KEYS
        outbox.send(key % targets, [(key, created)])


def forwarding_task(targets: int, inbox: Any, outbox: Any) -> None:
    """Counts per key and sends the record on, keyed anew."""
    counts: dict[int, int] = {}
    for _, batch in inbox:
        for key, created in batch:
            counts[key] = counts.get(key, 0) + 1
            other = key // 2
            outbox.send(other % targets, [(other, created)])


def delay_task(ledger: str, inbox: Any) -> None:
    """Counts per key and notes how old each record is."""
    sink = Delays(ledger)
    counts: dict[int, int] = {}
    for _, batch in inbox:
        for key, created in batch:
            counts[key] = counts.get(key, 0) + 1
            sink.add(created)
    sink.close()


def chain_task(batch: int, ledger: str, part: range) -> None:
    """Puts numbers through the steps of the stateless chain; source and sink are in the same process."""
    sink = Tally(ledger)
    stamp_entry(ledger)
    for low in range(part.start, part.stop, batch):
        results = []
        emit = results.append
        for number in range(low, min(low + batch, part.stop)):
            record = reading(number)
            if is_valid(record):
                record = converted(record)
                if is_high(record):
                    emit(weighted(record))
        sink.add_many(list(map(_second, results)))
    sink.close()


def timer_task(ledger: str, channels: int, inbox: Any) -> None:
    """Counts the records of each key that wait, and lets a timer per record count them down and emit."""
    sink = Tally(ledger, every=1)
    watermarks = Watermarks(channels)
    waiting: dict[int, int] = {}
    timers: dict[int, set[int]] = {}
    times: list[int] = []
    for channel, (batch, watermark) in inbox:
        for key, time, _ in batch:
            waiting[key] = waiting.get(key, 0) + 1
            at = time + TIMER_MS
            keys = timers.get(at)
            if keys is None:
                timers[at] = {key}
                heapq.heappush(times, at)
            else:
                keys.add(key)
        if watermarks.advances(channel, watermark):
            results = []
            while times and times[0] <= watermarks.current:
                at = heapq.heappop(times)
                for key in timers.pop(at):
                    waiting[key] -= 1
                    results.append((key, at, 1))
            if results:
                sink.add_many([mark(*result) for result in results])
    sink.close()


def event_source(job: str, records: int, targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Generates the events of a job with one stream."""
    send_events(Events(job, records, targets), targets, batch, ledger, part, outbox)


def send_events(event: Callable[[int], Event], targets: int, batch: int, ledger: str, part: range, outbox: Any) -> None:
    """Turns each number into an event and sends it to its key's process; every batch ends with a watermark."""
    stamp_entry(ledger)
    newest = _NEVER
    step = batch * targets
    for low in range(part.start, part.stop, step):
        buffers: list[list[Event]] = [[] for _ in range(targets)]
        adders = [buffer.append for buffer in buffers]
        for number in range(low, min(low + step, part.stop)):
            record = event(number)
            if record[1] > newest:
                newest = record[1]
            adders[record[0] % targets](record)
        for target, buffer in enumerate(buffers):
            outbox.send(target, (buffer, newest - OUT_OF_ORDER_MS - 1))
    for target in range(targets):
        outbox.send(target, ([], _FOR_EVER))


class Watermarks:
    """The smallest watermark over all channels."""

    def __init__(self, channels: int) -> None:
        """Starts before all time."""
        self._marks = [_NEVER] * channels
        self.current = _NEVER

    def advances(self, channel: int, mark_: int) -> bool:
        """Takes a channel's watermark and says whether the smallest one moved."""
        self._marks[channel] = mark_
        smallest = min(self._marks)
        moved = smallest > self.current
        self.current = smallest
        return moved


def tumbling_task(ledger: str, channels: int, inbox: Any) -> None:
    """Counts per key and window and emits each window when the watermark passes its end."""
    sink = Tally(ledger, every=1)
    watermarks = Watermarks(channels)
    windows: dict[int, dict[int, int]] = {}
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        for key, time, _ in batch:
            start = time - time % TUMBLING_MS
            if start + TUMBLING_MS - 1 <= passed:
                continue
            window = windows.get(start)
            if window is None:
                window = windows[start] = {}
            window[key] = window.get(key, 0) + 1
        if watermarks.advances(channel, watermark):
            _emit_ended(windows, TUMBLING_MS, watermarks.current, sink)
    sink.close()


def sliding_task(ledger: str, channels: int, inbox: Any) -> None:
    """Sums per key and window, each record in every window that covers it."""
    sink = Tally(ledger, every=1)
    watermarks = Watermarks(channels)
    windows: dict[int, dict[int, int]] = {}
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        for key, time, value in batch:
            last = time - time % SLIDE_MS
            for start in range(last, time - SLIDING_MS, -SLIDE_MS):
                if start + SLIDING_MS - 1 <= passed:
                    continue
                window = windows.get(start)
                if window is None:
                    window = windows[start] = {}
                window[key] = window.get(key, 0) + value
        if watermarks.advances(channel, watermark):
            _emit_ended(windows, SLIDING_MS, watermarks.current, sink)
    sink.close()


def _emit_ended(windows: dict[int, dict[int, int]], size: int, watermark: int, sink: Tally) -> None:
    for start in sorted(start for start in windows if start + size - 1 <= watermark):
        results = [(key, start, value) for key, value in windows.pop(start).items()]
        sink.add_many([mark(*result) for result in results])


class Session:
    """An open session: its first event, its end if nothing more comes, its events so far."""

    __slots__ = ("count", "end", "start")

    def __init__(self, start: int, end: int) -> None:
        """Opens a session with one event."""
        self.start, self.end, self.count = start, end, 1


def session_task(ledger: str, channels: int, inbox: Any, gap: int = SESSION_GAP_MS) -> None:
    """Counts the events of each key's sessions and emits a session when the watermark passes its end."""
    sink = Tally(ledger, every=1)
    watermarks = Watermarks(channels)
    sessions: dict[int, list[Session]] = {}
    ends: list[tuple[int, int, int]] = []
    for channel, (batch, watermark) in inbox:
        passed = watermarks.current
        for key, time, _ in batch:
            if time + gap - 1 <= passed:
                continue
            if _join_session(sessions.setdefault(key, []), time, gap):
                heapq.heappush(ends, (time + gap, key, time))
        if watermarks.advances(channel, watermark):
            _emit_sessions(sessions, ends, watermarks.current, sink)
    sink.close()


def _join_session(mine: list[Session], time: int, gap: int) -> bool:
    """Adds an event to the session it touches, merging those it bridges; says whether it opened a new one."""
    end = time + gap
    if len(mine) == 1:
        only = mine[0]
        if only.start <= end and time <= only.end:
            only.count += 1
            if time < only.start:
                only.start = time
            if end > only.end:
                only.end = end
            return False
    touching = [session for session in mine if session.start <= end and time <= session.end]
    if not touching:
        mine.append(Session(time, end))
        return True
    first, *others = touching
    first.start, first.end, first.count = min(first.start, time), max(first.end, end), first.count + 1
    for other in others:
        first.start, first.end = min(first.start, other.start), max(first.end, other.end)
        first.count += other.count
        mine.remove(other)
    return False


def _emit_sessions(
    sessions: dict[int, list[Session]], ends: list[tuple[int, int, int]], watermark: int, sink: Tally
) -> None:
    """Looks only at keys with a session that may have ended; one that has grown is looked at again later."""
    results = []
    while ends and ends[0][0] - 1 <= watermark:
        _, key, inside = heapq.heappop(ends)
        for session in sessions[key]:
            if session.start <= inside < session.end:
                if session.end - 1 <= watermark:
                    results.append((key, session.start, session.count))
                    sessions[key].remove(session)
                else:
                    heapq.heappush(ends, (session.end, key, inside))
                break
    if results:
        sink.add_many([mark(*result) for result in results])
