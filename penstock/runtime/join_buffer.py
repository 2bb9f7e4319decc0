"""What one side of an interval join keeps: per key, records by timestamp, found by a range of time.

The records are keyed state, a map from timestamp to list. Beside it stands, in memory only, the sorted list of a key's
timestamps, on the heap backend only for keys that have many. It is made from the state where it is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from penstock.runtime.elements import MIN_TIMESTAMP
from penstock.statestore.heap import HeapStateBackend
from penstock.vocabulary.state_descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statestore.backend import KeyedStateBackend

__all__ = ["FEW", "Bucket", "HeapJoinBuffer", "JoinBuffer", "StateJoinBuffer", "join_buffer"]

Bucket = tuple[int, list[Any]]
"""The records of a key that have the same timestamp."""

FEW = 12
"""Up to so many timestamps a dictionary is searched faster than a sorted list."""


class JoinBuffer(ABC):
    """The buffered records; the current key must be the one that is asked for."""

    def __init__(self) -> None:
        self.times: dict[Any, list[int]] = {}
        """The timestamps of a key, sorted."""

    @abstractmethod
    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""

    @abstractmethod
    def between(self, key: Any, low: int, high: int) -> Sequence[Bucket]:
        """Return the records of a range of time, both ends included."""

    @abstractmethod
    def keep(self, timestamp: int, records: list[Any]) -> None:
        """Store records that ``between`` returned and that have been changed since."""

    @abstractmethod
    def expire(self, key: Any, limit: int) -> list[Bucket]:
        """Forget the records up to a time and return them, the earliest first."""


class HeapJoinBuffer(JoinBuffer):
    """Works on the dictionaries of the heap backend; the operator does so itself for the most common cases."""

    def __init__(self, entries: dict[Any, dict[int, list[Any]]]) -> None:
        super().__init__()
        self.entries = entries
        self.newest = MIN_TIMESTAMP
        """No record is newer than this."""
        self.added = 0
        """Records that have come since the last walk."""
        self._kept = 0

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""
        known = self.entries.setdefault(key, {})
        bucket = known.get(timestamp)
        if bucket is None:
            known[timestamp] = [record]
            self.times.pop(key, None)
        else:
            bucket.append(record)

    def between(self, key: Any, low: int, high: int) -> Sequence[Bucket]:
        """Return the records of a range of time."""
        known = self.entries.get(key)
        if known is None:
            return ()
        if len(known) <= FEW:
            return [bucket for bucket in known.items() if low <= bucket[0] <= high]
        times = self.times.get(key)
        if times is None:
            times = self.times[key] = sorted(known)
        return [(time, known[time]) for time in times[bisect_left(times, low) : bisect_right(times, high)]]

    def keep(self, timestamp: int, records: list[Any]) -> None:
        """Do nothing: the records are the state itself."""

    def forget(self, limit: int) -> None:
        """Forget the records up to a time, unless that is not yet worth a walk through all keys.

        There is a walk when as many records have come as the last one left behind. So a record is walked by twice on
        average, however far one stream is ahead of the other, and at most as many are dead as are alive.
        """
        if self.newest <= limit:
            self.entries.clear()
            self.times.clear()
            self.added = self._kept = 0
        elif self.added >= self._kept:
            self.walk(limit)

    def walk(self, limit: int) -> None:
        """Forget the records up to a time."""
        kept = 0
        ended = []
        for key, known in self.entries.items():
            over = 0
            for time in known:
                if time <= limit:
                    over += 1
            if over == len(known):
                ended.append(key)
                continue
            kept += len(known) - over
            if over:
                for time in [time for time in known if time <= limit]:
                    del known[time]
                if key in self.times:
                    del self.times[key][:over]
        for key in ended:
            del self.entries[key]
            self.times.pop(key, None)
        self._kept = kept
        self.added = 0

    def expire(self, key: Any, limit: int) -> list[Bucket]:
        """Forget the records up to a time and return them, the earliest first."""
        known = self.entries.get(key)
        if known is None:
            return []
        over = sorted([time for time in known if time <= limit])
        gone = [(time, known.pop(time)) for time in over]
        if not known:
            del self.entries[key]
            self.times.pop(key, None)
        elif key in self.times:
            del self.times[key][: len(over)]
        return gone


class StateJoinBuffer(JoinBuffer):
    """Works on a map state of any backend."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def _times_of(self, key: Any) -> list[int]:
        times = self.times.get(key)
        if times is None:
            times = sorted(self._state.keys())
            if times:
                self.times[key] = times
        return times

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""
        times = self.times[key] = self._times_of(key)
        position = bisect_left(times, timestamp)
        if position < len(times) and times[position] == timestamp:
            self._state.put(timestamp, [*self._state.get(timestamp), record])
            return
        times.insert(position, timestamp)
        self._state.put(timestamp, [record])

    def between(self, key: Any, low: int, high: int) -> Sequence[Bucket]:
        """Return the records of a range of time."""
        times = self._times_of(key)
        get = self._state.get
        return [(time, get(time)) for time in times[bisect_left(times, low) : bisect_right(times, high)]]

    def keep(self, timestamp: int, records: list[Any]) -> None:
        """Store records that have been changed."""
        self._state.put(timestamp, records)

    def expire(self, key: Any, limit: int) -> list[Bucket]:
        """Forget the records up to a time and return them, the earliest first."""
        times = self._times_of(key)
        stop = bisect_right(times, limit)
        gone = [(time, self._state.get(time)) for time in times[:stop]]
        for time in times[:stop]:
            self._state.remove(time)
        del times[:stop]
        if not times:
            self.times.pop(key, None)
        return gone


def join_buffer(backend: KeyedStateBackend, name: str) -> JoinBuffer:
    """Return the buffer that suits a state backend."""
    descriptor: MapStateDescriptor[int, list[Any]] = MapStateDescriptor(name)
    if isinstance(backend, HeapStateBackend):
        return HeapJoinBuffer(backend.entries(descriptor))
    return StateJoinBuffer(backend.map_state(descriptor))
