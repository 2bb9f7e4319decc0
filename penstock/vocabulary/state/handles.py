"""State as a function sees it: handles whose content belongs to the current key or to the subtask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor

__all__ = [
    "AggregatingState",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "MapState",
    "MergingState",
    "OperatorStateStore",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "State",
    "ValueState",
]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Is the root of all kinds of state."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the content for the current key."""


class ValueState(State, Generic[T]):
    """Holds one value per key."""

    @abstractmethod
    def value(self) -> T | None:
        """Return the value, or the descriptor's initial value (None unless given) if there is none."""

    @abstractmethod
    def update(self, value: T | None) -> None:
        """Set the value; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """Is state that values are added to."""

    @abstractmethod
    def get(self) -> OUT | None:
        """Return what the added values make, None if nothing was added."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Add a value."""


class MergingState(AppendingState[IN, OUT]):
    """Is appending state whose contents can be merged, as session windows need it."""


class ReducingState(MergingState[T, T]):
    """Reduces all values added for a key to one."""


class AggregatingState(MergingState[IN, OUT]):
    """Aggregates all values added for a key; the result may be of another type."""


class ListState(MergingState[T, Iterable[T]]):
    """Holds a list per key."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """Return the elements in the order they were added; empty if there are none."""

    @abstractmethod
    def update(self, values: Iterable[T]) -> None:
        """Replace the list."""

    @abstractmethod
    def add_all(self, values: Iterable[T]) -> None:
        """Add all values to the end of the list."""

    def __iter__(self) -> Iterator[T]:
        """Iterate over the elements."""
        return iter(self.get())


class _Entries(State, Generic[K, V]):
    """Reads a map; ``state[key]`` gives None for a key that is missing, as ``get`` does."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """Return the value of ``key``, None if it is missing."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Return whether ``key`` has a value."""

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]:
        """Return the entries."""

    @abstractmethod
    def keys(self) -> Iterable[K]:
        """Return the keys of the entries."""

    @abstractmethod
    def values(self) -> Iterable[V]:
        """Return the values of the entries."""

    @abstractmethod
    def is_empty(self) -> bool:
        """Return whether there are no entries."""

    def __getitem__(self, key: K) -> V | None:
        """Return the value of ``key``, None if it is missing."""
        return self.get(key)

    def __contains__(self, key: object) -> bool:
        """Return whether ``key`` has a value."""
        return self.contains(key)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys."""
        return iter(self.keys())


class MapState(_Entries[K, V]):
    """Holds a map per key; reading ``state[key]`` gives None for a key that is missing, as ``get`` does."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set all the given entries."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; nothing happens if it is missing."""

    def __setitem__(self, key: K, value: V) -> None:
        """Set the value of ``key``."""
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        """Remove ``key``."""
        self.remove(key)


class ReadOnlyBroadcastState(_Entries[K, V]):
    """Is broadcast state as the stream that is not broadcast sees it; clearing it there is an error."""


class BroadcastState(ReadOnlyBroadcastState[K, V]):
    """Is a map that every subtask holds in full and that only broadcast records change."""

    @abstractmethod
    def put(self, key: K, value: V) -> None:
        """Set the value of ``key``."""

    @abstractmethod
    def put_all(self, dict_value: Mapping[K, V]) -> None:
        """Set all the given entries."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; nothing happens if it is missing."""

    def __setitem__(self, key: K, value: V) -> None:
        """Set the value of ``key``."""
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        """Remove ``key``."""
        self.remove(key)


class OperatorStateStore(ABC):
    """Hands out state that belongs to a subtask instead of a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        """Return a map that is the same in all subtasks."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return a list whose elements are spread over the subtasks again when a job is restored."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """Return a list that every subtask gets in full, all subtasks' elements, when a job is restored."""
