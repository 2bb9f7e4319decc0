"""Finds the classes of stored values in this process: those of Penstock by stored names, the program's by their own.

A program that moves or renames a class of its values says so with a table of old and new names. It is asked first, so
the old name need not exist any more, nor be gone.
"""

from __future__ import annotations

import io
import pickle
import sys
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cloudpickle import cloudpickle as cloudpickle_module

from penstock.foundation.stored_names import entry_of, stored_object
from penstock.statestore.class_schema import MARK, adapted, class_of_definition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.statestore.class_schema import ClassSchema

__all__ = ["StoredClasses"]

_MARK_MODULE, _MARK_NAME = MARK


class StoredClasses:
    """Reads pickled values with the classes of this process, which may run any code of them.

    Args:
        renamed: By the old name of a class, or of a module, the new one: ``{"shop.Order": "shop.orders.Order"}``.
    """

    def __init__(self, renamed: Mapping[str, str] | None = None) -> None:
        self.renamed = dict(renamed or {})

    runs_code = True
    """Whether reading a value may call what the program has defined."""

    def find(self, schema: ClassSchema) -> Any:
        """Return a class by its schema, adapted so that values with the old fields become values of today's class.

        Raises:
            LookupError: There is no such class any more.
        """
        if schema.is_own:
            entry = entry_of(schema.qualname)
            if entry is not None and schema.version > entry.version:
                message = f"{schema.qualname!r} was stored by a newer Penstock, in its version {schema.version}"
                raise LookupError(message)
            upgrade = None if entry is None else entry.upgrader(schema.version)
            return adapted(stored_object(schema.qualname), schema.fields, upgrade)
        return adapted(self._find_foreign(schema), schema.fields)

    def load(self, data: bytes | memoryview, class_of: Callable[[Any], Any]) -> Any:
        """Return the value of a pickle in which classes are numbers that ``class_of`` knows."""
        return _Unpickler(io.BytesIO(data), class_of).load()

    def renames(self, schemas: Iterable[ClassSchema]) -> bool:
        """Tell whether one of some classes has another name now."""
        return any(not schema.is_own and self._new_name(schema.name) is not None for schema in schemas)

    def renamed_schema(self, schema: ClassSchema) -> ClassSchema:
        """Return the schema of the same class under its new name; where the module ends is as it was before."""
        name = None if schema.is_own else self._new_name(schema.name)
        if name is None:
            return schema
        parts = name.split(".")
        middle = max(1, len(parts) - schema.qualname.count(".") - 1)
        # A definition would bring the class back under its old name.
        return replace(schema, module=".".join(parts[:middle]), qualname=".".join(parts[middle:]), definition=b"")

    def _new_name(self, name: str) -> str | None:
        for end in range(len(name), 0, -1):
            if (end == len(name) or name[end] == ".") and name[:end] in self.renamed:
                return self.renamed[name[:end]] + name[end:]
        return None

    def _find_foreign(self, schema: ClassSchema) -> Any:
        renamed = self._new_name(schema.name)
        try:
            found = _at(schema.module, schema.qualname) if renamed is None else _at_dotted(renamed)
        except (ImportError, AttributeError) as error:
            found = class_of_definition(schema.definition) if schema.definition and renamed is None else None
            if found is None:
                name = schema.name if renamed is None else f"{renamed}, which {schema.name} was renamed to,"
                message = (
                    f"the class {name} cannot be found: {error}. If it has another name now, say so with"
                    " penstock.renamed-classes"
                )
                raise LookupError(message) from error
        if schema.fields is not None and not isinstance(found, type):
            message = f"{schema.name} is no class any more"
            raise LookupError(message)
        return found


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, class_of: Callable[[Any], Any]) -> None:
        super().__init__(file)
        self._class_of = class_of

    def find_class(self, module: str, name: str) -> Any:
        if name == _MARK_NAME and module == _MARK_MODULE:  # asked for every object: no tuple is made for it
            return self._class_of
        return super().find_class(module, name)


def _at(module: str, qualname: str) -> Any:
    """Return what has a name: in its module, or among the classes that came to this process with functions."""
    try:
        found: Any = sys.modules["__main__"] if module == "__main__" else import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        found = _dynamic_class(module, qualname)
        if found is None:
            raise
    return found


def _at_dotted(name: str) -> Any:
    """Return what has a name that does not say where its module ends."""
    parts = name.split(".")
    error: Exception = ImportError(f"there is no module in {name!r}")
    for end in range(len(parts) - 1, 0, -1):
        try:
            return _at(".".join(parts[:end]), ".".join(parts[end:]))
        except (ImportError, AttributeError) as problem:
            error = problem
    raise error


def _dynamic_class(module: str, qualname: str) -> type | None:
    """Return the newest class of this name among those that came to this process with the program's functions."""
    known = getattr(cloudpickle_module, "_DYNAMIC_CLASS_TRACKER_BY_ID", {})
    found = [cls for cls in known.values() if cls.__module__ == module and cls.__qualname__ == qualname]
    return found[-1] if found else None
