"""Where time comes from. Nobody else reads the machine's clocks.

There are two. The clock on the wall is what users see and what processing-time timers go by; somebody may set it, back
as well as forth. Whatever measures how long something takes, or waits for a while, goes by the one that only counts.
"""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "monotonic_seconds", "pause"]


class Clock(Protocol):
    """Gives the processing time in milliseconds since the epoch, and a count of milliseconds for durations."""

    timer_delay: int
    """How many milliseconds after its time a timer fires."""

    def now(self) -> int:
        """Return the current processing time in milliseconds; it may go back."""

    def elapsed(self) -> int:
        """Return milliseconds since some moment; they never go back and do not jump when somebody sets the clock."""


class SystemClock:
    """The machine's clocks.

    As in Flink, timers fire one millisecond after their time: a window that ends with millisecond T is complete when T
    is over, not when it begins.
    """

    timer_delay = 1

    def now(self) -> int:
        """Return the machine's time in milliseconds."""
        return time.time_ns() // 1_000_000

    def elapsed(self) -> int:
        """Return the milliseconds that the machine has counted."""
        return time.monotonic_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is moved: for tests. Timers fire as soon as it is moved to their time."""

    timer_delay = 0

    def __init__(self, start: int = 0) -> None:
        self._now = start
        self._elapsed = start

    def now(self) -> int:
        """Return the time the clock was last moved to."""
        return self._now

    def elapsed(self) -> int:
        """Return how far the clock was moved, without the steps."""
        return self._elapsed

    def advance(self, millis: int) -> None:
        """Let a number of milliseconds pass."""
        if millis < 0:
            message = f"time does not go back: {millis} ms; step() sets the clock"
            raise ValueError(message)
        self._now += millis
        self._elapsed += millis

    def set(self, now: int) -> None:
        """Let time pass until a point in time, never backwards."""
        self.advance(now - self._now)

    def step(self, millis: int) -> None:
        """Set the clock forwards or backwards, as an operator of the machine does, without any time passing."""
        self._now += millis


def monotonic_seconds() -> float:
    """Return seconds for measuring durations; unrelated to the time of day."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Let the calling thread sleep."""
    time.sleep(seconds)
