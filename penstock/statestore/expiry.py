"""State that expires: a layer over the handles of any backend.

When content was written, or read, is kept beside it in a state of its own, named after the state and invisible to
programs: a value has a timestamp, each element of a list has one, each entry of a map has one. The content itself is
stored as if it lived for ever. So a program may switch the time to live on (what has no timestamp yet starts to live
when it is first seen), change it or switch it off (the timestamps are dropped), and old state stays readable.

Content is expired ``ttl`` milliseconds after its timestamp. Reading expired content removes it; whether that one
reading still returns it, the visibility says. What nobody reads goes by the clean-up strategies:

- *Incrementally*: each access, or each record, looks at a few entries. This is the heap's way.
- *While compacting*: RocksDB has no hook for Python in its compaction. Instead, whenever the state has been accessed
  as many times as the strategy says, as many entries are looked at, which costs the same and finds what a compaction
  would find.
- *In full snapshots*: expired content is left out of what is written; the running state keeps it. A RocksDB
  checkpoint that is not written entry by entry has it removed by the compaction strategy only.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.statestore.backend import NamespacedState
from penstock.statestore.copying import copied
from penstock.statestore.state_kinds import kind_of
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.program_checks import none_returned
from penstock.vocabulary.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState
from penstock.vocabulary.state.ttl import StateTtlConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.statestore.backend import KeyContext

__all__ = ["EXPIRY_SUFFIX", "CleanUp", "ExpiringState", "expiring_handle", "times_descriptor", "without_expired"]

EXPIRY_SUFFIX = "\x00expiry"
"""What the name of the timestamps' state ends with."""


def times_descriptor(descriptor: StateDescriptor) -> StateDescriptor:
    """Return the descriptor of the state that holds the timestamps of a state."""
    name = descriptor.get_name() + EXPIRY_SUFFIX
    kinds: dict[str, Callable[[str], StateDescriptor]] = {"list": ListStateDescriptor, "map": MapStateDescriptor}
    return kinds.get(kind_of(descriptor), ValueStateDescriptor)(name)


def expiring_handle(descriptor: StateDescriptor, content: Any, times: Any, now: Callable[[], int]) -> ExpiringState:
    """Put the time to live of a descriptor in front of a handle of its content.

    Args:
        descriptor: The descriptor, with a time to live.
        content: The handle of the content, without a default; for reducing and aggregating state that of a plain
            value.
        times: The handle of the timestamps.
        now: The clock.
    """
    config: Any = descriptor.ttl_config
    return _HANDLES[kind_of(descriptor)](descriptor, config, content, times, now)


class ExpiringState(NamespacedState):
    """What all expiring handles have."""

    def __init__(
        self, descriptor: Any, config: StateTtlConfig, content: Any, times: Any, now: Callable[[], int]
    ) -> None:
        self._descriptor = descriptor
        self._ttl = config.ttl_millis
        self._renews_on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        visibility = config.get_state_visibility()
        self._shows_expired = visibility is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
        self._content = content
        self._times = times
        self._now = now
        self.on_access: Callable[[], None] | None = None
        """Called before each access: the turn of the clean-up."""

    def set_namespace(self, namespace: Any) -> None:
        """Look at another namespace from now on."""
        self._content.set_namespace(namespace)
        self._times.set_namespace(namespace)

    def clear(self) -> None:
        """Forget what the current key has."""
        self._content.clear()
        self._times.clear()

    @abstractmethod
    def remove_expired(self) -> None:
        """Forget what the current key has and is expired, without renewing anything."""

    def _begin(self) -> int:
        if self.on_access is not None:
            self.on_access()
        return self._now()

    def _is_expired(self, timestamp: int | None, now: int) -> bool:
        return timestamp is not None and timestamp + self._ttl <= now


