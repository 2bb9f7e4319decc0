"""What one side of an interval join keeps: per key, records in the order of their timestamps, found by a range of time.

As keyed state that is a map from timestamp to a list of records, whatever the backend, so that a snapshot of one
backend can be restored by another. On the heap it is there only while a snapshot is taken; the records that are worked
on stand beside it, in one sorted list per key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.statestore.copying import are_fixed, copied
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.statestore.backend import KeyContext, KeyedStateBackend

__all__ = ["Entry", "HeapJoinBuffer", "JoinBuffer", "StateJoinBuffer", "join_buffer"]

Entry = tuple[int, Any]
"""A record with its timestamp. A tuple of the timestamp alone is smaller than all entries of that time."""


class JoinBuffer(ABC):
    """The buffered records of one side; in outer joins each is a list ``[record, has a partner]``."""

    @abstractmethod
    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""

    @abstractmethod
    def between(self, key: Any, low: int, high: int) -> Sequence[Entry]:
        """Return the records of a range of time, both ends included, the earliest first."""

    @abstractmethod
    def mark(self, key: Any, low: int, high: int) -> None:
        """Store that the records of a range of time have a partner."""

    @abstractmethod
    def expire(self, key: Any, limit: int) -> Sequence[Entry]:
        """Forget the records up to a time and return them, the earliest first."""


class HeapJoinBuffer(JoinBuffer):
    """Keeps the records in sorted lists; the operator works on them directly."""

    def __init__(self, backend: HeapStateBackend, keys: KeyContext, name: str, *, is_padded: bool) -> None:
        self._backend = backend
        self._keys = keys
        self._state = backend.map_state(_descriptor(name))
        self._name = name
        self._is_padded = is_padded
        self.entries: dict[Any, list[Entry]] = {}
        self.newest = MIN_TIMESTAMP
        """No record is newer than this."""
        self.added = 0
        """Records that have come since the last walk."""
        self._kept = 0
        self._take_over()

    def _take_over(self) -> None:
        for key in self._backend.keys(self._name):
            self._keys.key = key
            buckets = sorted(self._state.items(), key=itemgetter(0))
            entries = self.entries[key] = [(time, record) for time, records in buckets for record in records]
            self.newest = max(self.newest, entries[-1][0])
            self.added += len(entries)
        self.release()

    @property
    def is_fixed(self) -> bool:
        """Tell whether none of the records can change; a mark beside a record is ours."""
        return all(
            are_fixed([record[0] if self._is_padded else record for _, record in entries])
            for entries in self.entries.values()
        )

    def store(self) -> None:
        """Put all records into the keyed state, for a snapshot; what a program changes later is not changed there."""
        self.release()
        for key, entries in self.entries.items():
            buckets: dict[int, list[Any]] = {}
            for time, record in entries:
                stored = [copied(record[0]), record[1]] if self._is_padded else copied(record)
                buckets.setdefault(time, []).append(stored)
            self._keys.key = key
            self._state.put_all(buckets)

    def release(self) -> None:
        """Take the records out of the keyed state again: a snapshot has its own dictionary."""
        for key in self._backend.keys(self._name):
            self._keys.key = key
            self._state.clear()

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""
        entries = self.entries.setdefault(key, [])
        entries.insert(bisect_left(entries, (timestamp + 1,)), (timestamp, record))
        self.newest = max(self.newest, timestamp)
        self.added += 1

    def between(self, key: Any, low: int, high: int) -> Sequence[Entry]:
        """Return the records of a range of time."""
        entries = self.entries.get(key, [])
        return entries[bisect_left(entries, (low,)) : bisect_left(entries, (high + 1,))]

    def mark(self, key: Any, low: int, high: int) -> None:
        """Store that the records of a range of time have a partner."""
        for _, record in self.between(key, low, high):
            record[1] = True

    def forget(self, limit: int) -> None:
        """Forget the records up to a time, unless that is not yet worth a walk through all keys.

        There is a walk when as many records have come as the last one left behind. So a record is walked by twice on
        average, however far one stream is ahead of the other, and at most as many are dead as are alive.
        """
        if self.newest <= limit:
            self.entries.clear()
            self.added = self._kept = 0
        elif self.added >= self._kept:
            self.walk(limit)

    def walk(self, limit: int) -> None:
        """Forget the records up to a time."""
        kept = 0
        ended = []
        past = (limit + 1,)
        for key, entries in self.entries.items():
            if entries[-1][0] <= limit:
                ended.append(key)
                continue
            if entries[0][0] <= limit:
                del entries[: bisect_left(entries, past)]
            kept += len(entries)
        for key in ended:
            del self.entries[key]
        self._kept = kept
        self.added = 0

    def expire(self, key: Any, limit: int) -> Sequence[Entry]:
        """Forget the records up to a time and return them, the earliest first."""
        entries = self.entries.get(key, [])
        gone = entries[: bisect_left(entries, (limit + 1,))]
        if len(gone) < len(entries):
            del entries[: len(gone)]
        else:
            self.entries.pop(key, None)
        return gone


class StateJoinBuffer(JoinBuffer):
    """Works on a map state of any backend; the current key must be the one that is asked for.

    Beside the state stand, in memory only, the sorted timestamps of each key. They are made from it where they are
    missing.
    """

    def __init__(self, state: Any) -> None:
        self._state = state
        self._times: dict[Any, list[int]] = {}

    def _times_of(self, key: Any) -> list[int]:
        times = self._times.get(key)
        if times is None:
            times = sorted(self._state.keys())
            if times:
                self._times[key] = times
        return times

    def _times_between(self, key: Any, low: int, high: int) -> list[int]:
        times = self._times_of(key)
        return times[bisect_left(times, low) : bisect_right(times, high)]

    def add(self, key: Any, timestamp: int, record: Any) -> None:
        """Keep a record."""
        times = self._times[key] = self._times_of(key)
        position = bisect_left(times, timestamp)
        if position < len(times) and times[position] == timestamp:
            self._state.put(timestamp, [*self._state.get(timestamp), record])
            return
        times.insert(position, timestamp)
        self._state.put(timestamp, [record])

    def between(self, key: Any, low: int, high: int) -> Sequence[Entry]:
        """Return the records of a range of time."""
        get = self._state.get
        return [(time, record) for time in self._times_between(key, low, high) for record in get(time)]

    def mark(self, key: Any, low: int, high: int) -> None:
        """Store that the records of a range of time have a partner."""
        for time in self._times_between(key, low, high):
            self._state.put(time, [[record, True] for record, _ in self._state.get(time)])

    def expire(self, key: Any, limit: int) -> Sequence[Entry]:
        """Forget the records up to a time and return them, the earliest first."""
        times = self._times_of(key)
        gone = self.between(key, MIN_TIMESTAMP, limit)
        stop = bisect_right(times, limit)
        for time in times[:stop]:
            self._state.remove(time)
        del times[:stop]
        if not times:
            self._times.pop(key, None)
        return gone


def _descriptor(name: str) -> MapStateDescriptor[int, list[Any]]:
    return MapStateDescriptor(name)


def join_buffer(backend: KeyedStateBackend, keys: KeyContext, name: str, *, is_padded: bool) -> JoinBuffer:
    """Return the buffer that suits a state backend; ``is_padded`` tells whether records are kept with a mark."""
    if isinstance(backend, HeapStateBackend):
        return HeapJoinBuffer(backend, keys, name, is_padded=is_padded)
    return StateJoinBuffer(backend.map_state(_descriptor(name)))
