"""Callbacks at points of processing time, run by the subtask's own loop."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.foundation.clock import Clock

__all__ = ["ProcessingTimeService", "ScheduledCall"]


class ScheduledCall:
    """A callback waiting for its time; ``cancel`` makes it never run."""

    __slots__ = ("callback", "is_cancelled", "time")

    def __init__(self, time: int, callback: Callable[[int], None]) -> None:
        self.time = time
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        """Make sure that the callback does not run."""
        self.is_cancelled = True


class ProcessingTimeService:
    """Keeps the callbacks of one task in the order of their time.

    The task's loop asks for ``next_time``, waits for input no longer than that and calls ``fire_due``. Callbacks
    therefore never run at the same time as anything else in the task.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._queue: list[tuple[int, int, ScheduledCall]] = []
        self._sequence = itertools.count()
        self._soon: deque[Callable[[], None]] = deque()

    def run_soon(self, call: Callable[[], None]) -> None:
        """Run something as the next thing; the only method that other threads may call, who then wake up the task."""
        self._soon.append(call)

    def schedule(self, time: int, callback: Callable[[int], None]) -> ScheduledCall:
        """Run a callback once, as soon as the clock has reached a time."""
        call = ScheduledCall(time, callback)
        heapq.heappush(self._queue, (time, next(self._sequence), call))
        return call

    def schedule_every(self, interval: int, callback: Callable[[int], None]) -> None:
        """Run a callback again and again, ``interval`` milliseconds apart."""

        def run(time: int) -> None:
            callback(time)
            # Counted from now: a task that was busy does not make up for missed rounds.
            self.schedule(max(time, self.clock.now()) + interval, run)

        self.schedule(self.clock.now() + interval, run)

    def timer_time(self) -> int:
        """Return the time up to which callbacks are due."""
        return self.clock.now() - self.clock.timer_delay

    def next_time(self) -> int | None:
        """Return when the next callback is due, ``None`` if there is none."""
        if self._soon:
            return self.clock.now()
        while self._queue and self._queue[0][2].is_cancelled:
            heapq.heappop(self._queue)
        return self._queue[0][0] + self.clock.timer_delay if self._queue else None

    def fire_due(self) -> bool:
        """Run every callback whose time has come, in order; tell whether there was one."""
        has_fired = bool(self._soon)
        while self._soon:
            self._soon.popleft()()
        if not self._queue:
            return has_fired
        now = self.timer_time()
        while self._queue and self._queue[0][0] <= now:
            call = heapq.heappop(self._queue)[2]
            if not call.is_cancelled:
                has_fired = True
                call.callback(call.time)
        return has_fired