class _ExpiringOne(ExpiringState):
    """One value per key: a plain one, a reduced one or an accumulator."""

    def remove_expired(self) -> None:
        if self._is_expired(self._times.value(), self._now()):
            self.clear()

    def _read(self) -> Any:
        now = self._begin()
        value = self._content.value()
        if value is None:
            return None
        timestamp = self._times.value()
        if self._is_expired(timestamp, now):
            self.clear()
            return value if self._shows_expired else None
        if timestamp is None or (self._renews_on_read and timestamp != now):
            self._times.update(now)
        return value

    def _live(self, now: int) -> Any:
        """Return the value to build on: what is expired does not count, whoever may see it."""
        return None if self._is_expired(self._times.value(), now) else self._content.value()

    def _write(self, value: Any, now: int) -> None:
        self._content.update(value)
        self._times.update(None if value is None else now)


class _ExpiringValue(_ExpiringOne, ValueState[Any]):
    def value(self) -> Any:
        value = self._read()
        return copied(self._descriptor.default_value) if value is None else value

    def update(self, value: Any) -> None:
        now = self._begin()
        self._write(value, now)


class _ExpiringReducing(_ExpiringOne, ReducingState[Any]):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        function = self._descriptor.get_reduce_function()
        self._reduce = function.reduce if isinstance(function, ReduceFunction) else function

    def get(self) -> Any:
        return self._read()

    def add(self, value: Any) -> None:
        now = self._begin()
        found = self._live(now)
        result = value if found is None else self._reduce(found, value)
        if result is None and found is not None:
            raise none_returned(self._reduce, "reduce", value)
        self._write(result, now)


class _ExpiringAggregating(_ExpiringOne, AggregatingState[Any, Any]):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._function = self._descriptor.get_agg_function()

    def get(self) -> Any:
        found = self._read()
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        now = self._begin()
        found = self._live(now)
        accumulator = self._function.create_accumulator() if found is None else found
        result = self._function.add(value, accumulator)
        if result is None:
            raise none_returned(self._function, "add", value)
        self._write(result, now)


class _ExpiringList(ExpiringState, ListState[Any]):
    def get(self) -> list[Any]:
        now = self._begin()
        elements, times = self._both(now)
        expired = [self._is_expired(timestamp, now) for timestamp in times]
        if any(expired) or self._renews_on_read:
            self._keep(elements, times, expired, renewed=now if self._renews_on_read else None)
        if self._shows_expired or not any(expired):
            return elements
        return [element for element, is_gone in zip(elements, expired, strict=True) if not is_gone]

    def add(self, value: Any) -> None:
        now = self._begin()
        self._content.add(value)
        self._times.add(now)

    def add_all(self, values: Iterable[Any]) -> None:
        now = self._begin()
        added = list(values)
        self._content.add_all(added)
        self._times.add_all([now] * len(added))

    def update(self, values: Iterable[Any]) -> None:
        now = self._begin()
        replaced = list(values)
        self._content.update(replaced)
        self._times.update([now] * len(replaced))

    def remove_expired(self) -> None:
        now = self._now()
        elements, times = self._both(now)
        expired = [self._is_expired(timestamp, now) for timestamp in times]
        if any(expired):
            self._keep(elements, times, expired)

    def _both(self, now: int) -> tuple[list[Any], list[int]]:
        elements, times = list(self._content.get()), list(self._times.get())
        missing = len(elements) - len(times)
        if missing:
            # Elements from before there was a time to live are the older ones.
            times = [now] * missing + times if missing > 0 else times[-len(elements) :]
            self._times.update(times)
        return elements, times

    def _keep(self, elements: list[Any], times: list[int], expired: list[bool], *, renewed: int | None = None) -> None:
        kept = [number for number, is_gone in enumerate(expired) if not is_gone]
        if len(kept) < len(elements):
            self._content.update([elements[number] for number in kept])
        self._times.update([times[number] if renewed is None else renewed for number in kept])


