"""State values to bytes and back, also after the classes of the values have changed.

Values are pickled (protocol 5), which is compact and fast for numbers, strings, tuples and containers. What pickle
alone does not give is added here, by keeping the classes of the values in a table beside the bytes:

- A class is written as its number in the table, so that many short pickles do not repeat its name.
- The table holds the names of the fields that a dataclass or named tuple had. On reading, the values are matched to
  today's fields by name: an added field gets its default, a removed one is dropped, the order does not matter.
  Classes with a ``__setstate__`` or ``__reduce__`` of their own look after themselves.
- A class of the program's main script cannot be imported where the state is read. The table holds its definition, but
  the class of the running program wins if there is one of that name, so that ``isinstance`` holds for restored
  values.
"""

from __future__ import annotations

import dataclasses
import importlib
import io
import pickle
import sys
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

import cloudpickle
from cloudpickle import cloudpickle as cloudpickle_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ClassSchema", "ClassTable", "ValueReader", "class_at"]

_PROTOCOL = 5
_OWN_STATE = ("__setstate__", "__reduce__", "__reduce_ex__")


@dataclass(frozen=True)
class ClassSchema:
    """What is remembered of a class: its place, the names of its fields, its definition if it cannot be imported."""

    module: str
    qualname: str
    fields: tuple[str, ...] | None
    definition: bytes = b""

    @staticmethod
    def of(cls: type) -> ClassSchema:
        """Describes a class as it is now."""
        definition = b"" if _is_importable(cls) else cloudpickle.dumps(cls, _PROTOCOL)
        return ClassSchema(cls.__module__, cls.__qualname__, _field_names(cls), definition)

    def is_like(self, other: ClassSchema) -> bool:
        """Tells whether both describe the same class with the same fields."""
        return (self.module, self.qualname, self.fields) == (other.module, other.qualname, other.fields)

    def resolve(self) -> type:
        """Returns the class of this name, adapted so that values with the old fields become values of today's class.

        Raises:
            LookupError: There is no such class any more.
        """
        found = self._find()
        if self.fields is None or _field_names(found) in (None, self.fields):
            return found
        if issubclass(found, tuple):
            return _named_tuple_adapter(found, self.fields)
        return found if _has_own_state(found) else _dataclass_adapter(found, self.fields)

    def _find(self) -> type:
        try:
            found: Any = sys.modules["__main__"] if self.module == "__main__" else importlib.import_module(self.module)
            for part in self.qualname.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            found = _dynamic_class(self.module, self.qualname)
            if found is None and self.definition:
                found = cloudpickle.loads(self.definition)
            if found is None:
                message = f"the class {self.module}.{self.qualname} cannot be found: {error}"
                raise LookupError(message) from error
        if not isinstance(found, type):
            message = f"{self.module}.{self.qualname} is no class any more"
            raise LookupError(message)  # noqa: TRY004 - the name was looked up in vain
        return found


class ClassTable:
    """Turns values into bytes and gathers the classes that it meets; for one thread at a time.

    Args:
        known: The classes of bytes that exist already. A class whose fields have changed since gets a number of its
            own.
    """

    def __init__(self, known: Sequence[ClassSchema] = ()) -> None:
        self.ordinary: set[type] = set()
        self._schemas = list(known)
        self._numbers: dict[type, int] = {}
        self._output = _Parts()
        self._pickler = _Pickler(self._output, self)

    def dumps(self, value: Any, *, is_canonical: bool = False) -> bytes:
        """Turns a value into bytes that a :class:`ValueReader` with this table's schemas reads.

        If ``is_canonical``, equal values give equal bytes, as far as their classes allow it.
        """
        parts = self.dump_parts(value, is_canonical=is_canonical)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def dump_parts(self, value: Any, *, is_canonical: bool = False) -> list[bytes]:
        """Turns a value into bytes as ``dumps`` does, but leaves them in the pieces in which they arise."""
        pickler, parts = self._pickler, self._output.parts
        pickler.fast = is_canonical  # this mode does not refer back to objects that were met before
        try:
            pickler.dump(value)
            return parts.copy()
        finally:
            pickler.clear_memo()
            parts.clear()

    def number_of(self, cls: type) -> int:
        """Returns the number under which a class is written."""
        found = self._numbers.get(cls)
        if found is None:
            schema = ClassSchema.of(cls)
            alike = [number for number, known in enumerate(self._schemas) if known.is_like(schema)]
            found = self._numbers[cls] = alike[0] if alike else len(self._schemas)
            if not alike:
                self._schemas.append(schema)
        return found

    def schemas(self) -> tuple[ClassSchema, ...]:
        """Describes all classes so far, in the order of their numbers."""
        return tuple(self._schemas)

    def reader(self) -> ValueReader:
        """Returns a reader of what this table has written and will write."""
        return ValueReader(self._schemas)


