"""Keeps runs of records short where records take long, so that timers, barriers and commands get their turn.

Where a function needs a millisecond per record, a run of four thousand records would hold everything else up for
seconds. A pacer watches how long runs take and says how many records the next one should have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.foundation.clock import Clock

__all__ = ["LONGEST_RUN", "Pacer"]

LONGEST_RUN = 4096
"""Most records of a run."""
_FIRST_RUN = 64
_SLOW_MILLIS = 50
_FAST_MILLIS = 10


class Pacer:
    """Adapts the length of runs to the time they take."""

    __slots__ = ("_clock", "_start", "limit")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = 0
        self.limit = _FIRST_RUN

    def begin(self) -> None:
        """Take note that a run begins."""
        self._start = self._clock.elapsed()

    def end(self, records: int) -> None:
        """Take note that a run of so many records has ended."""
        elapsed = self._clock.elapsed() - self._start
        if elapsed > _SLOW_MILLIS:
            self.limit = max(1, min(records, self.limit) * _SLOW_MILLIS // (2 * elapsed))
        elif elapsed < _FAST_MILLIS and self.limit < LONGEST_RUN:
            self.limit = min(LONGEST_RUN, self.limit * 2)
