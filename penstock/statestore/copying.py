"""Copies of values: nothing that can change is shared, nothing that cannot is copied.

A step may change an object after it has emitted it, and so may whoever receives it. What both of them, or a state, hold
must therefore be two objects, unless nothing can change it. Numbers, texts, tuples of them, enumerations and frozen
dataclasses cannot change; a look at types tells that, and such values are handed on as they are.

Results are handed over by :mod:`penstock.runtime.interpreter_tricks.handover`, which uses what is here or, with the
accelerator, a look at reference counts in addition.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import fractions
import ipaddress
import pathlib
import re
import types
import uuid
import weakref
import zoneinfo
from collections import OrderedDict, defaultdict, deque
from itertools import chain, islice, zip_longest
from operator import countOf
from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ATOMS", "are_fixed", "are_plain", "as_it_is", "copied", "copied_run", "handed_over", "protect_run"]

ATOMS: frozenset[type] = frozenset(
    {
        type(None), bool, int, float, complex, str, bytes, range, type(...), type(NotImplemented),
        decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern,
        datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone, zoneinfo.ZoneInfo,
        ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network, ipaddress.IPv6Network,
        pathlib.PurePosixPath, pathlib.PureWindowsPath, pathlib.PosixPath,
        types.FunctionType, types.BuiltinFunctionType, types.ModuleType, weakref.ref, type,
    }
)  # fmt: skip
"""Types whose instances cannot change, or are shared on purpose by whoever copies objects."""

_CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict)
_AT_ONCE = 256
"""How many values are looked at in one go: few enough to stay near the processor."""
_ATOM, _FROZEN, _PLAIN, _LEAF, _ARRAY, _OPAQUE = range(6)


def copied(value: Any) -> Any:
    """Return the value if nothing can change it, otherwise a copy that shares nothing changeable with it.

    What cannot be copied at all, such as an open connection, is shared.
    """
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind is tuple and ATOMS.issuperset(map(type, value)):
        return value
    if kind in (list, set) and ATOMS.issuperset(map(type, value)):
        return value.copy()
    if kind is dict and ATOMS.issuperset(map(type, value)) and ATOMS.issuperset(map(type, value.values())):
        return value.copy()
    return _copied_deeply(value)


def as_it_is(value: Any) -> Any:
    """Return the value: what stands for :func:`copied` where objects are reused."""
    return value


def handed_over(result: Any, _: Any) -> Any:
    """Return what is emitted for a result that was made from a record, which is given, too."""
    return copied(result)


def protect_run(values: list[Any]) -> None:
    """Replace the records of a run that the program might change by copies."""
    if not are_plain(values):
        values[:] = map(copied, values)


def copied_run(values: list[Any]) -> list[Any]:
    """Return the records of a run for one more receiver."""
    return values.copy() if are_plain(values) else list(map(copied, values))


def are_fixed(values: list[Any]) -> bool:
    """Tell whether none of the values can change."""
    return are_plain(values) or all(copied(value) is value for value in values)


def are_plain(values: Iterable[Any]) -> bool:
    """Tell whether all values are unchangeable, or tuples of such."""
    rest = iter(values)
    while part := list(islice(rest, _AT_ONCE)):
        if countOf(map(type, part), tuple) == len(part):
            # Tuples of one length, which are the rule, are looked at column by column.
            if not all(map(_are_atoms, zip_longest(*part))):
                return False
        elif not ATOMS.issuperset(map(type, part)):
            members = chain.from_iterable(each if type(each) is tuple else (each,) for each in part)
            if not ATOMS.issuperset(map(type, members)):
                return False
    return True


def _are_atoms(values: Sequence[Any]) -> bool:
    """Tell whether values are unchangeable; those of one kind are counted, which is faster than looking each up."""
    kind = type(values[0])
    return kind in ATOMS and (countOf(map(type, values), kind) == len(values) or ATOMS.issuperset(map(type, values)))


def _copied_deeply(value: Any) -> Any:
    memo: dict[int, Any] = {}
    try:
        return _copy(value, memo)
    except Exception:  # whatever the code of a value's own class raises
        return value


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    """Return a copy; parts that appear twice in the value do so in the copy."""
    kind = type(value)
    if kind in ATOMS:
        return value
    found = memo.get(id(value))
    if found is not None:
        return found
    if kind is tuple:
        members = tuple([_copy(member, memo) for member in value])
        same = all(new is old for new, old in zip(members, value, strict=True))
        made: Any = value if same else memo.get(id(value), members)
    elif kind is list:
        made = memo[id(value)] = []
        made.extend([_copy(member, memo) for member in value])
    elif kind is dict:
        made = memo[id(value)] = {}
        for key, member in value.items():
            made[_copy(key, memo)] = _copy(member, memo)
    else:
        made = _copy_object(value, kind, memo)
    memo[id(value)] = made
    return made


def _copy_object(value: Any, kind: type, memo: dict[int, Any]) -> Any:
    how = _kind_of(kind)
    if how == _ATOM or (how == _FROZEN and not _holds_changeable(value)):
        return value
    if _is_simple(kind):
        made: Any = object.__new__(kind)
        memo[id(value)] = made
        # Without __setattr__: a class may have one that refuses, as frozen dataclasses do.
        made.__dict__.update({name: _copy(member, memo) for name, member in value.__dict__.items()})
        return made
    if kind is Row:
        return _copy_row(value, memo)
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # what cannot be copied is shared
        return value


def _copy_row(row: Row, memo: dict[int, Any]) -> Row:
    made = memo[id(row)] = Row.of_kind(row.get_row_kind(), *[_copy(value, memo) for value in row])
    names = row.get_field_names()
    if names is not None:
        made.set_field_names(names)
    return made


def _holds_changeable(value: Any) -> bool:
    members: Iterable[Any]
    if isinstance(value, (tuple, frozenset)):
        members = value
    else:
        names = [name for each in type(value).__mro__ for name in vars(each).get("__slots__", ())]
        members = [getattr(value, name, None) for name in names if name != "__dict__"]
        members += getattr(value, "__dict__", {}).values()
    return any(
        _kind_of(type(member)) not in (_ATOM, _FROZEN)
        or (_kind_of(type(member)) == _FROZEN and _holds_changeable(member))
        for member in members
    )


_HOOKS = ("__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__")
_simple: dict[type, bool] = {}
_kinds: dict[type, int] = {}


def _is_simple(kind: type) -> bool:
    """Tell whether instances are their attributes and nothing else."""
    found = _simple.get(kind)
    if found is None:
        found = _simple[kind] = all(
            each is object or ("__slots__" not in vars(each) and _is_of_python(each)) for each in kind.__mro__
        ) and all(getattr(kind, hook, None) is getattr(object, hook, None) for hook in _HOOKS)
    return found


def _is_of_python(kind: type) -> bool:
    """Tell whether a class was made by a ``class`` statement: types made in C do not keep attributes in this way."""
    return "__dict__" in vars(kind) or any("__dict__" in vars(each) for each in kind.__mro__ if each is not object)


def _kind_of(kind: type) -> int:
    found = _kinds.get(kind)
    if found is None:
        found = _kinds[kind] = _classify(kind)
    return found


def _classify(kind: type) -> int:
    """Tell what instances of a type are like; the accelerator asks this, too, once per type."""
    if kind in ATOMS or issubclass(kind, (enum.Enum, type)) or _is_numpy_number(kind):
        return _ATOM
    has_attributes = kind.__dictoffset__ != 0
    has_attributes = has_attributes or any(vars(each).get("__slots__") for each in kind.__mro__ if each not in ATOMS)
    if issubclass(kind, tuple(ATOMS - {type, types.ModuleType})):
        return _OPAQUE if has_attributes else _ATOM
    if issubclass(kind, (tuple, frozenset)):
        return _PLAIN if has_attributes else _FROZEN
    # A class that inherits from a frozen dataclass and is none itself may have other attributes, which can change.
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is not None and parameters.frozen and not issubclass(kind, (list, dict, set, deque, bytearray)):
        return _FROZEN
    if kind is bytearray:
        return _LEAF
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return _ARRAY
    if kind in _CONTAINERS or kind.__flags__ & _MADE_AT_RUN_TIME:
        return _PLAIN
    return _OPAQUE


_MADE_AT_RUN_TIME = 1 << 9
"""The flag of classes that Python code has made, and of some types made in C, which the accelerator tells apart."""


def _is_numpy_number(kind: type) -> bool:
    """Tell whether a type is one of NumPy's scalars; records of several fields can change."""
    names = [each.__name__ for each in kind.__mro__ if each.__module__ == "numpy"]
    return "generic" in names and "void" not in names and "object_" not in names


class _Example:
    """An instance of a class that Python code has made."""


if native is not None:
    native.prepare_handover(_classify, _copied_deeply, _Example())
    are_fixed = native.are_fixed
    copied = native.copied
    copied_run = native.copied_run
