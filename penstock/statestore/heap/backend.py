"""Keyed state in dictionaries: the fast backend, and the reference for what state means."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.foundation.clock import SystemClock
from penstock.statestore.backend import KeyedStateBackend
from penstock.statestore.expiry import EXPIRY_SUFFIX, CleanUp, expiring_handle, times_descriptor
from penstock.statestore.heap.snapshot import FrozenTable, HeapSnapshot, KeyGroups
from penstock.statestore.heap.states import HEAP_HANDLES
from penstock.statestore.heap.table import HeapTable
from penstock.statestore.state_kinds import kind_mismatch, kind_of, require_max_parallelism
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.statestore.backend import KeyContext
    from penstock.statestore.expiry import ExpiringState
    from penstock.statestore.key_layout import KeyLayout
    from penstock.statestore.snapshot_format import KeyedStateReader, StateInfo, Timer

__all__ = ["HeapStateBackend"]


class HeapStateBackend(KeyedStateBackend):
    """Keeps state as Python objects in dictionaries.

    Args:
        keys: Where the current key is found.
        operator: The operator's id, for messages.
        now: The clock by which state expires, the machine's own unless given.
    """

    def __init__(self, keys: KeyContext, operator: str = "", now: Callable[[], int] | None = None) -> None:
        self._keys = keys
        self._operator = operator
        self._now = SystemClock().now if now is None else now
        self._clean_ups: dict[str, CleanUp] = {}
        self._tables: dict[str, HeapTable] = {}
        self._groups: KeyGroups | None = None
        self._lock = threading.Lock()

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
        table = self._table(descriptor)
        table.is_exposed = True
        return table.entries(namespace)

    def forget_all(self) -> None:
        """Drop the content of all states; the handles stay as they are."""
        for table in self._tables.values():
            table.forget_all()

    @property
    def is_empty(self) -> bool:
        """Tell whether no state is known."""
        return not self._tables

    def snapshot(self, key_groups: range, max_parallelism: int, timers: Iterable[Timer] = ()) -> HeapSnapshot:
        """Freeze the state of now: the synchronous part of a checkpoint."""
        if self._groups is None or self._groups.max_parallelism != max_parallelism:
            self._groups = KeyGroups(max_parallelism)
            self._layouts: dict[str, KeyLayout] = {}
        with self._lock:
            frozen = [
                FrozenTable(table.info, table.freeze(), self._once(table.thaw)) for table in self._tables.values()
            ]
        return HeapSnapshot(
            frozen,
            list(timers),
            expired_at={table.name: self._now() for table in self._tables.values() if table.leaves_out_expired},
            operator=self._operator,
            key_groups=key_groups,
            groups=self._groups,
            layouts=self._layouts,
            compresses=self.compresses_snapshots,
        )

    def restore(self, snapshots: Iterable[KeyedStateReader], key_groups: range, max_parallelism: int) -> list[Timer]:
        """Take over the given key groups of snapshots; the timers among them are for the caller to register."""
        timers: list[Timer] = []
        for reader in snapshots:
            require_max_parallelism(reader, max_parallelism, self._operator)
            for _, info, (namespaces, keys, values) in reader.read(key_groups):
                table = self._restored_table(info)
                if namespaces is None:
                    table.entries(None).update(zip(keys, values, strict=True))
                else:
                    for namespace, key, value in zip(namespaces, keys, values, strict=True):
                        table.entries(namespace)[key] = value
            timers.extend(reader.read_timers(key_groups))
        return timers

    def _once(self, call: Callable[[], None]) -> Callable[[], None]:
        """Return what calls a function, with the lock, the first time only."""
        waiting = [call]

        def first() -> None:
            with self._lock:
                if waiting:
                    waiting.pop()()

        return first

    def _restored_table(self, info: StateInfo) -> HeapTable:
        table = self._tables.get(info.name)
        if table is None:
            table = self._tables[info.name] = HeapTable(info.name, info.kind)
        return table

    def _table(self, descriptor: StateDescriptor) -> HeapTable:
        name = descriptor.get_name()
        kind = kind_of(descriptor)
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = HeapTable(name, kind, descriptor)
        elif table.kind != kind:
            raise kind_mismatch(name, table.kind, kind, self._operator, is_restored=table.descriptor is None)
        elif table.descriptor is None:
            table.descriptor = descriptor
        return table

    def _handle(self, descriptor: Any, kind: type[StateDescriptor], namespace: Any) -> Any:
        if not isinstance(descriptor, kind):
            message = f"A {kind.__name__} is needed here, not {descriptor!r}."
            raise ProgramError(message)
        table = self._table(descriptor)
        if descriptor.ttl_config is not None:
            return self._expiring_handle(descriptor, table, namespace)
        # Timestamps from when the state had a time to live would be wrong if it ever had one again.
        self._tables.pop(table.name + EXPIRY_SUFFIX, None)
        return self._plain_handle(table.kind, table, namespace)

    def _plain_handle(self, kind: str, table: HeapTable, namespace: Any) -> Any:
        with self._lock:
            return HEAP_HANDLES[kind](self._keys, table, namespace)

    def _expiring_handle(self, descriptor: StateDescriptor, table: HeapTable, namespace: Any) -> ExpiringState:
        times = self._table(times_descriptor(descriptor))
        clean_up = self._clean_ups.get(table.name)
        if clean_up is None:
            config: Any = descriptor.ttl_config
            strategy = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
            if strategy is not None:
                sweeping = self._new_expiring_handle(descriptor, table, times, namespace)
                clean_up = CleanUp(sweeping, self._keys, times.all_keys, size=strategy.get_cleanup_size())
                self._clean_ups[table.name] = clean_up
                if strategy.run_cleanup_for_every_record():
                    self._keys.listen(clean_up.sweep)
        handle = self._new_expiring_handle(descriptor, table, times, namespace)
        handle.on_access = None if clean_up is None else clean_up.on_access
        return handle

    def _new_expiring_handle(
        self, descriptor: StateDescriptor, table: HeapTable, times: HeapTable, namespace: Any
    ) -> ExpiringState:
        content = self._plain_handle("raw" if times.kind == "value" else table.kind, table, namespace)
        return expiring_handle(descriptor, content, self._plain_handle(times.kind, times, namespace), self._now)
