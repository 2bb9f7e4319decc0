"""Timers of one operator: event and processing time, per key and namespace, de-duplicated, deletable, fired in order.

The queue is a heap of distinct timestamps; each timestamp has a dictionary of the owners waiting for it. A timer is
therefore registered or deleted in constant time once its timestamp is known, duplicates vanish by themselves, and a
million timers for the same window end cost one heap entry.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.time.processing_time import changed_lead
from penstock.statestore.snapshot_format import EVENT_TIME, PROCESSING_TIME, Timer
from penstock.vocabulary.time.time_values import whole_millis

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.runtime.time.processing_time import ProcessingTimeService, ScheduledCall
    from penstock.statestore.backend import KeyContext

__all__ = ["Bucket", "InternalTimers", "OnMoment", "OnTimer", "TimerQueue", "one_by_one"]

OnTimer = Callable[[int, Any, Any], None]
"""Called with the timestamp, the key and the namespace of a timer that fires."""

Bucket = dict[tuple[Any, Any], None]
"""The owners that wait for one moment: key and namespace."""

OnMoment = Callable[[int, Bucket], None]
"""Called with a timestamp and the timers that fire at it, to take out and handle."""

_GONE = object()
_log = logging.getLogger("penstock.job")


def one_by_one(on_timer: OnTimer) -> OnMoment:
    """Return what takes out the timers of a moment and has each handled by itself."""

    def fire(timestamp: int, bucket: Bucket) -> None:
        take = bucket.pop
        # A copy, because a callback may delete timers of the same timestamp or register new ones, which come next.
        for owner in list(bucket):
            if take(owner, _GONE) is not _GONE:
                on_timer(timestamp, owner[0], owner[1])

    return fire


class TimerQueue:
    """The timers of one time domain."""

    __slots__ = ("_heap", "buckets")

    def __init__(self) -> None:
        self.buckets: dict[int, Bucket] = {}
        self._heap: list[int] = []

    def add(self, timestamp: int, key: Any, namespace: Any) -> bool:
        """Register a timer; tell whether it has become the first to fire."""
        bucket = self.buckets.get(timestamp)
        if bucket is not None:
            bucket[key, namespace] = None
            return False
        self.buckets[timestamp] = {(key, namespace): None}
        heapq.heappush(self._heap, timestamp)
        return self._heap[0] == timestamp

    def remove(self, timestamp: int, key: Any, namespace: Any) -> None:
        """Delete a timer; one that does not exist is no error."""
        bucket = self.buckets.get(timestamp)
        if bucket is not None:
            bucket.pop((key, namespace), None)
            if not bucket:
                # The heap entry stays until it surfaces, unless most of the heap is such leftovers.
                del self.buckets[timestamp]
                if len(self._heap) > 64 and len(self._heap) > 2 * len(self.buckets):
                    self._heap = list(self.buckets)
                    heapq.heapify(self._heap)

    def has(self, timestamp: int, key: Any, namespace: Any) -> bool:
        """Tell whether a timer is registered."""
        return (key, namespace) in self.buckets.get(timestamp, ())

    def first(self) -> int | None:
        """Return the timestamp of the next timer."""
        heap = self._heap
        while heap and heap[0] not in self.buckets:
            heapq.heappop(heap)
        return heap[0] if heap else None

    def fire_up_to(self, limit: int, on_moment: OnMoment) -> None:
        """Fire all timers up to and including a time, also those that are registered meanwhile."""
        while (timestamp := self.first()) is not None and timestamp <= limit:
            bucket = self.buckets[timestamp]
            on_moment(timestamp, bucket)
            if not bucket and self.buckets.get(timestamp) is bucket:
                del self.buckets[timestamp]

    def fire_known(self, on_moment: OnMoment) -> bool:
        """Fire the timers that there are, in order; tell whether some were registered meanwhile: those are dropped."""
        if not self.buckets:
            return False
        known = [(timestamp, list(self.buckets[timestamp])) for timestamp in sorted(self.buckets)]
        has_dropped = False
        for timestamp, owners in known:
            bucket = self.buckets.get(timestamp)
            if bucket is None:
                continue  # deleted by those before
            left = {owner: None for owner in owners if owner in bucket}
            has_dropped = has_dropped or len(left) < len(bucket)
            self.buckets[timestamp] = left
            on_moment(timestamp, left)
            has_dropped = has_dropped or bool(left)
            left.clear()
            self.buckets.pop(timestamp, None)
        return self.clear() or has_dropped

    def clear(self) -> bool:
        """Drop all timers; tell whether there were some."""
        has_dropped = bool(self.buckets)
        self.buckets.clear()
        self._heap.clear()
        return has_dropped

    def __len__(self) -> int:
        return sum(len(bucket) for bucket in self.buckets.values())

    def snapshot(self) -> list[tuple[int, Any, Any]]:
        """Return all timers as ``(timestamp, key, namespace)``."""
        return [(timestamp, *owner) for timestamp, bucket in self.buckets.items() for owner in bucket]


class InternalTimers:
    """Both timer queues of an operator, tied to its watermark and its clock."""

    def __init__(
        self,
        keys: KeyContext,
        processing_time: ProcessingTimeService,
        *,
        on_event_time: OnMoment,
        on_processing_time: OnMoment,
    ) -> None:
        self.keys = keys
        self.event_timers = TimerQueue()
        self.processing_timers = TimerQueue()
        self.current_watermark = MIN_TIMESTAMP
        self._processing_time = processing_time
        self._on_event_time = on_event_time
        self._on_processing_time = on_processing_time
        self._wake_up: ScheduledCall | None = None
        self._earlier: list[tuple[int, TimerQueue]] = []
        """Timers from before the clock was set back, with the milliseconds by which they fire before their time."""
        if processing_time.fires_timers:
            processing_time.on_step(self._clock_was_set)
        self._has_warned = False
        if native is not None:
            # The method of the class does the same; this one needs no frame for a moment that others wait for already.
            access = native.TimerAccess(keys, self.event_timers.buckets, self.register_event_time_timer)
            self.register_event_time_timer = access.register_event_time_timer  # type: ignore[method-assign]

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._processing_time.clock.now()

    def register_event_time_timer(self, timestamp: int, namespace: Any = None) -> None:
        """Register an event-time timer for the current key."""
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "register_event_time_timer() was given")
        timers = self.event_timers
        bucket = timers.buckets.get(timestamp)
        if bucket is None:
            timers.add(timestamp, self.keys.key, namespace)
        else:  # as add() would, without the call
            bucket[self.keys.key, namespace] = None

    def delete_event_time_timer(self, timestamp: int, namespace: Any = None) -> None:
        """Delete an event-time timer of the current key."""
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "delete_event_time_timer() was given")
        self.event_timers.remove(timestamp, self.keys.key, namespace)

    def register_processing_time_timer(self, timestamp: int, namespace: Any = None) -> None:
        """Register a processing-time timer for the current key."""
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "register_processing_time_timer() was given")
        if not self._processing_time.fires_timers:
            self._register_for_end(timestamp, namespace)
            return
        if timestamp not in self.processing_timers.buckets:
            self._processing_time.look()  # first: what was registered before the clock was set back is kept apart
        if self._earlier and any(timers.has(timestamp, self.keys.key, namespace) for _, timers in self._earlier):
            return
        if self.processing_timers.add(timestamp, self.keys.key, namespace):
            self._schedule_wake_up()

    def _register_for_end(self, timestamp: int, namespace: Any) -> None:
        """Register a processing-time timer in batch: it fires when the key ends, unless it comes from one that does."""
        if self.current_watermark == MAX_TIMESTAMP:
            self._warn_of_ignored()
        else:
            self.processing_timers.add(timestamp, self.keys.key, namespace)

    def delete_processing_time_timer(self, timestamp: int, namespace: Any = None) -> None:
        """Delete a processing-time timer of the current key."""
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "delete_processing_time_timer() was given")
        self.processing_timers.remove(timestamp, self.keys.key, namespace)
        for _, timers in self._earlier:
            timers.remove(timestamp, self.keys.key, namespace)

    def advance_watermark(self, timestamp: int) -> None:
        """Move event time forward and fire what is due."""
        self.current_watermark = timestamp
        self.event_timers.fire_up_to(timestamp, self._on_event_time)

    def end_event_time(self) -> None:
        """Fire all timers of event time: in batch, the current key has ended, and with it time.

        As in Flink, timers that are registered meanwhile are ignored: one that registers the next one would never end.
        """
        self.current_watermark = MAX_TIMESTAMP
        if self.event_timers.fire_known(self._on_event_time):
            self._warn_of_ignored()

    def end_processing_time(self) -> None:
        """Fire all timers of processing time, behind those of event time."""
        if self.processing_timers.fire_known(self._on_processing_time):
            self._warn_of_ignored()

    def begin_key(self) -> None:
        """Go back to the beginning of time, for the next key."""
        self.current_watermark = MIN_TIMESTAMP
        if self.event_timers.clear():  # registered by those of processing time
            self._warn_of_ignored()

    def _warn_of_ignored(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("In batch, timers are ignored that are registered while the timers of a key fire at its end.")

    def snapshot(self) -> list[Timer]:
        """Return all timers of both domains."""
        waiting = [Timer(*timer, EVENT_TIME) for timer in self.event_timers.snapshot()]
        return waiting + [Timer(*timer, PROCESSING_TIME) for timer in self.snapshot_processing_timers()]

    def snapshot_processing_timers(self) -> list[tuple[int, Any, Any]]:
        """Return the timers of processing time as ``(timestamp, key, namespace)``."""
        earlier = [timer for _, timers in self._earlier for timer in timers.snapshot()]
        return earlier + self.processing_timers.snapshot()

    def restore(self, timers: Iterable[Timer]) -> None:
        """Take back timers; those of processing time whose moment has passed fire at once."""
        for timestamp, key, namespace, domain in timers:
            queue = self.event_timers if domain == EVENT_TIME else self.processing_timers
            queue.add(timestamp, key, namespace)
        self._schedule_wake_up()

    def drop_processing_timers(self) -> None:
        """Forget the timers of processing time."""
        self.processing_timers = TimerQueue()
        self._earlier.clear()
        self._schedule_wake_up()

    def _clock_was_set(self, step: int) -> None:
        """Let what waits fire as if the clock had not been set back; what is registered later goes by the clock."""
        self._earlier = [(changed_lead(lead, step), timers) for lead, timers in self._earlier]
        if step < 0 and self.processing_timers.buckets:
            self._earlier.append((-step, self.processing_timers))
            self.processing_timers = TimerQueue()
        if self._wake_up is not None:
            self._wake_up.cancel()
            self._wake_up = None
        self._schedule_wake_up()

    def _schedule_wake_up(self) -> None:
        if not self._processing_time.fires_timers:
            return
        first = self.processing_timers.first()
        if self._earlier:
            known = [due for due in (first, *map(_due, self._earlier)) if due is not None]
            first = min(known, default=None)
        if self._wake_up is not None:
            if first is not None and self._wake_up.time == first:
                return
            self._wake_up.cancel()
        self._wake_up = None if first is None else self._processing_time.schedule(first, self._fire_due)

    def _fire_due(self, _: int) -> None:
        self._wake_up = None
        # The limit is read once: a function that registers the next timer from its callback does not starve its input.
        limit = self._processing_time.timer_time()
        if self._earlier:
            self._fire_earlier(limit)
        self.processing_timers.fire_up_to(limit, self._on_processing_time)
        self._schedule_wake_up()

    def _fire_earlier(self, limit: int) -> None:
        """Fire what is left from before the clock was set back, in the order in which it is due."""
        while due := [each for each in self._earlier if (first := _due(each)) is not None and first <= limit]:
            _, timers = min(due, key=lambda each: _due(each) or 0)
            timers.fire_up_to(timers.first() or 0, self._on_processing_time)
        self._earlier = [each for each in self._earlier if each[1].buckets]


def _due(earlier: tuple[int, TimerQueue]) -> int | None:
    lead, timers = earlier
    first = timers.first()
    return None if first is None else first - lead
