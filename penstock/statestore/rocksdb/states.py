"""The handles of the RocksDB backend: reading decodes and writing encodes, so no object is shared with the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.statestore.backend import NamespacedState
from penstock.statestore.state_defaults import default_maker
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.program_checks import none_returned
from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.statestore.backend import KeyContext
    from penstock.statestore.rocksdb.database import Database
    from penstock.statestore.rocksdb.layout import Layout

__all__ = ["ROCKSDB_HANDLES", "RocksState"]

_NO_KEY = object()


class RocksState(NamespacedState):
    """What all handles have: the current key, the database and the bytes that stand for the state and the namespace."""

    def __init__(
        self, keys: KeyContext, database: Database, layout: Layout, state: bytes, descriptor: Any, namespace: Any
    ) -> None:
        self._keys = keys
        self._database = database
        self._layout = layout
        self._key_of = layout.key
        self._state = state
        self._descriptor = descriptor
        self._namespace = layout.namespace(namespace)
        self._last_key: Any = _NO_KEY
        self._last_place = b""
        self._mark = b""
        """What goes in front of content that is stored at the place last asked for."""

    def set_namespace(self, namespace: Any) -> None:
        """Look at another namespace from now on."""
        self._namespace = self._layout.namespace(namespace)
        self._last_key = _NO_KEY

    def _place(self) -> bytes:
        # A function asks several times for the same key: a record's value is read, then written.
        key = self._keys.key
        if key is self._last_key:
            return self._last_place
        group, encoded, self._mark = self._key_of(key)
        self._last_key = key
        place = self._last_place = group + self._state + encoded + self._namespace
        return place


class _RocksRawState(RocksState, ValueState[Any]):
    """One value per key of any kind of state, without a default."""

    def value(self) -> Any:
        place = self._place()
        data = self._database.get(place)
        return None if data is None else self._layout.loads(data, place)

    def update(self, value: Any) -> None:
        place = self._place()
        self._database.put(place, None if value is None else self._mark + self._layout.dumps(value))

    def clear(self) -> None:
        self._database.put(self._place(), None)


class _RocksValueState(_RocksRawState):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._initial = self._descriptor.default_value
        self._make_default = default_maker(self._initial)

    def value(self) -> Any:
        place = self._place()
        data = self._database.get(place)
        if data is not None:
            return self._layout.loads(data, place)
        return self._initial if self._make_default is None else self._make_default()


class _RocksReducingState(RocksState, ReducingState[Any]):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        function = self._descriptor.get_reduce_function()
        self._reduce = function.reduce if isinstance(function, ReduceFunction) else function

    def get(self) -> Any:
        place = self._place()
        data = self._database.get(place)
        return None if data is None else self._layout.loads(data, place)

    def add(self, value: Any) -> None:
        place = self._place()
        data = self._database.get(place)
        result = value if data is None else self._reduce(self._layout.loads(data, place), value)
        if result is None and data is not None:
            raise none_returned(self._reduce, "reduce", value)
        self._database.put(place, self._mark + self._layout.dumps(result))

    def clear(self) -> None:
        self._database.put(self._place(), None)


class _RocksAggregatingState(RocksState, AggregatingState[Any, Any]):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._function = self._descriptor.get_agg_function()

    def get(self) -> Any:
        place = self._place()
        data = self._database.get(place)
        return None if data is None else self._function.get_result(self._layout.loads(data, place))

    def add(self, value: Any) -> None:
        place = self._place()
        data = self._database.get(place)
        accumulator = self._function.create_accumulator() if data is None else self._layout.loads(data, place)
        result = self._function.add(value, accumulator)
        if result is None:
            raise none_returned(self._function, "add", value)
        self._database.put(place, self._mark + self._layout.dumps(result))

    def clear(self) -> None:
        self._database.put(self._place(), None)


class _RocksListState(RocksState, ListState[Any]):
    def get(self) -> list[Any]:
        place, loads = self._place(), self._layout.loads
        return [loads(value, place) for _, value in self._database.members(place)]

    def add(self, value: Any) -> None:
        place = self._place()
        self._database.put_member(place, self._layout.element(), self._mark + self._layout.dumps(value))

    def add_all(self, values: Iterable[Any]) -> None:
        added = list(values)
        place, layout, mark = self._place(), self._layout, self._mark
        for value in added:
            self._database.put_member(place, layout.element(), mark + layout.dumps(value))

    def update(self, values: Iterable[Any]) -> None:
        replaced = list(values)
        self.clear()
        self.add_all(replaced)

    def clear(self) -> None:
        self._database.clear_members(self._place())


class _RocksMapState(RocksState, MapState[Any, Any]):
    def get(self, key: Any) -> Any:
        place = self._place()
        data = self._database.get_member(place, self._layout.member(key))
        return None if data is None else self._layout.loads(data, place)

    def put(self, key: Any, value: Any) -> None:
        self._put(self._place(), key, value)

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        place = self._place()
        for key, value in dict_value.items():
            self._put(place, key, value)

    def _put(self, place: bytes, key: Any, value: Any) -> None:
        layout = self._layout
        mark = self._mark + layout.member_mark(key)
        self._database.put_member(place, layout.member(key), mark + layout.dumps(value))

    def remove(self, key: Any) -> None:
        self._database.put_member(self._place(), self._layout.member(key), None)

    def contains(self, key: Any) -> bool:
        return self._database.get_member(self._place(), self._layout.member(key)) is not None

    def items(self) -> list[tuple[Any, Any]]:
        place, layout = self._place(), self._layout
        members = self._database.members(place)
        return [(layout.map_key(member, value), layout.loads(value, place)) for member, value in members]

    def keys(self) -> list[Any]:
        return [self._layout.map_key(member, value) for member, value in self._database.members(self._place())]

    def values(self) -> list[Any]:
        place, loads = self._place(), self._layout.loads
        return [loads(value, place) for _, value in self._database.members(place)]

    def is_empty(self) -> bool:
        return not self._database.members(self._place())

    def clear(self) -> None:
        self._database.clear_members(self._place())


ROCKSDB_HANDLES: dict[str, type[RocksState]] = {
    "raw": _RocksRawState,
    "value": _RocksValueState,
    "list": _RocksListState,
    "map": _RocksMapState,
    "reducing": _RocksReducingState,
    "aggregating": _RocksAggregatingState,
}
"""The handle of each kind of state; ``raw`` sees what is stored, whatever the kind."""
