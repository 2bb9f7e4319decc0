"""Key selectors that only take a part of the record, replaced by built-in functions that do the same faster.

Most programs key a stream by the record itself, a field or an attribute: ``lambda order: order[0]``. Every record
passes its key selector twice, on its way out and on its way in, and calling a Python function takes longer than what
such a function does. Their bytecode says whether they are of that kind; :mod:`operator` has functions that take the
same part of a record at the speed of C. Timestamp assigners that take a field of the record are like them.
"""

from __future__ import annotations

from operator import attrgetter, itemgetter
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from penstock.runtime.exchange.key_functions import the_record
from penstock.runtime.interpreter_tricks.switch import Trick

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    KeyFunction = Callable[[Any], Any]

__all__ = ["simplified", "simplified_extractor"]


class _Patterns:
    """What functions look like for which there is a replacement, as functions of a record or methods of a selector."""

    # The names are those that a program may choose freely: bytecode has their places only.
    functions = (lambda record: record, lambda record: record[0], lambda record: record.field)
    methods = (lambda _, record: record, lambda _, record: record[0], lambda _, record: record.field)
    extractors = (lambda _, record, __: record, lambda _, record, __: record[0], lambda _, record, __: record.field)


def simplified(function: KeyFunction) -> KeyFunction:
    """Return a built-in function that gives the same keys; the function itself if it does more than taking a part."""
    if not _TRICK.is_in_use():
        return function
    if isinstance(function, MethodType):
        return _part_taken(function.__func__, _Patterns.methods) or function
    return _part_taken(function, _Patterns.functions) or function


def simplified_extractor(extract: Callable[[Any, int], int]) -> KeyFunction | None:
    """Return a built-in function of the record alone that gives the timestamps of an assigner, if there is one."""
    if not isinstance(extract, MethodType) or not _TRICK.is_in_use():
        return None
    return _part_taken(extract.__func__, _Patterns.extractors)


def _part_taken(plain: Any, patterns: Sequence[Any]) -> KeyFunction | None:
    if not isinstance(plain, FunctionType) or plain.__defaults__ or plain.__closure__:
        return None
    code = plain.__code__
    identity, item, attribute = (pattern.__code__ for pattern in patterns)
    if _is_like(code, identity):
        return the_record
    if _is_like(code, item) and len(code.co_consts) == len(item.co_consts):
        position = code.co_consts[item.co_consts.index(0)]
        return itemgetter(position) if isinstance(position, int | str) else None
    if _is_like(code, attribute):
        return attrgetter(code.co_names[0])
    return None


def _is_like(code: CodeType, pattern: CodeType) -> bool:
    """Tell whether two functions do the same, but for the constants and the attribute that they name."""
    return (
        code.co_code == pattern.co_code
        and code.co_argcount == pattern.co_argcount
        and code.co_kwonlyargcount == 0
        and code.co_nlocals == pattern.co_nlocals
        and code.co_flags & _KIND == pattern.co_flags & _KIND
    )


_KIND = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200
"""The flags of ``*args``, ``**kwargs``, generators and coroutines."""


def _trial() -> bool:
    """Try functions with other names and constants than the patterns have."""
    patterns = _Patterns.functions
    item = _part_taken(lambda order: order["user"], patterns)
    attribute = _part_taken(lambda order: order.real, patterns)
    others = [lambda order: order[0][1], lambda order: -order[0], lambda order: order.real.imag, lambda _: 0]
    return (
        _part_taken(lambda order: order, patterns) is the_record
        and (item is not None and item({"user": 3}) == 3)
        and (attribute is not None and attribute(5) == 5)
        and all(_part_taken(other, patterns) is None for other in others)
    )


_TRICK = Trick("key selectors that take a part of the record are built-in functions", _trial)
