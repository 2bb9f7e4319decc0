"""Keeps what an unaligned barrier has overtaken, as it was when it came."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from penstock.errors import StateRestoreError
from penstock.statestore.value_codec import ClassSchema, ClassTable, ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.runtime.exchange.elements import Element

__all__ = ["Recording", "read_recording"]


class Recording:
    """The overtaken elements of one subtask and checkpoint, in the order they were processed.

    Elements become bytes at once: they are processed next, and functions may change the records they are given.
    """

    def __init__(self, elements: Iterable[tuple[int, Element]] = ()) -> None:
        self._table = ClassTable()
        self._parts: list[tuple[int, bytes]] = []
        for channel, element in elements:
            self.add(channel, element)

    def __bool__(self) -> bool:
        """Tell whether there is anything."""
        return bool(self._parts)

    def add(self, channel: int, element: Element) -> None:
        """Add an element behind the others."""
        self._parts.append((channel, self._table.dumps(element)))

    def encode(self) -> bytes:
        """Return the bytes that ``read_recording`` reads."""
        return pickle.dumps(([vars(schema) for schema in self._table.schemas()], self._parts), protocol=5)


def read_recording(data: bytes, operator: str) -> list[tuple[int, Element]]:
    """Return the recorded elements with their channels, with values of this program's classes.

    Raises:
        StateRestoreError: This program cannot read them.
    """
    try:
        schemas, parts = pickle.loads(data)
        reader = ValueReader([ClassSchema(**schema) for schema in schemas])
        return [(channel, reader.loads(element)) for channel, element in parts]
    except Exception as error:
        problem = f"The records in flight of the checkpoint cannot be read by this program: {error}."
        raise StateRestoreError(problem, operator) from error
