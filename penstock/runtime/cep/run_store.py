"""Where the half matches of all keys are: in objects of the worker, or in a state backend on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.runtime.cep.stored_runs import RUNS
from penstock.statestore.copying import copied
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.state.descriptors import ValueStateDescriptor

if TYPE_CHECKING:
    from penstock.runtime.cep.runs import KeyRuns
    from penstock.runtime.cep.stored_runs import RunCodec
    from penstock.statestore.backend import KeyContext, KeyedStateBackend

__all__ = ["HeapRunStore", "RunStore", "StateRunStore", "run_store"]


class RunStore(ABC):
    """What is kept of each key; the current key must be the one that is asked for."""

    entries: dict[Any, KeyRuns] | None = None
    """All of it, where it is in memory."""

    @abstractmethod
    def get(self, key: Any) -> KeyRuns | None:
        """Return what is kept of a key."""

    @abstractmethod
    def put(self, key: Any, kept: KeyRuns) -> None:
        """Keep something that has changed."""

    @abstractmethod
    def remove(self, key: Any) -> None:
        """Keep nothing of a key."""

    @abstractmethod
    def keys(self) -> list[Any]:
        """Return the keys of which something is kept."""

    def check(self) -> None:  # noqa: B027 - what is in memory has been read already
        """Read everything once, to find out whether it fits the pattern."""

    def store(self) -> None:  # noqa: B027 - what is in the state already needs no storing
        """Put everything into the keyed state, for a snapshot."""


class HeapRunStore(RunStore):
    """Keeps the objects themselves; those that have changed since the last snapshot go into the next one."""

    def __init__(self, backend: HeapStateBackend, keys: KeyContext, codec: RunCodec, namespace: str | None) -> None:
        self._codec = codec
        self._keys = keys
        self._state = backend.value_state(_descriptor(), namespace)
        self._changed: set[Any] = set()
        entries: dict[Any, KeyRuns] = {}
        self.entries = self._entries = entries
        for key in backend.keys(RUNS, namespace):
            keys.key = key
            entries[key] = codec.decode(self._state.value())
        self.get = entries.get  # type: ignore[method-assign, assignment]

    def get(self, key: Any) -> KeyRuns | None:
        """Return what is kept of a key."""
        return self._entries.get(key)

    def put(self, key: Any, kept: KeyRuns) -> None:
        """Keep something that has changed."""
        self._entries[key] = kept
        self._changed.add(key)

    def remove(self, key: Any) -> None:
        """Keep nothing of a key."""
        del self._entries[key]
        self._changed.add(key)

    def keys(self) -> list[Any]:
        """Return the keys of which something is kept."""
        return list(self._entries)

    def store(self) -> None:
        """Put what has changed into the keyed state."""
        for key in self._changed:
            self._keys.key = key
            kept = self._entries.get(key)
            if kept is None:
                self._state.clear()
            else:
                self._state.update(self._codec.encode(kept, copied))
        self._changed.clear()


class StateRunStore(RunStore):
    """Reads and writes the state of any backend."""

    def __init__(self, backend: KeyedStateBackend, keys: KeyContext, codec: RunCodec, namespace: str | None) -> None:
        self._backend = backend
        self._keys = keys
        self._codec = codec
        self._state = backend.value_state(_descriptor(), namespace)
        self._namespace = namespace

    def get(self, key: Any) -> KeyRuns | None:
        """Return what is kept of a key."""
        stored: Any = self._state.value()
        return None if stored is None else self._codec.decode(stored)

    def put(self, key: Any, kept: KeyRuns) -> None:
        """Keep something that has changed."""
        self._state.update(self._codec.encode(kept))

    def remove(self, key: Any) -> None:
        """Keep nothing of a key."""
        self._state.clear()

    def keys(self) -> list[Any]:
        """Return the keys of which something is kept."""
        return self._backend.keys(RUNS, self._namespace)

    def check(self) -> None:
        """Read everything once, to find out whether it fits the pattern."""
        for key in self.keys():
            self._keys.key = key
            self.get(key)


def _descriptor() -> ValueStateDescriptor[Any]:
    return ValueStateDescriptor(RUNS, None)


def run_store(backend: KeyedStateBackend, keys: KeyContext, codec: RunCodec, namespace: str | None = None) -> RunStore:
    """Return the store that suits a state backend; each namespace has its own content."""
    if isinstance(backend, HeapStateBackend):
        return HeapRunStore(backend, keys, codec, namespace)
    return StateRunStore(backend, keys, codec, namespace)
