"""Functions that compute something from their record and can do nothing else.

``lambda pair: (pair[0], pair[1] * 2)`` keeps no reference to its record and reaches nothing but it. What it returns is
new, or part of the record that was given to it alone. So nobody can change the result after it was emitted, and it need
not be looked at (see :mod:`penstock.statestore.copying`). The bytecode tells: such functions load their argument and
constants, take parts, calculate, compare, make tuples, lists and dictionaries, and return; they call and store nothing.
"""

from __future__ import annotations

import dis
import inspect
from operator import itemgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from penstock.runtime.interpreter_tricks.switch import Trick

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["are_built_in", "can_only_compute", "chosen", "computed"]

_COMPUTING = frozenset(
    {
        "BINARY_OP", "BINARY_SLICE", "BINARY_SUBSCR", "BUILD_CONST_KEY_MAP", "BUILD_LIST", "BUILD_MAP",
        "BUILD_SLICE", "BUILD_STRING", "BUILD_TUPLE", "CACHE", "COMPARE_OP", "CONTAINS_OP", "CONVERT_VALUE", "COPY",
        "EXTENDED_ARG", "FORMAT_SIMPLE", "FORMAT_VALUE", "FORMAT_WITH_SPEC", "IS_OP", "JUMP_FORWARD",
        "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "LOAD_CONST", "LOAD_FAST", "LOAD_FAST_CHECK",
        "LOAD_FAST_LOAD_FAST", "NOP", "POP_JUMP_FORWARD_IF_FALSE",
        "POP_JUMP_FORWARD_IF_NONE", "POP_JUMP_FORWARD_IF_NOT_NONE", "POP_JUMP_FORWARD_IF_TRUE", "POP_JUMP_IF_FALSE",
        "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE", "POP_TOP", "RESUME", "RETURN_CONST",
        "RETURN_VALUE", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "SWAP", "TO_BOOL",
        "UNARY_INVERT", "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_POSITIVE", "UNPACK_SEQUENCE",
    }
)  # fmt: skip
_IN_PLACE = 13
"""From here on, binary operations may change their left side."""
_BUILT_IN = frozenset({int, float, str, bytes, bool, tuple, list, dict})


def can_only_compute(function: Any) -> bool:
    """Tell whether a function of one argument does nothing but compute a result from it."""
    return _computes(function) and _TRICK.is_in_use()


def _computes(function: Any) -> bool:
    if isinstance(function, itemgetter):
        return True
    if not isinstance(function, FunctionType) or function.__defaults__ or function.__kwdefaults__:
        return False
    code = function.__code__
    if code.co_argcount != 1 or code.co_flags & _OTHER_KINDS or code.co_freevars or code.co_cellvars:
        return False
    return all(
        instruction.opname in _COMPUTING
        and not (instruction.opname == "BINARY_OP" and (instruction.arg or 0) >= _IN_PLACE)
        for instruction in dis.get_instructions(code)
    )


_OTHER_KINDS = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def computed(function: Callable[[Any], Any], values: list[Any]) -> list[Any] | None:
    """Return the results of such a function; ``None`` if it fails, as it can be called again, one record at a time."""
    try:
        return [function(value) for value in values]
    except Exception:
        return None


def chosen(function: Callable[[Any], Any], values: list[Any]) -> list[Any] | None:
    """Return the values for which such a function is true; ``None`` if it fails."""
    try:
        return [value for value in values if function(value)]
    except Exception:
        return None


def are_built_in(values: list[Any]) -> bool:
    """Tell, by the first of them, whether records are of built-in types, whose operations keep nothing either."""
    return values[0].__class__ in _BUILT_IN


def _trial() -> bool:
    harmless = [lambda record: record, lambda record: (record[0], record[1] * 2), lambda record: not record > 1]
    others = [
        lambda record: record.append(1),
        lambda record: record.field,
        lambda record: [each for each in record],  # noqa: C416 - a loop is meant here
        lambda _: TYPE_CHECKING,
        lambda record: (yield record),
        lambda record: record.__setitem__(0, 1),
    ]
    return all(map(_computes, harmless)) and not any(map(_computes, others))


_TRICK = Trick("results of functions that can only compute are not looked at", _trial)
