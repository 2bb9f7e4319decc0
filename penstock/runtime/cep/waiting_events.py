"""Events that wait until their time has come, so that they are matched in the order of their timestamps.

Those of all keys stand in one list. What arrives between two watermarks is sorted into it once, when time passes, and
those that are due are taken out and given to their keys. For a snapshot they are put into the keyed state, by key.
"""

from __future__ import annotations

from bisect import bisect_right, insort_right
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.statestore.copying import copied
from penstock.vocabulary.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from penstock.statestore.backend import KeyContext, KeyedStateBackend

__all__ = ["WAITING", "Due", "Waiting", "WaitingEvents"]

WAITING = "eventQueuesStateName"
"""The name of the state, which is Flink's."""
Waiting = tuple[int, Any, Any]
"""Timestamp, key and value of an event."""
Due = dict[Any, list[Waiting]]
"""For each key its events, in their order."""

_timestamp = itemgetter(0)
_FEW = 16
"""Fewer arrivals than one for so many that wait are put in their places one by one."""


class WaitingEvents:
    """The events of one operator whose time has not come."""

    def __init__(self, backend: KeyedStateBackend, keys: KeyContext) -> None:
        self._keys = keys
        self._state: Any = backend.map_state(MapStateDescriptor(WAITING))
        self.arrivals: list[Waiting] = []
        """What has come since time passed the last time, in the order of arrival."""
        self._sorted: list[Waiting] = []
        self._stored: list[Any] = []
        for key in backend.keys(WAITING):
            keys.key = key
            for timestamp, values in list(self._state.items()):
                self.arrivals.extend((timestamp, key, value) for value in values)
            self._stored.append(key)
        self.release()

    def take(self, limit: int) -> Due:
        """Take out the events up to a time."""
        self._sort_in()
        waiting = self._sorted
        due: Due = {}
        if not waiting or waiting[0][0] > limit:
            return due
        if waiting[-1][0] <= limit:
            taken, self._sorted = waiting, []
        else:
            end = bisect_right(waiting, limit, key=_timestamp)
            taken = waiting[:end]
            del waiting[:end]
        for event in taken:
            key = event[1]
            events = due.get(key)
            if events is None:
                due[key] = [event]
            else:
                events.append(event)
        return due

    def store(self) -> None:
        """Put all events into the keyed state, for a snapshot."""
        self.release()
        self._sort_in()
        by_key: dict[Any, dict[int, list[Any]]] = {}
        for timestamp, key, value in self._sorted:
            by_key.setdefault(key, {}).setdefault(timestamp, []).append(copied(value))
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

    def _sort_in(self) -> None:
        """Put what has arrived in its place; events of one timestamp stay in the order of their arrival."""
        arrivals, waiting = self.arrivals, self._sorted
        if not arrivals:
            return
        self.arrivals = []
        if not waiting:
            arrivals.sort(key=_timestamp)
            self._sorted = arrivals
        elif len(arrivals) * _FEW < len(waiting):
            for event in arrivals:
                insort_right(waiting, event, key=_timestamp)
        else:
            waiting.extend(arrivals)
            waiting.sort(key=_timestamp)
