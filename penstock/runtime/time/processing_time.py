"""Callbacks at points of processing time, and after durations, run by the subtask's own loop.

What happens when somebody sets the machine's clock:

- *Forwards*: what the clock has passed is due at once, in the order of its times.
- *Backwards*: what waits fires when it would have fired without the step. By then the clock shows an earlier time than
  the one that was asked for. What is scheduled after the step goes by the clock as it is then. A step forwards that
  undoes the one backwards undoes this, too.
- A duration takes as long as it takes.

A difference of less than a second is no step: clocks that are kept right by small corrections are followed.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.foundation.clock import Clock

__all__ = ["ProcessingTimeService", "ScheduledCall", "changed_lead"]

_STEP_MILLIS = 1000
"""The least change of the clock, against the count of milliseconds, that is taken for a step."""
_APART_MILLIS = 100
"""How far apart the two clocks may be read to be compared; a process can be stopped in between."""


class ScheduledCall:
    """A callback waiting for its time; ``cancel`` makes it never run."""

    __slots__ = ("callback", "is_cancelled", "is_duration", "lead", "time")

    def __init__(self, time: int, callback: Callable[[int], None], *, is_duration: bool = False) -> None:
        self.time = time
        self.callback = callback
        self.is_duration = is_duration
        self.lead = 0
        """By how many milliseconds it fires before its time, because the clock was set back since it was scheduled."""
        self.is_cancelled = False

    def cancel(self) -> None:
        """Make sure that the callback does not run."""
        self.is_cancelled = True


class ProcessingTimeService:
    """Keeps the callbacks of one task in the order of their time.

    The task's loop asks for ``next_time``, waits for input no longer than that and calls ``fire_due``. Callbacks
    therefore never run at the same time as anything else in the task.
    """

    def __init__(self, clock: Clock, *, fires_timers: bool = True) -> None:
        self.clock = clock
        self.fires_timers = fires_timers
        """Whether timers of keys fire by the clock; in batch they fire when all records of their key have come."""
        self._queue: list[tuple[int, int, ScheduledCall]] = []
        self._sequence = itertools.count()
        self._soon: deque[Callable[[], None]] = deque()
        self._offset = clock.now() - clock.elapsed()
        self._on_step: list[Callable[[int], None]] = []

    def run_soon(self, call: Callable[[], None]) -> None:
        """Run something as the next thing; the only method that other threads may call, who then wake up the task."""
        self._soon.append(call)

    def schedule(self, time: int, callback: Callable[[int], None]) -> ScheduledCall:
        """Run a callback once, as soon as the clock has reached a time."""
        self.look()
        return self._add(time, ScheduledCall(time, callback))

    def after(self, millis: int, callback: Callable[[int], None]) -> ScheduledCall:
        """Run a callback once, when so many milliseconds have passed, whatever the clock shows by then."""
        time = self.look() + millis
        return self._add(time, ScheduledCall(time, callback, is_duration=True))

    def schedule_every(self, interval: int, callback: Callable[[int], None]) -> None:
        """Run a callback again and again, ``interval`` milliseconds apart."""

        def run(time: int) -> None:
            callback(time)
            # Counted from now: a task that was busy does not make up for missed rounds.
            self.after(interval, run)

        self.after(interval, run)

    def on_step(self, call: Callable[[int], None]) -> None:
        """Have somebody told, before anything fires, by how much the clock was set; backwards is negative."""
        self._on_step.append(call)

    def look(self) -> int:
        """Return the clock's time; find out whether somebody has set the clock since it was last looked at."""
        now = self.clock.now()
        offset = now - self.clock.elapsed()
        step = offset - self._offset
        if -_STEP_MILLIS < step < _STEP_MILLIS:
            self._offset = offset
            return now
        return self._compare()

    def timer_time(self) -> int:
        """Return the time up to which callbacks are due."""
        return self.look() - self.clock.timer_delay

    def next_time(self) -> int | None:
        """Return when the next callback is due, ``None`` if there is none."""
        if self._soon:
            return self.clock.now()
        self.look()
        while self._queue and self._queue[0][2].is_cancelled:
            heapq.heappop(self._queue)
        return self._queue[0][0] + self.clock.timer_delay if self._queue else None

    def wait_millis(self) -> int | None:
        """Return how long it takes until the next callback is due, ``None`` if there is none."""
        due = self.next_time()
        return None if due is None else due - self.clock.now()

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

    def _add(self, time: int, call: ScheduledCall) -> ScheduledCall:
        heapq.heappush(self._queue, (time, next(self._sequence), call))
        return call

    def _compare(self) -> int:
        """Read both clocks at the same moment, and act if they still differ from what they were."""
        while True:
            before, now, after = self.clock.elapsed(), self.clock.now(), self.clock.elapsed()
            if after - before < _APART_MILLIS:
                break
        step, self._offset = now - after - self._offset, now - after
        if abs(step) >= _STEP_MILLIS:
            self._clock_was_set(step)
        return now

    def _clock_was_set(self, step: int) -> None:
        self._queue = [(due + _moved(call, step), number, call) for due, number, call in self._queue]
        heapq.heapify(self._queue)
        for tell in self._on_step:
            tell(step)


def _moved(call: ScheduledCall, step: int) -> int:
    """Return by how much a call is due later, in the time of a clock that was set."""
    if call.is_duration:
        return step
    moved = changed_lead(call.lead, step) - call.lead
    call.lead += moved
    return -moved


def changed_lead(lead: int, step: int) -> int:
    """Return by how many milliseconds something fires before its time after another step of the clock."""
    return max(0, lead - step)
