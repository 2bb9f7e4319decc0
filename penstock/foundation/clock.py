"""Where time comes from. Nobody else reads the machine's clock."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "ManualClock", "SystemClock", "monotonic_seconds", "pause"]


class Clock(Protocol):
    """Gives the processing time in milliseconds since the epoch."""

    timer_delay: int
    """How many milliseconds after its time a timer fires."""

    def now(self) -> int:
        """Return the current processing time in milliseconds."""


class SystemClock:
    """The machine's clock.

    As in Flink, timers fire one millisecond after their time: a window that ends with millisecond T is complete when T
    is over, not when it begins.
    """

    timer_delay = 1

    def now(self) -> int:
        """Return the machine's time in milliseconds."""
        return time.time_ns() // 1_000_000


class ManualClock:
    """A clock that stands still until it is moved: for tests. Timers fire as soon as it is moved to their time."""

    timer_delay = 0

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def now(self) -> int:
        """Return the time the clock was last moved to."""
        return self._now

    def advance(self, millis: int) -> None:
        """Move the clock forward by a number of milliseconds."""
        if millis < 0:
            message = f"a clock does not go back: {millis} ms"
            raise ValueError(message)
        self._now += millis

    def set(self, now: int) -> None:
        """Move the clock to a point in time, never backwards."""
        self.advance(now - self._now)


def monotonic_seconds() -> float:
    """Return seconds for measuring durations; unrelated to the time of day."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Let the calling thread sleep."""
    time.sleep(seconds)
