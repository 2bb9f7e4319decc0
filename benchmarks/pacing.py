"""When the records of a latency job are due: a fixed schedule, so that a system that stalls cannot hide it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

from benchmarks.workload import LATENCY_RATE

SECOND = 1_000_000_000


class Schedule:
    """The due times of one source's records.

    A record's creation time is the moment it was due, not the moment the source came round to it: delays that
    hold up the source count as latency too. Records of the settling time carry creation time 0.
    """

    def __init__(self, *, parallelism: int, settle: int, seconds: int) -> None:
        """Shares the rate among the sources; settles first, then measures."""
        self._interval = SECOND * parallelism // LATENCY_RATE
        self._unmeasured = settle * SECOND // self._interval
        self.records = self._unmeasured + seconds * SECOND // self._interval
        self._begun = 0
        self._pause = threading.Event()

    def due(self, number: int) -> int:
        """Waits until a record is due and returns its creation time, 0 while settling."""
        ahead = self.ahead(number)
        if ahead > 0:
            self._pause.wait(ahead / SECOND)
        return self._begun + number * self._interval if number >= self._unmeasured else 0

    def ahead(self, number: int) -> int:
        """Returns the nanoseconds until a record is due; the first question starts the schedule."""
        now = time.monotonic_ns()
        if not self._begun:
            self._begun = now
        return self._begun + number * self._interval - now

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yields each record's number and creation time when it is due."""
        for number in range(self.records):
            yield number, self.due(number)
