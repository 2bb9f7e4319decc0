"""What one side of an interval join keeps: per key, records by timestamp, found by a range of time.

The records themselves are keyed state, a map from timestamp to list. Beside it stands, in memory only, the sorted list
of each key's timestamps; it is made again from the state where it is missing, as after a restore.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from typing import TYPE_CHECKING, Any

from penstock.statestore.heap import HeapStateBackend
from penstock.vocabulary.state_descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.statestore.backend import KeyedStateBackend

__all__ = ["Bucket", "JoinBuffer", "join_buffer"]

Bucket = tuple[int, list[Any]]
"""The records of a key that have the same timestamp."""


class JoinBuffer(ABC):
    """The buffered records of the current key."""

    def __init__(self) -> None:
        self._times: dict[Any, list[int]] = {}

    @abstractmethod
    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""

    @abstractmethod
    def between(self, key: Any, low: int, high: int) -> Iterable[Bucket]:
        """Return the records of a range of time, both ends included, the earliest first."""

    @abstractmethod
    def keep(self, timestamp: int, records: list[Any]) -> None:
        """Store records that ``between`` returned and that have been changed since."""

    @abstractmethod
    def expire(self, key: Any, limit: int) -> list[Bucket]:
        """Forget the records up to a time and return them, the earliest first."""


class _HeapJoinBuffer(JoinBuffer):
    """Works on the dictionaries of the heap backend."""

    def __init__(self, entries: dict[Any, dict[int, list[Any]]]) -> None:
        super().__init__()
        self._entries = entries

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        known = self._entries.get(key)
        if known is None:
            self._entries[key] = {timestamp: [record]}
            self._times[key] = [timestamp]
            return
        bucket = known.get(timestamp)
        if bucket is not None:
            bucket.append(record)
            return
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = sorted(known)
        known[timestamp] = [record]
        if timestamp > times[-1]:
            times.append(timestamp)
        else:
            insort(times, timestamp)

    def between(self, key: Any, low: int, high: int) -> Iterable[Bucket]:
        known = self._entries.get(key)
        if known is None:
            return ()
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = sorted(known)
        if times[-1] < low or times[0] > high:
            return ()
        return [(time, known[time]) for time in times[bisect_left(times, low) : bisect_right(times, high)]]

    def keep(self, timestamp: int, records: list[Any]) -> None:
        """Do nothing: the records are the state itself."""

    def expire(self, key: Any, limit: int) -> list[Bucket]:
        known = self._entries.get(key)
        if known is None:
            return []
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = sorted(known)
        stop = bisect_right(times, limit)
        gone = [(time, known.pop(time)) for time in times[:stop]]
        if known:
            del times[:stop]
        else:
            del self._entries[key], self._times[key]
        return gone


class _StateJoinBuffer(JoinBuffer):
    """Works on a map state of any backend; the current key must be that of the records."""

    def __init__(self, state: Any) -> None:
        super().__init__()
        self._state = state

    def _times_of(self, key: Any) -> list[int]:
        times = self._times.get(key)
        if times is None:
            times = sorted(self._state.keys())
            if times:
                self._times[key] = times
        return times

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        times = self._times[key] = self._times_of(key)
        position = bisect_left(times, timestamp)
        if position < len(times) and times[position] == timestamp:
            self._state.put(timestamp, [*self._state.get(timestamp), record])
            return
        times.insert(position, timestamp)
        self._state.put(timestamp, [record])

    def between(self, key: Any, low: int, high: int) -> Iterable[Bucket]:
        times = self._times_of(key)
        get = self._state.get
        return [(time, get(time)) for time in times[bisect_left(times, low) : bisect_right(times, high)]]

    def keep(self, timestamp: int, records: list[Any]) -> None:
        self._state.put(timestamp, records)

    def expire(self, key: Any, limit: int) -> list[Bucket]:
        times = self._times_of(key)
        stop = bisect_right(times, limit)
        gone = [(time, self._state.get(time)) for time in times[:stop]]
        for time in times[:stop]:
            self._state.remove(time)
        del times[:stop]
        if not times:
            self._times.pop(key, None)
        return gone


def join_buffer(backend: KeyedStateBackend, name: str) -> JoinBuffer:
    """Return the buffer that suits a state backend."""
    descriptor: MapStateDescriptor[int, list[Any]] = MapStateDescriptor(name)
    if isinstance(backend, HeapStateBackend):
        return _HeapJoinBuffer(backend.entries(descriptor))
    return _StateJoinBuffer(backend.map_state(descriptor))