class _ExpiringMap(ExpiringState, MapState[Any, Any]):
    def get(self, key: Any) -> Any:
        now = self._begin()
        if not self._content.contains(key):
            return None
        value = self._content.get(key)
        return value if self._touch(key, now) else None

    def put(self, key: Any, value: Any) -> None:
        now = self._begin()
        self._content.put(key, value)
        self._times.put(key, now)

    def put_all(self, dict_value: Any) -> None:
        now = self._begin()
        self._content.put_all(dict_value)
        self._times.put_all(dict.fromkeys(dict_value, now))

    def remove(self, key: Any) -> None:
        self._begin()
        self._content.remove(key)
        self._times.remove(key)

    def contains(self, key: Any) -> bool:
        now = self._begin()
        return self._content.contains(key) and self._touch(key, now)

    def items(self) -> list[tuple[Any, Any]]:
        now = self._begin()
        return [(key, value) for key, value in list(self._content.items()) if self._touch(key, now)]

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]

    def values(self) -> list[Any]:
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        return not self.items()

    def remove_expired(self) -> None:
        now = self._now()
        for key, timestamp in list(self._times.items()):
            if self._is_expired(timestamp, now):
                self._content.remove(key)
                self._times.remove(key)

    def _touch(self, key: Any, now: int) -> bool:
        """Renew or remove an entry that exists and tell whether the program may see it."""
        timestamp = self._times.get(key)
        if self._is_expired(timestamp, now):
            self._content.remove(key)
            self._times.remove(key)
            return self._shows_expired
        if timestamp is None or (self._renews_on_read and timestamp != now):
            self._times.put(key, now)
        return True


class CleanUp:
    """Looks for expired content of one state, some entries at a time, over and over.

    Args:
        state: A handle of the state that nobody else uses.
        keys: Where the handle finds its key.
        entries: Begins a round over the namespaces and keys that have timestamps.
        size: How many keys are looked at in one go.
        every: How many accesses lie between two goes.
    """

    def __init__(
        self,
        state: ExpiringState,
        keys: KeyContext,
        entries: Callable[[], Iterator[tuple[Any, Any]]],
        *,
        size: int,
        every: int = 1,
    ) -> None:
        self._state = state
        self._keys = keys
        self._entries = entries
        self._size = size
        self._every = every
        self._accesses = 0
        self._round: Iterator[tuple[Any, Any]] = iter(())
        self._is_sweeping = False

    def on_access(self) -> None:
        """Take note of an access and look at entries when it is time."""
        self._accesses += 1
        if self._accesses >= self._every:
            self._accesses = 0
            self.sweep()

    def sweep(self) -> None:
        """Look at the next entries; the current key is the same afterwards."""
        if self._is_sweeping:  # changing the current key may call this again
            return
        self._is_sweeping = True
        current = self._keys.current()
        try:
            for _ in range(self._size):
                found = next(self._round, None)
                if found is None:
                    self._round = self._entries()
                    break
                namespace, self._keys.key = found
                self._state.set_namespace(namespace)
                self._state.remove_expired()
        finally:
            self._keys.restore(current)
            self._is_sweeping = False


_HANDLES: dict[str, type[ExpiringState]] = {
    "value": _ExpiringValue,
    "list": _ExpiringList,
    "map": _ExpiringMap,
    "reducing": _ExpiringReducing,
    "aggregating": _ExpiringAggregating,
}


def without_expired(kind: str, content: Any, times: Any, ttl: int, now: int) -> tuple[Any, Any]:
    """Return the content and the timestamps of one key without what is expired, twice None if nothing is left."""
    if kind == "list":
        if len(content) != len(times):
            return content, times
        kept = [(element, each) for element, each in zip(content, times, strict=True) if each + ttl > now]
        return ([element for element, _ in kept], [each for _, each in kept]) if kept else (None, None)
    if kind == "map":
        gone = {key for key, each in times.items() if each + ttl <= now}
        left = {key: value for key, value in content.items() if key not in gone}
        return (left, {key: each for key, each in times.items() if key not in gone}) if left else (None, None)
    return (None, None) if times + ttl <= now else (content, times)
