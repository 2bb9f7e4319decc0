"""What is stored of a class beside the values of it, and how values of then become values of the class of now."""

from __future__ import annotations

import dataclasses
import io
import pickle
import sys
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.foundation.plain_data import Fields
from penstock.foundation.stored_names import entry_of, stored_name_of, stored_object

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CLASS_AT", "MARK", "ClassSchema", "adapted", "class_of_definition", "is_importable"]

_PROTOCOL = 5
_OWN_STATE = ("__setstate__", "__reduce__", "__reduce_ex__")

CLASS_AT: Any = import_module(__name__.partition(".")[0])._class_at
"""Stands in pickles for a class, by its number or its stored name; only the reader of a pickle can say which it is."""
MARK = (CLASS_AT.__module__, CLASS_AT.__qualname__)
"""What pickles call it: the name of the package alone, which never moves."""


@dataclass(frozen=True)
class ClassSchema:
    """What is remembered of a class or function: its name, the names of its fields, its definition if need be."""

    module: str
    """Empty for what is Penstock's own."""
    qualname: str
    """The name in the module, or the name under which Penstock stores it."""
    fields: tuple[str, ...] | None = None
    definition: bytes = b""
    """The class itself, if no other process could import it."""
    version: int = 1
    """The version of what is Penstock's own."""

    @staticmethod
    def of(thing: Any) -> ClassSchema:
        """Describe a class or function as it is now."""
        fields = _field_names(thing) if isinstance(thing, type) else None
        name = stored_name_of(thing)
        if name is not None:
            entry = entry_of(name)
            return ClassSchema("", name, fields, version=1 if entry is None else entry.version)
        definition = b"" if is_importable(thing) else _definition(thing)
        return ClassSchema(thing.__module__, thing.__qualname__, fields, definition)

    @property
    def is_own(self) -> bool:
        """Tell whether it is Penstock's own."""
        return not self.module

    @property
    def name(self) -> str:
        """Return the name, for messages and for tables of renamed classes."""
        return f"{self.module}.{self.qualname}" if self.module else self.qualname

    def is_like(self, other: ClassSchema) -> bool:
        """Tell whether both describe the same class with the same fields."""
        return (self.name, self.fields, self.version) == (other.name, other.fields, other.version)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data that says the same."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_plain(plain: Any) -> ClassSchema:
        """Return the schema that ``to_plain`` described.

        Raises:
            PlainDataError: The data is something else.
        """
        with Fields(plain, "a class") as fields:
            names = fields.take_optional("fields", list)
            return ClassSchema(
                fields.take("module", str),
                fields.take("qualname", str),
                None if names is None else tuple(map(str, names)),
                fields.take("definition", bytes),
                fields.take("version", int, least=1),
            )


def is_importable(thing: Any) -> bool:
    """Tell whether a class or function is found by its name in a module that other processes can import."""
    if thing.__module__ == "__main__":
        return False
    found: Any = sys.modules.get(thing.__module__)
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


class _DefinitionPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Writes a class with all that belongs to it; what is Penstock's by its stored name."""

    def reducer_override(self, obj: Any) -> Any:
        if obj is CLASS_AT:
            return NotImplemented
        if isinstance(obj, (type, FunctionType)):
            try:
                name = stored_name_of(obj)
            except LookupError:
                name = None  # a part of a program, not of its data
            if name is not None:
                return CLASS_AT, (name,)
        return super().reducer_override(obj)


class _DefinitionUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return stored_object if (module, name) == MARK else super().find_class(module, name)


def _definition(thing: Any) -> bytes:
    output = io.BytesIO()
    _DefinitionPickler(output, _PROTOCOL).dump(thing)
    return output.getvalue()


def class_of_definition(definition: bytes) -> Any:
    """Return the class that was stored by its definition; this runs code that came with it."""
    return _DefinitionUnpickler(io.BytesIO(definition)).load()


def adapted(
    cls: type, old: tuple[str, ...] | None, upgrade: Callable[[dict[str, Any]], dict[str, Any]] | None = None
) -> type:
    """Return a class that makes values with the fields of then into values of ``cls``; that itself if all fit."""
    if old is None or not isinstance(cls, type):
        return cls
    if upgrade is None and _field_names(cls) in (None, old):
        return cls
    if issubclass(cls, tuple):
        return _named_tuple_adapter(cls, old, upgrade)
    return cls if _has_own_state(cls) else _dataclass_adapter(cls, old, upgrade)


def _field_names(cls: type) -> tuple[str, ...] | None:
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls))
    names = getattr(cls, "_fields", None)
    return tuple(names) if issubclass(cls, tuple) and isinstance(names, tuple) else None


def _has_own_state(cls: type) -> bool:
    """Tell whether a class says itself how it is pickled; what dataclasses adds to frozen slots does not count."""
    found = {name: getattr(cls, name, None) for name in _OWN_STATE}
    own = [method for name, method in found.items() if method is not getattr(object, name, None)]
    return any(getattr(method, "__module__", None) != "dataclasses" for method in own)


def _named_tuple_adapter(cls: Any, old: tuple[str, ...], upgrade: Any) -> type:
    def create(_: type, *values: Any) -> Any:
        known = dict(zip(old, values, strict=True))
        if upgrade is not None:
            known = upgrade(known)
        missing = [name for name in cls._fields if name not in known and name not in cls._field_defaults]
        if missing:
            raise TypeError(_no_default(cls, missing[0]))
        return cls(**{name: known[name] for name in cls._fields if name in known})

    return type(cls.__name__, (), {"__new__": create})


def _dataclass_adapter(cls: type, old: tuple[str, ...], upgrade: Any) -> type:
    """Return a class whose instances become instances of ``cls`` when their old state is set."""
    fields = dataclasses.fields(cls)

    def fill(self: Any, known: dict[str, Any]) -> None:
        if upgrade is not None:
            known = dict(upgrade(known))
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
