"""Keyed state in dictionaries: the fast backend, and the reference for what state means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.statestore.backend import KeyContext, KeyedStateBackend, NamespacedState
from penstock.vocabulary.functions import ReduceFunction
from penstock.vocabulary.state import AggregatingState, ListState, MapState, ReducingState, ValueState
from penstock.vocabulary.state_descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["HeapStateBackend"]

_Entries = dict[Any, Any]


class _Table:
    """The content of one state: per namespace, what each key has."""

    __slots__ = ("descriptor", "namespaces")

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor
        self.namespaces: dict[Any, _Entries] = {}

    def entries(self, namespace: Any) -> _Entries:
        found = self.namespaces.get(namespace)
        if found is None:
            found = self.namespaces[namespace] = {}
        return found


class _HeapState(NamespacedState):
    """What all handles have: the current key, the table and the entries of the current namespace."""

    __slots__ = ("_entries", "_keys", "_table")

    def __init__(self, keys: KeyContext, table: _Table, namespace: Any) -> None:
        self._keys = keys
        self._table = table
        self._entries = table.entries(namespace)

    def set_namespace(self, namespace: Any) -> None:
        self._entries = self._table.entries(namespace)

    def clear(self) -> None:
        """Forget what the current key has."""
        self._entries.pop(self._keys.key, None)


class _HeapValueState(_HeapState, ValueState[Any]):
    __slots__ = ("_initial",)

    def __init__(self, keys: KeyContext, table: _Table, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        self._initial = getattr(table.descriptor, "default_value", None)

    def value(self) -> Any:
        return self._entries.get(self._keys.key, self._initial)

    def update(self, value: Any) -> None:
        if value is None:
            self._entries.pop(self._keys.key, None)
        else:
            self._entries[self._keys.key] = value


class _HeapListState(_HeapState, ListState[Any]):
    __slots__ = ()

    def get(self) -> list[Any]:
        return list(self._entries.get(self._keys.key, ()))

    def add(self, value: Any) -> None:
        found = self._entries.get(self._keys.key)
        if found is None:
            self._entries[self._keys.key] = [value]
        else:
            found.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        added = list(values)
        if added:
            self._entries.setdefault(self._keys.key, []).extend(added)

    def update(self, values: Iterable[Any]) -> None:
        replaced = list(values)
        if replaced:
            self._entries[self._keys.key] = replaced
        else:
            self.clear()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())


class _HeapMapState(_HeapState, MapState[Any, Any]):
    __slots__ = ()

    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] | None = self._entries.get(self._keys.key)
        return {} if found is None else found

    def get(self, key: Any) -> Any:
        return self._map().get(key)

    def put(self, key: Any, value: Any) -> None:
        found = self._entries.get(self._keys.key)
        if found is None:
            self._entries[self._keys.key] = {key: value}
        else:
            found[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        if dict_value:
            self._entries.setdefault(self._keys.key, {}).update(dict_value)

    def remove(self, key: Any) -> None:
        found = self._entries.get(self._keys.key)
        if found is not None:
            found.pop(key, None)
            if not found:
                self.clear()

    def contains(self, key: Any) -> bool:
        return key in self._map()

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._map().items())

    def keys(self) -> list[Any]:
        return list(self._map())

    def values(self) -> list[Any]:
        return list(self._map().values())

    def is_empty(self) -> bool:
        return not self._map()

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())


class _HeapReducingState(_HeapState, ReducingState[Any]):
    __slots__ = ("_reduce",)

    def __init__(self, keys: KeyContext, table: _Table, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        function = table.descriptor.get_reduce_function()  # type: ignore[attr-defined]
        self._reduce: Callable[[Any, Any], Any] = function.reduce if isinstance(function, ReduceFunction) else function

    def get(self) -> Any:
        return self._entries.get(self._keys.key)

    def add(self, value: Any) -> None:
        key = self._keys.key
        found = self._entries.get(key)
        self._entries[key] = value if found is None else self._reduce(found, value)


class _HeapAggregatingState(_HeapState, AggregatingState[Any, Any]):
    __slots__ = ("_function",)

    def __init__(self, keys: KeyContext, table: _Table, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        self._function = table.descriptor.get_agg_function()  # type: ignore[attr-defined]

    def get(self) -> Any:
        found = self._entries.get(self._keys.key)
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        key = self._keys.key
        found = self._entries.get(key)
        accumulator = self._function.create_accumulator() if found is None else found
        self._entries[key] = self._function.add(value, accumulator)


_HANDLES: dict[type[StateDescriptor], type[_HeapState]] = {
    ValueStateDescriptor: _HeapValueState,
    ListStateDescriptor: _HeapListState,
    MapStateDescriptor: _HeapMapState,
    ReducingStateDescriptor: _HeapReducingState,
    AggregatingStateDescriptor: _HeapAggregatingState,
}


class HeapStateBackend(KeyedStateBackend):
    """Keeps state as Python objects in dictionaries."""

    def __init__(self, keys: KeyContext) -> None:
        self._keys = keys
        self._tables: dict[str, _Table] = {}

    def value_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with one value per key."""
        return self._handle(descriptor, ValueStateDescriptor, namespace)

    def list_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with a list per key."""
        return self._handle(descriptor, ListStateDescriptor, namespace)

    def map_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state with a map per key."""
        return self._handle(descriptor, MapStateDescriptor, namespace)

    def reducing_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state that reduces what is added."""
        return self._handle(descriptor, ReducingStateDescriptor, namespace)

    def aggregating_state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of a state that aggregates what is added."""
        return self._handle(descriptor, AggregatingStateDescriptor, namespace)

    def state(self, descriptor: Any, namespace: Any = None) -> Any:
        """Return a handle of the kind that the descriptor describes."""
        return self._handle(descriptor, type(descriptor), namespace)

    def drop_namespace(self, descriptor_name: str, namespace: Any) -> None:
        """Forget the dictionary of a namespace once it is empty."""
        table = self._tables.get(descriptor_name)
        if table is not None and not table.namespaces.get(namespace, True):
            del table.namespaces[namespace]

    def keys(self, descriptor_name: str, namespace: Any = None) -> list[Any]:
        """Return the keys that have content in a state."""
        table = self._tables.get(descriptor_name)
        return [] if table is None else list(table.namespaces.get(namespace, ()))

    def entries(self, descriptor: Any, namespace: Any = None) -> dict[Any, Any]:
        """Return the dictionary of a state itself: for built-in operators that work on it directly."""
        return self._table(descriptor).entries(namespace)

    def _table(self, descriptor: StateDescriptor) -> _Table:
        name = descriptor.get_name()
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = _Table(descriptor)
        elif type(table.descriptor) is not type(descriptor):
            message = (
                f"The state {name!r} is declared twice with different kinds:"
                f" {type(table.descriptor).__name__} and {type(descriptor).__name__}. Give one of them another name."
            )
            raise ProgramError(message)
        return table

    def _handle(self, descriptor: Any, kind: type[StateDescriptor], namespace: Any) -> Any:
        handle = next((_HANDLES[known] for known in _HANDLES if isinstance(descriptor, known)), None)
        if handle is None or not isinstance(descriptor, kind):
            message = f"A {kind.__name__} is needed here, not {descriptor!r}."
            raise ProgramError(message)
        return handle(self._keys, self._table(descriptor), namespace)
