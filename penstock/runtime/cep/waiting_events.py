"""Events that wait until their time has come, so that they are matched in the order of their timestamps.

They stand by timestamp, those of all keys together: when time passes, those that are due are taken out once and given
to their keys. For a snapshot they are put into the keyed state, by key.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from penstock.statestore.heap_table import isolated
from penstock.vocabulary.state_descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.statestore.backend import KeyContext, KeyedStateBackend

__all__ = ["WAITING", "Due", "WaitingEvents"]

WAITING = "eventQueuesStateName"
"""The name of the state, which is Flink's."""
Due = dict[Any, list[tuple[int, Any]]]
"""For each key its events as ``(timestamp, value)``, in their order."""


class WaitingEvents:
    """The events of one operator whose time has not come."""

    def __init__(self, backend: KeyedStateBackend, keys: KeyContext) -> None:
        self._backend = backend
        self._keys = keys
        self._state: Any = backend.map_state(MapStateDescriptor(WAITING))
        self._times: list[int] = []
        self.buckets: dict[int, list[tuple[Any, Any]]] = {}
        """By timestamp: key and value of each event."""
        self._stored: list[Any] = []
        for key in backend.keys(WAITING):
            keys.key = key
            for timestamp, values in list(self._state.items()):
                self.bucket(timestamp).extend((key, value) for value in values)
            self._stored.append(key)
        self.release()

    def bucket(self, timestamp: int) -> list[tuple[Any, Any]]:
        """Return where the events of a timestamp wait."""
        found = self.buckets.get(timestamp)
        if found is None:
            found = self.buckets[timestamp] = []
            heapq.heappush(self._times, timestamp)
        return found

    def take(self, limit: int) -> Due:
        """Take out the events up to a time."""
        due: Due = {}
        times = self._times
        while times and times[0] <= limit:
            timestamp = heapq.heappop(times)
            for key, value in self.buckets.pop(timestamp):
                events = due.get(key)
                if events is None:
                    due[key] = [(timestamp, value)]
                else:
                    events.append((timestamp, value))
        return due

    def store(self) -> None:
        """Put all events into the keyed state, for a snapshot."""
        self.release()
        by_key: dict[Any, dict[int, list[Any]]] = {}
        for timestamp, bucket in self.buckets.items():
            for key, value in bucket:
                by_key.setdefault(key, {}).setdefault(timestamp, []).append(isolated(value))
        for key, values in by_key.items():
            self._keys.key = key
            self._state.put_all(values)
        self._stored = list(by_key)

    def release(self) -> None:
        """Take the events out of the keyed state again: a snapshot has its own."""
        for key in self._stored:
            self._keys.key = key
            self._state.clear()
        self._stored = []
