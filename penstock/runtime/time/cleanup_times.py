"""Which keys have something to clean up when the watermark reaches a time.

A queue of timers for operators that set one for every record: many records share a moment, and marking a key there is
one assignment.
"""

from __future__ import annotations

import heapq
from typing import Any

__all__ = ["Cleanups"]


class Cleanups:
    """Keys by the time at which they are due, in the order in which they were marked."""

    __slots__ = ("_marked", "_times")

    def __init__(self) -> None:
        self._marked: dict[int, dict[Any, None]] = {}
        self._times: list[int] = []

    def at(self, time: int) -> dict[Any, None]:
        """Return the keys that are due at a time, for the caller to mark others: ``marked[key] = None``."""
        marked = self._marked.get(time)
        if marked is None:
            marked = self._marked[time] = {}
            heapq.heappush(self._times, time)
        return marked

    def first(self) -> int | None:
        """Return the next time."""
        return self._times[0] if self._times else None

    def take(self) -> dict[Any, None]:
        """Take out the keys of the next time."""
        return self._marked.pop(heapq.heappop(self._times))

    def all(self) -> list[tuple[int, Any]]:
        """Return every time with every key that is due then."""
        return [(time, key) for time in sorted(self._marked) for key in self._marked[time]]