class ValueReader:
    """Turns bytes back into values."""

    def __init__(self, schemas: Sequence[ClassSchema]) -> None:
        self._schemas = schemas
        self._classes: dict[int, type] = {}

    def loads(self, data: bytes | memoryview) -> Any:
        """Returns the value that :meth:`ClassTable.dumps` was given."""
        return _Unpickler(io.BytesIO(data), self.class_of).load()

    def class_of(self, number: int) -> type:
        """Returns the class that was written under a number."""
        found = self._classes.get(number)
        if found is None:
            found = self._classes[number] = self._schemas[number].resolve()
        return found


def class_at(number: int) -> type:
    """Stands in pickled values for the class of this number; only a :class:`ValueReader` can say which that is."""
    message = f"Class {number} of a table of state classes is known only to the reader of that state."
    raise LookupError(message)


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
            return class_at, (self._table.number_of(obj),)
        if issubclass(kind, FunctionType):
            return super().reducer_override(obj)
        self._table.ordinary.add(kind)
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, class_of: Callable[[int], type]) -> None:
        super().__init__(file)
        self._class_of = class_of

    def find_class(self, module: str, name: str) -> Any:
        if name == "class_at" and module == __name__:
            return self._class_of
        return super().find_class(module, name)


def _is_importable(cls: type) -> bool:
    if cls.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(cls.__module__)
    for part in cls.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is cls


def _dynamic_class(module: str, qualname: str) -> type | None:
    """Returns the newest class of this name among those that came to this process with the program's functions."""
    known = getattr(cloudpickle_module, "_DYNAMIC_CLASS_TRACKER_BY_ID", {})
    found = [cls for cls in known.values() if cls.__module__ == module and cls.__qualname__ == qualname]
    return found[-1] if found else None


def _field_names(cls: type) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    names = getattr(cls, "_fields", None)
    return tuple(names) if issubclass(cls, tuple) and isinstance(names, tuple) else None


def _has_own_state(cls: type) -> bool:
    """Tells whether a class says itself how it is pickled; what dataclasses adds to frozen slots does not count."""
    found = {name: getattr(cls, name, None) for name in _OWN_STATE}
    own = [method for name, method in found.items() if method is not getattr(object, name, None)]
    return any(getattr(method, "__module__", None) != "dataclasses" for method in own)


def _named_tuple_adapter(cls: Any, old: tuple[str, ...]) -> type:
    def create(_: type, *values: Any) -> Any:
        known = dict(zip(old, values, strict=True))
        missing = [name for name in cls._fields if name not in known and name not in cls._field_defaults]
        if missing:
            raise TypeError(_no_default(cls, missing[0]))
        return cls(**{name: known[name] for name in cls._fields if name in known})

    return type(cls.__name__, (), {"__new__": create})


def _dataclass_adapter(cls: type, old: tuple[str, ...]) -> type:
    """Returns a class whose instances become instances of ``cls`` when their old state is set."""
    fields = dataclasses.fields(cls)

    def fill(self: Any, known: dict[str, Any]) -> None:
        for field in fields:
            if field.name in known:
                value = known.pop(field.name)
            elif field.default is not dataclasses.MISSING:
                value = field.default
            elif field.default_factory is not dataclasses.MISSING:
                value = field.default_factory()
            elif field.init:
                raise TypeError(_no_default(cls, field.name))
            else:
                continue
            object.__setattr__(self, field.name, value)
        for name, value in known.items():
            if name not in old:  # no field, but set on the instance all the same
                object.__setattr__(self, name, value)
        object.__setattr__(self, "__class__", cls)

    def set_state(self: Any, state: Any) -> None:
        if isinstance(state, list):  # frozen dataclasses with slots keep their values in the order of the fields
            fill(self, dict(zip(old, state, strict=True)))
        elif isinstance(state, tuple):
            fill(self, {**(state[0] or {}), **(state[1] or {})})
        else:
            fill(self, dict(state))

    adapter = type(cls)(cls.__name__, (cls,), {"__slots__": (), "__setstate__": set_state})
    if not old:  # an object without fields has no state to set

        def create(_: type) -> Any:
            created: Any = object.__new__(adapter)
            fill(created, {})
            return created

        return type(cls.__name__, (), {"__new__": create})
    return adapter


def _no_default(cls: type, field: str) -> str:
    return f"the field {field!r} of {cls.__qualname__} is new and has no default; give it one"
