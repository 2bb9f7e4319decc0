"""Reads pickled values without running code: a class of the program stays a name, and its objects what they hold.

Looking at a savepoint must not do more than looking. The reader makes plain data, objects of Penstock's own classes of
data and of a few classes of the standard library. Everything else becomes an :class:`OpaqueValue`, which knows the name
of its class and the fields that were stored. Nothing is imported by a name in the bytes, nothing is called that they
choose.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import io
import pickle
import uuid
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from penstock.foundation.stored_names import entry_of
from penstock.statestore.class_schema import MARK
from penstock.statestore.stored_classes import StoredClasses

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.statestore.class_schema import ClassSchema

__all__ = ["InertClasses", "OpaqueClass", "OpaqueValue"]

_MADE = {
    f"{cls.__module__}.{cls.__qualname__}": cls
    for cls in (
        datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone, decimal.Decimal,
        fractions.Fraction, uuid.UUID, complex, range, deque, OrderedDict, Counter,
    )
}  # fmt: skip
_NAMED = {
    f"{cls.__module__}.{cls.__qualname__}": cls
    for cls in (bool, int, float, str, bytes, bytearray, list, dict, tuple, set, frozenset, object)
}
"""Classes that may be part of a value, but that the bytes cannot call."""


@dataclass(frozen=True)
class OpaqueClass:
    """A class or function of the program, of which only the name is known."""

    name: str
    fields: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return f"<class {self.name}>"


class OpaqueValue:
    """An object of a class of the program, as it was stored; its attributes can be read.

    Attributes:
        stored_class: Its class.
        arguments: What it was to be made with.
        stored_state: What was to be set on it afterwards.
        elements: What was to be added to it: elements of a list, pairs of a dict.
    """

    __slots__ = ("arguments", "elements", "stored_class", "stored_state")

    def __init__(self, stored_class: OpaqueClass, arguments: tuple[Any, ...]) -> None:
        self.stored_class = stored_class
        self.arguments = arguments
        self.stored_state: Any = None
        self.elements: list[Any] = []

    def attributes(self) -> dict[str, Any] | None:
        """Return the fields of a dataclass or named tuple and the attributes of other objects; None if unknown."""
        fields, state = self.stored_class.fields, self.stored_state
        if self.elements:
            return None
        if isinstance(state, dict):
            return dict(state)
        if isinstance(state, list) and fields is not None and len(fields) == len(state):
            return dict(zip(fields, state, strict=True))
        if isinstance(state, tuple) and len(state) == 2:
            return {**(state[0] or {}), **(state[1] or {})}
        if state is None and fields is not None and len(fields) == len(self.arguments):
            return dict(zip(fields, self.arguments, strict=True))
        return None

    def append(self, element: Any) -> None:
        """Take an element of a list."""
        self.elements.append(element)

    def extend(self, elements: list[Any]) -> None:
        """Take elements of a list."""
        self.elements.extend(elements)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.elements.append((key, value))

    def __getattr__(self, name: str) -> Any:
        known = None if name.startswith("__") else self.attributes()
        if known is None or name not in known:
            message = f"{self!r} has no attribute {name!r}"
            raise AttributeError(message)
        return known[name]

    def _content(self) -> tuple[Any, ...]:
        return self.stored_class.name, self.arguments, self.stored_state, self.elements

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueValue) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self.stored_class.name)

    def __reduce__(self) -> NoReturn:
        message = (
            f"{self!r} was read without its class; load the savepoint with unpickle=True, if you trust it, to store its"
            " values again"
        )
        raise TypeError(message)

    def __repr__(self) -> str:
        known = self.attributes()
        name = self.stored_class.name.rpartition(".")[2]
        if known is None:
            parts = [*map(repr, self.arguments), *map(repr, self.elements)]
            if self.stored_state is not None:
                parts.append(repr(self.stored_state))
        else:
            parts = [f"{field}={value!r}" for field, value in known.items()]
        return f"{name}({', '.join(parts)})"


class InertClasses(StoredClasses):
    """Reads pickled values without running any code of the program, or any that the bytes name."""

    runs_code = False

    def find(self, schema: ClassSchema) -> Any:
        """Return a class of Penstock's data or of the standard library's; for all others what is known of it."""
        if schema.is_own and entry_of(schema.qualname) is not None:
            return super().find(schema)
        return _found(schema.name, schema.fields)

    def load(self, data: bytes | memoryview, class_of: Callable[[Any], Any]) -> Any:
        """Return the value of a pickle."""
        return _InertUnpickler(bytes(data), class_of).load()


def _found(name: str, fields: tuple[str, ...] | None = None) -> Any:
    if name == "builtins.getattr":
        return _member
    return _MADE.get(name) or _NAMED.get(name) or OpaqueClass(name, fields)


def _member(owner: Any, name: Any) -> Any:
    """Return a member of an enumeration, which some versions of Python store as an attribute of its class."""
    if isinstance(owner, type) and issubclass(owner, enum.Enum) and name in owner.__members__:
        return owner[name]
    return OpaqueValue(OpaqueClass("builtins.getattr"), (owner, name))


_PythonUnpickler: Any = pickle._Unpickler


class _InertUnpickler(_PythonUnpickler):  # type: ignore[misc]
    """The unpickler that is written in Python, with every way to call something replaced."""

    dispatch: ClassVar[dict[int, Any]] = dict(_PythonUnpickler.dispatch)

    def __init__(self, data: bytes, class_of: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._size = len(data)
        self._class_of = class_of
        self._owned: set[type] = set(_MADE.values())
        self._mark = self._class
        self._functions: list[Any] = [self._mark, _member]

    def find_class(self, module: str, name: str) -> Any:
        return self._mark if (module, name) == MARK else _found(f"{module}.{name}")

    def _class(self, number: Any) -> Any:
        if type(number) is not int or number < 0:
            self._refuse("a class has no number")
        found = self._class_of(number)
        if isinstance(found, type) and found not in _NAMED.values():
            self._owned.add(found)
        elif callable(found) and not isinstance(found, type):
            self._functions.append(found)
        return found

    def _make(self, made: Any, arguments: Any, named: Any, *, is_new: bool) -> Any:
        if type(arguments) is not tuple or type(named) is not dict:
            self._refuse("what an object is made with is no tuple")
        if any(isinstance(each, range) for each in arguments):  # a few bytes would become any number of elements
            self._refuse("a range is counted out")
        if isinstance(made, OpaqueClass):
            return OpaqueValue(made, (*arguments, *named.items()))
        if isinstance(made, type) and made in self._owned:
            return made.__new__(made, *arguments, **named) if is_new else made(*arguments, **named)
        if any(made is function for function in self._functions):
            return made(*arguments)
        return self._refuse(f"{made!r:.60} is called")

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._make(self.stack[-1], arguments, {}, is_new=False)

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._make(self.stack[-1], arguments, {}, is_new=True)

    def load_newobj_ex(self) -> None:
        named, arguments = self.stack.pop(), self.stack.pop()
        self.stack[-1] = self._make(self.stack[-1], arguments, named, is_new=True)

    def load_build(self) -> None:
        target = self.stack[-2] if len(self.stack) > 1 else None
        if isinstance(target, OpaqueValue):
            target.stored_state = self.stack.pop()
        elif type(target) in self._owned:
            super().load_build()
        else:
            self._refuse("the state of something else than an object is set")

    def load_bytearray8(self) -> None:
        size = int.from_bytes(self.read(8), "little")
        if size > self._size:
            self._refuse("it is longer than it is")
        self.append(bytearray(self.read(size)))

    def load_other(self) -> None:
        self._refuse("it uses what Penstock does not write")

    def _refuse(self, why: str) -> NoReturn:
        message = f"the value is damaged or not written by Penstock: {why}"
        raise pickle.UnpicklingError(message)

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8
    for _code in (
        pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.INST, pickle.OBJ, pickle.PERSID, pickle.BINPERSID,
        pickle.NEXT_BUFFER, pickle.READONLY_BUFFER,
    ):  # fmt: skip
        dispatch[_code[0]] = load_other
    del _code
