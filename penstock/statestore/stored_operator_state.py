"""Operator state on its way through checkpoints: as bytes, element by element.

The driver moves elements between subtasks and writes them into the metadata. It never reads them: their classes may
be known to the program's workers only, and one process must not hand objects of its own classes to another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import StateRestoreError
from penstock.foundation.plain_data import Fields, PlainDataError
from penstock.statestore.class_schema import ClassSchema
from penstock.statestore.operator_state import OperatorStateSnapshot, redistribute
from penstock.statestore.value_codec import PROGRAM_CLASSES, ClassTable, ValueReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["StoredOperatorState", "redistribute_stored"]


@dataclass(frozen=True)
class StoredOperatorState:
    """The operator state of one subtask; in place of each element the number of its class table and its bytes."""

    content: OperatorStateSnapshot
    classes: dict[int, tuple[ClassSchema, ...]] = field(default_factory=dict)
    """By number, the classes of the values; each subtask that has encoded elements has a table."""

    def __bool__(self) -> bool:
        """Tell whether there is any state."""
        return bool(self.content)

    @staticmethod
    def encode(snapshot: OperatorStateSnapshot, subtask: int) -> StoredOperatorState:
        """Turn the state of a subtask into bytes."""
        table = ClassTable()
        content = _changed(snapshot, lambda value: (subtask, table.dumps(value)))
        return StoredOperatorState(content, {subtask: table.schemas()})

    def decode(self, operator: str, classes: StoredClasses = PROGRAM_CLASSES) -> OperatorStateSnapshot:
        """Turn the bytes into values, of classes that ``classes`` finds.

        Raises:
            StateRestoreError: This program cannot read them.
        """
        readers = {number: ValueReader(schemas, classes) for number, schemas in self.classes.items()}
        try:
            return _changed(self.content, lambda stored: readers[stored[0]].loads(stored[1]))
        except Exception as error:
            problem = f"The operator state cannot be read by this program: {error}."
            raise StateRestoreError(problem, operator) from error

    def to_plain(self) -> dict[str, Any]:
        """Return plain data that says the same."""
        content = self.content
        return {
            "lists": content.lists,
            "unions": content.unions,
            "broadcasts": {name: list(entries.items()) for name, entries in content.broadcasts.items()},
            "classes": {number: [each.to_plain() for each in schemas] for number, schemas in self.classes.items()},
        }

    @staticmethod
    def from_plain(plain: Any) -> StoredOperatorState:
        """Return the state that ``to_plain`` described.

        Raises:
            PlainDataError: The data is something else.
        """
        with Fields(plain, "an operator state") as fields:
            classes = fields.take_dict("classes", int, lambda each: tuple(map(ClassSchema.from_plain, each)))
            content = OperatorStateSnapshot(
                fields.take_dict("lists", str, lambda each: list(map(_element, each))),
                fields.take_dict("unions", str, lambda each: list(map(_element, each))),
                fields.take_dict("broadcasts", str, lambda each: dict(map(_entry, each))),
            )
        return StoredOperatorState(content, classes)


def redistribute_stored(states: Sequence[StoredOperatorState | None], parallelism: int) -> list[StoredOperatorState]:
    """Return what each of so many subtasks starts with; see :func:`penstock.statestore.operator_state.redistribute`."""
    known = [state or StoredOperatorState(OperatorStateSnapshot()) for state in states]
    classes = {number: schemas for state in known for number, schemas in state.classes.items()}
    parts = redistribute([state.content for state in known], parallelism)
    return [StoredOperatorState(part, classes) for part in parts]


def _element(plain: Any) -> tuple[int, bytes]:
    if type(plain) is not list or list(map(type, plain)) != [int, bytes]:
        message = f"is damaged ({plain!r:.80} is no element of operator state)"
        raise PlainDataError(message)
    number, data = plain
    return number, data


def _entry(plain: Any) -> tuple[tuple[int, bytes], tuple[int, bytes]]:
    key, value = plain
    return _element(key), _element(value)


def _changed(snapshot: OperatorStateSnapshot, change: Callable[[Any], Any]) -> OperatorStateSnapshot:
    return OperatorStateSnapshot(
        lists={name: [change(each) for each in elements] for name, elements in snapshot.lists.items()},
        unions={name: [change(each) for each in elements] for name, elements in snapshot.unions.items()},
        broadcasts={
            name: {change(key): change(value) for key, value in entries.items()}
            for name, entries in snapshot.broadcasts.items()
        },
    )
