"""The one rule about keys: two keys that are equal in Python are one key, wherever and whenever they are met.

A dictionary of one process can ask Python whether two keys are equal. Which subtask owns a key, and under which bytes
a store keeps its state, must follow from the key alone, and be the same in every process. So each key has a *canonical
form* that all keys equal to it share and no other key has: ``1``, ``1.0``, ``True`` and ``Decimal("1.00")`` have that
of ``1``. Routing hashes the canonical form, stores encode it; nothing else compares keys but Python itself.

What has no such form is refused: values that are not equal to themselves, objects that are equal to nothing else,
values that may change, and classes whose equality cannot be known from outside.

The form is found by how objects of a class compare. A class that inherits its ``__eq__`` compares as the class it has
it from: a ``StrEnum`` as a ``str``, a named tuple as a tuple. So the method that compares is what chooses the rule, not
the name of the class.
"""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import sys
import uuid
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from penstock.errors import UnusableKeyError
from penstock.foundation.keys import numbers, times
from penstock.foundation.keys.forms import PLAIN_KINDS, Refused, Tagged, encode
from penstock.foundation.stored_names import stored_name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Rule = Callable[[Any], Any]

__all__ = ["OWN_RULE", "canonical", "part"]

OWN_RULE = "_canonical_key_"
"""The method of a class of Penstock's own, beside its ``__eq__``, that gives the form by those of its parts."""

_REMEDY = "Return plain data from the key selector: a field of the record, or a tuple of fields."

_rules: dict[type, Callable[[Any], Any]] = {}
_MOST_RULES = 1 << 12


def canonical(key: Any) -> Any:
    """Return the canonical form of a key: plain data, tuples and :class:`Tagged` of these.

    Raises:
        UnusableKeyError: The key has no value that could be compared with that of another one.
    """
    if type(key) in PLAIN_KINDS:
        return key
    try:
        return part(key)
    except Refused as refused:
        shown = _shown(key)
        held = "" if refused.refused is key else f" holds {_shown(refused.refused)}, which"
        message = f"{shown} cannot be a key: it{held} {refused.why}.\n  {refused.remedy}"
        raise UnusableKeyError(message) from None


def part(key: Any) -> Any:
    """Return the canonical form of a key or of a part of one.

    Raises:
        Refused: It has none.
    """
    kind = type(key)
    if kind in PLAIN_KINDS:
        return key
    if kind is tuple:
        return tuple(map(part, key))
    rule = _rules.get(kind)
    if rule is None:
        rule = _rule_of(kind)
        if len(_rules) < _MOST_RULES:  # a program may make classes while it runs
            _rules[kind] = rule
    return rule(key)


def _rule_of(kind: type) -> Rule:
    """Return what gives the canonical form of objects of a class."""
    if kind.__hash__ is None:
        return _refuse_unhashable
    foreign = _foreign_rule(kind)
    if foreign is not None:
        return foreign
    equality: Any = kind.__eq__
    if equality is object.__eq__:
        return _rule_by_identity(kind)
    known = _RULES.get(equality)
    if known is not None:
        return known
    owner = next(base for base in kind.__mro__ if vars(base).get("__eq__") is equality)
    own = vars(owner).get(OWN_RULE)
    if own is not None:
        return lambda key: own(key, part)
    if _compares_fields(owner):
        return _field_rule(kind, owner)
    return _rule_by_hook(kind)


def _rule_by_identity(kind: type) -> Rule:
    """Return the rule of a class whose objects are equal to themselves only; some of them exist once per process."""
    if issubclass(kind, enum.Flag):
        return lambda key: Tagged("enum", part(key._value_), _name(type(key)))
    if issubclass(kind, enum.Enum):
        return lambda key: Tagged("enum", key._name_, _name(type(key)))
    if issubclass(kind, type):
        return lambda key: Tagged("class", (), _name(key))
    return _refuse_identity


def _rule_by_hook(kind: type) -> Rule:
    """Return the rule of a class with an ``__eq__`` of its own, which must say what it compares."""
    owner = next((base for base in kind.__mro__ if "__key__" in vars(base)), None)
    if owner is None:
        return _refuse_own_equality
    name = _name(owner)
    return lambda key: Tagged("object", part(key.__key__()), name)


def _foreign_rule(kind: type) -> Rule | None:
    """Return the rule of a class of NumPy or pandas, which need not be loaded."""
    numpy, pandas = sys.modules.get("numpy"), sys.modules.get("pandas")
    if numpy is not None and issubclass(kind, numpy.generic):
        if issubclass(kind, numpy.datetime64 | numpy.timedelta64 | numpy.void):
            return _refuse_numpy
        return numbers.of_long_double if issubclass(kind, numpy.longdouble) else _of_numpy_scalar
    if pandas is not None:
        if issubclass(kind, getattr(pandas, "Timestamp", ())):
            return times.of_pandas_timestamp
        if issubclass(kind, getattr(pandas, "Timedelta", ())):
            return times.of_pandas_timedelta
        if kind in (type(getattr(pandas, "NaT", None)), type(getattr(pandas, "NA", None))):
            return numbers.refuse_nan
    return None


def _compares_fields(owner: type) -> bool:
    """Tell whether a class has the ``__eq__`` that ``dataclass`` writes, and not one of the program's own."""
    if "__dataclass_fields__" not in vars(owner):
        return False
    own: Any = getattr(vars(owner)["__eq__"], "__code__", None)
    fields = [(each.name, object, dataclasses.field(compare=each.compare)) for each in dataclasses.fields(owner)]
    written: Any = dataclasses.make_dataclass("_", fields).__eq__.__code__
    return own is not None and (own.co_code, own.co_names) == (written.co_code, written.co_names)


