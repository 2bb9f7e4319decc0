"""How the handles of the heap backend reach what the current key has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.native import native

if TYPE_CHECKING:
    from penstock.statestore.heap_table import Entries, HeapTable
    from penstock.statestore.key_cell import KeyCell

__all__ = ["StateAccess", "ValueAccess"]

if TYPE_CHECKING or native is None:

    class StateAccess:
        """The current key, the table and the entries of the current namespace."""

        __slots__ = ("_entries", "_keys", "_table")

        def __init__(self, keys: KeyCell, table: HeapTable, entries: Entries) -> None:
            self._keys = keys
            self._table = table
            self._entries = entries

    class ValueAccess(StateAccess):
        """One value per key."""

        __slots__ = ("_initial",)

        _initial: Any

        def value(self) -> Any:
            """Return the value of the current key."""
            return self._entries.get(self._keys.key, self._initial)

        def update(self, value: Any) -> None:
            """Set the value of the current key; ``None`` forgets it."""
            if value is None:
                self._entries.pop(self._keys.key, None)
            else:
                self._entries[self._keys.key] = value
else:
    StateAccess, ValueAccess = native.StateAccess, native.ValueAccess
