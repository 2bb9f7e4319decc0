"""Keeps what an unaligned barrier has overtaken, as it was when it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import StateRestoreError
from penstock.foundation.plain_data import Fields, seal, unseal
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.value_codec import PROGRAM_CLASSES, ClassTable, ValueReader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.runtime.exchange.elements import Element
    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["Recording", "read_recording"]

_KIND = b"PENFLOWN"
_VERSIONS = range(1, 2)


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
        plain = {"classes": [each.to_plain() for each in self._table.schemas()], "elements": self._parts}
        return seal(_KIND, 1, plain)


def read_recording(data: bytes, operator: str, classes: StoredClasses = PROGRAM_CLASSES) -> list[tuple[int, Element]]:
    """Return the recorded elements with their channels, with values of classes that ``classes`` finds.

    Raises:
        StateRestoreError: This program cannot read them.
    """
    try:
        with Fields(unseal(data, _KIND, _VERSIONS, "records in flight"), "the records in flight") as fields:
            reader = ValueReader(fields.take_list("classes", ClassSchema.from_plain), classes)
            parts = fields.take("elements", list)
        return [(int(channel), reader.loads(element)) for channel, element in parts]
    except Exception as error:
        problem = f"The records in flight of the checkpoint cannot be read by this program: {error}."
        raise StateRestoreError(problem, operator) from error
