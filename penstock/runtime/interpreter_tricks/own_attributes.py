"""Gives the program's objects dictionaries of their own, from which the interpreter reads attributes fast.

An object that pickle has put together keeps its attributes in a dictionary that shares its keys with all objects of the
class. CPython's interpreter has no fast way into such a dictionary: ``self.limit`` in a function that came to a worker
takes three times as long as the same line in the program that sent it. A dictionary that is the object's alone has one.

Python 3.13 reads such attributes fast without that, so it is left alone there.
"""

from __future__ import annotations

import sys
from types import GetSetDescriptorType
from typing import Any

from penstock.runtime.interpreter_tricks.switch import Trick

__all__ = ["give_own_attributes"]

_HELPS = sys.version_info < (3, 13)
_DEPTH = 4
"""A step has a strategy, that a timestamp assigner, that an object which does the work."""

_set: Any = object.__setattr__  # also of objects that refuse to be changed, such as frozen dataclasses
_HEAP_TYPE = 1 << 9


def give_own_attributes(holder: object) -> None:
    """Renew the dictionaries of the objects of the program's own classes that an object holds in its attributes."""
    if not _HELPS or not _TRICK.is_in_use():
        return
    seen: set[int] = set()
    level = [holder]
    for _ in range(_DEPTH):
        held: list[object] = []
        for each in level:
            if id(each) not in seen and _is_simple(type(each)):
                seen.add(id(each))
                held.extend(_renew_attributes(each))
        level = held


def _renew_attributes(owner: object) -> list[object]:
    """Give an object a dictionary of its own; return what is in it."""
    try:
        attributes = vars(owner)
        # A dictionary that somebody else refers to as well must stay the same one, and one of another kind what it is.
        if type(attributes) is dict and sys.getrefcount(attributes) == _references:
            _set(owner, "__dict__", dict(attributes))
        return list(attributes.values())
    except (AttributeError, TypeError):  # a type in C, whose dictionary is its own affair
        return []


def _is_simple(kind: type) -> bool:
    """Tell whether a class and all it builds upon are written in Python and leave attributes to the language.

    Classes that say how their objects are pickled are left out: such an object may be one that all threads share.
    """
    described = next((vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)), None)
    return (
        isinstance(described, GetSetDescriptorType)
        and not issubclass(kind, type)
        and kind.__getattribute__ is object.__getattribute__
        and kind.__reduce__ is object.__reduce__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and all(base.__flags__ & _HEAP_TYPE for base in kind.__mro__[:-1])
    )


class _Example:
    """An object of the program."""

    def __init__(self) -> None:
        self.value = 1


_references = 0
"""Who refers to the dictionary of an object that is asked for it, as far as the interpreter counts them."""


def _count(owner: object) -> int:
    """Count as :func:`_renew_attributes` does."""
    attributes = vars(owner)
    return sys.getrefcount(attributes)


def _trial() -> bool:
    """Learn how many references there are, and tell whether one more makes a difference."""
    global _references
    _references = _count(_Example())
    alone, shared = _Example(), _Example()
    held, number = vars(shared), id(vars(alone))
    _renew_attributes(alone)
    _renew_attributes(shared)
    return vars(shared) is held and id(vars(alone)) != number and vars(alone) == held


_TRICK = Trick("objects that came by pickle get attributes of their own", _trial)