def _field_rule(kind: type, owner: Any) -> Rule:
    """Return the rule of a dataclass: objects of the same class with equal fields are equal."""
    names = tuple(each.name for each in dataclasses.fields(owner) if each.compare)
    name = _name(kind)
    return lambda key: Tagged("object", tuple([part(getattr(key, field)) for field in names]), name)


def _name(cls: type) -> str:
    """Return the name of a class as stores keep it: that of a class of Penstock does not say where the class is."""
    try:
        own = stored_name_of(cls)
    except LookupError:
        own = None
    return own or f"{cls.__module__}.{cls.__qualname__}"


def _of_numpy_scalar(key: Any) -> Any:
    item = key.item()
    return _refuse_numpy(key) if type(item) is type(key) else part(item)


def _of_int(key: int) -> int:
    return int.__int__(key)


def _of_str(key: str) -> str:
    return str.__str__(key)


def _of_bytes(key: bytes) -> bytes:
    return b"".join((key,))


def _of_tuple(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(part, tuple.__iter__(key)))


def _of_frozenset(key: frozenset[Any]) -> Tagged:
    # The order of a set is another one in each process.
    return Tagged("frozenset", tuple(sorted(map(part, frozenset.__iter__(key)), key=encode)))


def _of_range(key: range) -> Tagged:
    # Ranges compare as the sequences of numbers that they are.
    size = len(key)
    return Tagged("range", (size, key.start if size else 0, key.step if size > 1 else 0))


def _of_uuid(key: uuid.UUID) -> Tagged:
    return Tagged("uuid", key.int)


def _of_path(key: PurePath) -> Tagged:
    if isinstance(key, PureWindowsPath):
        return Tagged("windows path", str(key).lower())
    return Tagged("path", str(key))


def _of_address(key: Any) -> Tagged:
    return Tagged("ip", (key.version, str(key)))


def _of_interface(key: Any) -> Tagged:
    return Tagged("ip interface", (key.version, str(key)))


def _of_network(key: Any) -> Tagged:
    return Tagged("ip network", (key.version, str(key)))


_RULES: dict[Any, Rule] = {
    int.__eq__: _of_int,
    str.__eq__: _of_str,
    bytes.__eq__: _of_bytes,
    tuple.__eq__: _of_tuple,
    frozenset.__eq__: _of_frozenset,
    range.__eq__: _of_range,
    float.__eq__: numbers.of_float,
    complex.__eq__: numbers.of_complex,
    Decimal.__eq__: numbers.of_decimal,
    Fraction.__eq__: numbers.of_fraction,
    datetime.__eq__: times.of_datetime,
    date.__eq__: times.of_date,
    time.__eq__: times.of_time,
    timedelta.__eq__: times.of_timedelta,
    timezone.__eq__: times.of_timezone,
    uuid.UUID.__eq__: _of_uuid,
    PurePath.__eq__: _of_path,
    ipaddress.IPv4Address.__eq__: _of_address,
    ipaddress.IPv6Address.__eq__: _of_address,
    ipaddress.IPv4Interface.__eq__: _of_interface,
    ipaddress.IPv6Interface.__eq__: _of_interface,
    ipaddress.IPv4Network.__eq__: _of_network,
    ipaddress.IPv6Network.__eq__: _of_network,
}

_INSTEAD = {
    list: "Return a tuple instead: tuple(...).",
    dict: "Return the values that matter, as a tuple, or tuple(sorted(....items())).",
    set: "Return a frozenset instead: frozenset(...).",
    bytearray: "Return bytes instead: bytes(...).",
}


def _refuse_unhashable(key: Any) -> Any:
    kind = type(key)
    remedy = next((_INSTEAD[base] for base in kind.__mro__ if base in _INSTEAD), _REMEDY)
    if dataclasses.is_dataclass(kind):
        remedy = f"Declare the class with @dataclass(frozen=True), or return a tuple of fields of {kind.__qualname__}."
    elif kind.__module__ == "numpy":
        remedy = "Return a tuple of its elements instead: tuple(array.tolist())."
    raise Refused(key, f"is of the class {kind.__qualname__}, whose objects may change and have no hash", remedy)


def _refuse_identity(key: Any) -> Any:
    name = type(key).__qualname__
    why = f"is an object of the class {name}, which has no __eq__: every record would have a key of its own"
    remedy = (
        f"Return a field of it, or a tuple of fields, or let {name} compare by its fields: @dataclass(frozen=True)."
    )
    raise Refused(key, why, remedy)


def _refuse_own_equality(key: Any) -> Any:
    name = type(key).__qualname__
    why = f"is an object of the class {name}, whose own __eq__ does not show what it compares"
    remedy = (
        f"Return a tuple of the fields that make it equal, make {name} a frozen dataclass, or give it a method"
        " __key__(self) that returns those fields as a tuple."
    )
    raise Refused(key, why, remedy)


def _refuse_numpy(key: Any) -> Any:
    why = f"is a {type(key).__name__} of NumPy, whose equal values may have different hashes"
    raise Refused(key, why, "Return what Python has for it: a datetime, a timedelta or a number.")


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.100}"
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {error!r}>"
