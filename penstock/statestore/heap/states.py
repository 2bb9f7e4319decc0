"""The handles of the heap backend: what functions see of the dictionaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native
from penstock.statestore.backend import NamespacedState
from penstock.statestore.state_defaults import default_maker, default_of
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.program_checks import none_returned
from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from penstock.statestore.backend import KeyContext
    from penstock.statestore.heap.table import Entries, HeapTable

__all__ = ["HEAP_HANDLES", "HeapState"]


class HeapState(NamespacedState):
    """What all handles have: the current key, the table and the entries of the current namespace."""

    __slots__ = ("_entries", "_keys", "_table")

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any) -> None:
        self._keys = keys
        self._table = table
        self._entries: Entries = table.view(namespace)
        table.add_user(self)

    def set_namespace(self, namespace: Any) -> None:
        """Look at another namespace from now on."""
        self._entries = self._table.view(namespace)

    def clear(self) -> None:
        """Forget what the current key has."""
        self._entries.pop(self._keys.key, None)


class _HeapValueState(HeapState, ValueState[Any]):
    __slots__ = ("_initial",)

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        self._initial = default_of(table.descriptor)

    def value(self) -> Any:
        return self._entries.get(self._keys.key, self._initial)

    def update(self, value: Any) -> None:
        if value is None:
            self._entries.pop(self._keys.key, None)
        else:
            self._entries[self._keys.key] = value


class _HeapCopyingValueState(_HeapValueState):
    """One value per key with a default that could be changed: each time it is asked for, it is a new one."""

    __slots__ = ("_make_default",)

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any, make_default: Callable[[], Any]) -> None:
        super().__init__(keys, table, namespace)
        self._make_default = make_default

    def value(self) -> Any:
        found = self._entries.get(self._keys.key)
        return self._make_default() if found is None else found


class _HeapListState(HeapState, ListState[Any]):
    __slots__ = ()

    def get(self) -> list[Any]:
        return list(self._entries.get(self._keys.key, ()))

    def add(self, value: Any) -> None:
        self._entries.setdefault(self._keys.key, []).append(value)

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


class _HeapMapState(HeapState, MapState[Any, Any]):
    __slots__ = ()

    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] | None = self._entries.get(self._keys.key)
        return {} if found is None else found

    def get(self, key: Any) -> Any:
        return self._map().get(key)

    def put(self, key: Any, value: Any) -> None:
        self._entries.setdefault(self._keys.key, {})[key] = value

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        if dict_value:
            self._entries.setdefault(self._keys.key, {}).update(dict_value)

    def remove(self, key: Any) -> None:
        if self._keys.key in self._entries:
            left = self._entries.setdefault(self._keys.key, {})
            left.pop(key, None)
            if not left:
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


class _HeapReducingState(HeapState, ReducingState[Any]):
    __slots__ = ("_reduce",)

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        function = table.descriptor.get_reduce_function()
        self._reduce: Callable[[Any, Any], Any] = function.reduce if isinstance(function, ReduceFunction) else function

    def get(self) -> Any:
        return self._entries.get(self._keys.key)

    def add(self, value: Any) -> None:
        key = self._keys.key
        found = self._entries.get(key)
        self._entries[key] = result = value if found is None else self._reduce(found, value)
        if result is None and found is not None:
            raise none_returned(self._reduce, "reduce", value)


class _HeapAggregatingState(HeapState, AggregatingState[Any, Any]):
    __slots__ = ("_function",)

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        self._function = table.descriptor.get_agg_function()

    def get(self) -> Any:
        found = self._entries.get(self._keys.key)
        return None if found is None else self._function.get_result(found)

    def add(self, value: Any) -> None:
        key = self._keys.key
        found = self._entries.get(key)
        accumulator = self._function.create_accumulator() if found is None else found
        self._entries[key] = result = self._function.add(value, accumulator)
        if result is None:
            raise none_returned(self._function, "add", value)


class _HeapRawState(_HeapValueState):
    """One value per key of any kind of state, without a default."""

    __slots__ = ()

    def __init__(self, keys: KeyContext, table: HeapTable, namespace: Any) -> None:
        super().__init__(keys, table, namespace)
        self._initial = None


if native is not None:
    ValueState.register(native.ValueState)
    NamespacedState.register(native.ValueState)


def _value_state(keys: KeyContext, table: HeapTable, namespace: Any) -> Any:
    """Return the handle for the kind of default; that of the accelerator does what ``_HeapValueState`` does."""
    default = default_of(table.descriptor)
    make_default = default_maker(default)
    if make_default is not None:
        return _HeapCopyingValueState(keys, table, namespace, make_default)
    if native is None:
        return _HeapValueState(keys, table, namespace)
    state = native.ValueState(keys, table, table.view(namespace), default)
    table.add_user(state)
    return state


HEAP_HANDLES: dict[str, Callable[[KeyContext, HeapTable, Any], Any]] = {
    "raw": _HeapRawState,
    "value": _value_state,
    "list": _HeapListState,
    "map": _HeapMapState,
    "reducing": _HeapReducingState,
    "aggregating": _HeapAggregatingState,
}
"""The handle of each kind of state; ``raw`` sees what is stored, whatever the kind."""
