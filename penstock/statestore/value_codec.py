"""State values to bytes and back, also after the classes of the values have changed.

Values are pickled (protocol 5), which is compact and fast for numbers, strings, tuples and containers. What pickle
alone does not give is added here, by keeping the classes of the values in a table beside the bytes:

- A class is written as its number in the table, so that many short pickles do not repeat its name. Classes of Penstock
  have names of their own there (:mod:`penstock.foundation.stored_names`), which stay when a module moves.
- The table holds the names of the fields that a dataclass or named tuple had. On reading, the values are matched to
  today's fields by name: an added field gets its default, a removed one is dropped, the order does not matter.
  Classes with a ``__setstate__`` or ``__reduce__`` of their own look after themselves.
- A class of the program's main script cannot be imported where the state is read. The table holds its definition, but
  the class of the running program wins if there is one of that name, so that ``isinstance`` holds for restored
  values.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.foundation.plain_data import Fields, seal, unseal
from penstock.statestore.class_schema import CLASS_AT, ClassSchema, is_importable
from penstock.statestore.stored_classes import StoredClasses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PROGRAM_CLASSES", "ClassTable", "ValueReader", "load_value", "store_value", "value_with_other_classes"]

_PROTOCOL = 5
_KIND = b"PENVALUE"
_VERSIONS = range(1, 2)

PROGRAM_CLASSES = StoredClasses()
"""The classes of this process, none of them renamed."""


class ClassTable:
    """Turns values into bytes and gathers the classes that it meets; for one thread at a time.

    Args:
        known: The classes of bytes that exist already. A class whose fields have changed since gets a number of its
            own.
    """

    def __init__(self, known: Sequence[ClassSchema] = ()) -> None:
        self.ordinary: set[type] = set()
        self._schemas = list(known)
        self._numbers: dict[Any, int] = {}
        self._output = _Parts()
        self._pickler = _Pickler(self._output, self)

    def dumps(self, value: Any, *, is_canonical: bool = False) -> bytes:
        """Turn a value into bytes that a :class:`ValueReader` with this table's schemas reads.

        If ``is_canonical``, equal values give equal bytes, as far as their classes allow it.
        """
        parts = self.dump_parts(value, is_canonical=is_canonical)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def dump_parts(self, value: Any, *, is_canonical: bool = False) -> list[bytes]:
        """Turn a value into bytes as ``dumps`` does, but leave them in the pieces in which they arise."""
        pickler, parts = self._pickler, self._output.parts
        pickler.fast = is_canonical  # this mode does not refer back to objects that were met before
        try:
            pickler.dump(value)
            return parts.copy()
        finally:
            pickler.clear_memo()
            parts.clear()

    def number_of(self, thing: Any) -> int:
        """Return the number under which a class or function is written."""
        found = self._numbers.get(thing)
        if found is None:
            schema = ClassSchema.of(thing)
            alike = [number for number, known in enumerate(self._schemas) if known.is_like(schema)]
            found = self._numbers[thing] = alike[0] if alike else len(self._schemas)
            if not alike:
                self._schemas.append(schema)
        return found

    def schemas(self) -> tuple[ClassSchema, ...]:
        """Describe all classes so far, in the order of their numbers."""
        return tuple(self._schemas)

    def reader(self, classes: StoredClasses = PROGRAM_CLASSES) -> ValueReader:
        """Return a reader of what this table has written and will write."""
        return ValueReader(self._schemas, classes)


class ValueReader:
    """Turns bytes back into values.

    Args:
        schemas: The classes of the values, by their numbers.
        classes: Finds them.
    """

    def __init__(self, schemas: Sequence[ClassSchema], classes: StoredClasses = PROGRAM_CLASSES) -> None:
        self._schemas = schemas
        self._classes = classes
        self._load = classes.load
        self._found: dict[int, Any] = {}

    def loads(self, data: bytes | memoryview) -> Any:
        """Return the value that :meth:`ClassTable.dumps` was given."""
        return self._load(data, self.class_of)

    def class_of(self, number: int) -> Any:
        """Return the class that was written under a number."""
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._classes.find(self._schemas[number])
        return found


def store_value(value: Any) -> bytes:
    """Return the bytes of one value together with the table of its classes."""
    table = ClassTable()
    data = table.dumps(value)
    return seal(_KIND, 1, {"classes": [schema.to_plain() for schema in table.schemas()], "value": data})


def load_value(data: bytes, classes: StoredClasses = PROGRAM_CLASSES) -> Any:
    """Return the value of some bytes of ``store_value``.

    Raises:
        PlainDataError: The bytes are something else.
    """
    with Fields(unseal(data, _KIND, _VERSIONS, "stored value"), "a stored value") as fields:
        schemas = fields.take_list("classes", ClassSchema.from_plain)
        content = fields.take("value", bytes)
    return ValueReader(schemas, classes).loads(content)


def value_with_other_classes(data: bytes, change: Callable[[ClassSchema], ClassSchema]) -> bytes:
    """Return the bytes of the same value with other classes in its table; the value itself is not read.

    Raises:
        PlainDataError: The bytes are something else.
    """
    plain = unseal(data, _KIND, _VERSIONS, "stored value")
    with Fields(plain, "a stored value") as fields:
        schemas = fields.take_list("classes", ClassSchema.from_plain)
        content = fields.take("value", bytes)
    return seal(_KIND, 1, {"classes": [change(each).to_plain() for each in schemas], "value": content})


class _Parts:
    """Keeps what a pickler writes, without copying it into one piece."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.write = self.parts.append


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    def __init__(self, file: _Parts, table: ClassTable) -> None:
        super().__init__(file, _PROTOCOL)
        self._table = table

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind in self._table.ordinary:  # asked for every value that is not a plain number, string or container
            return NotImplemented
        if issubclass(kind, type):
            return CLASS_AT, (self._table.number_of(obj),)
        if issubclass(kind, FunctionType):
            if obj is CLASS_AT:
                return NotImplemented
            return (CLASS_AT, (self._table.number_of(obj),)) if is_importable(obj) else super().reducer_override(obj)
        self._table.ordinary.add(kind)
        return NotImplemented
