"""Gives the program's objects dictionaries of their own, from which the interpreter reads attributes fast.

An object that pickle has put together keeps its attributes in a dictionary that shares its keys with all objects of the
class. CPython's interpreter has no fast way into such a dictionary: ``self.limit`` in a function that came to a worker
takes three times as long as the same line in the program that sent it. A dictionary that is the object's alone has one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["give_own_attributes"]

_DEPTH = 4
"""A step has a strategy, that a timestamp assigner, that an object which does the work."""

_set: Any = object.__setattr__  # also of objects that refuse to be changed, such as frozen dataclasses
_HEAP_TYPE = 1 << 9


def give_own_attributes(holder: object) -> None:
    """Renew the dictionaries of the objects of the program's own classes that an object holds in its attributes."""
    seen: set[int] = set()
    level = [holder]
    for _ in range(_DEPTH):
        held: list[object] = []
        for each in level:
            if id(each) not in seen and _is_simple(type(each)):
                seen.add(id(each))
                attributes = dict(vars(each))
                _set(each, "__dict__", attributes)
                held.extend(attributes.values())
        level = held


def _is_simple(kind: type) -> bool:
    """Tell whether a class and all it builds upon are written in Python: what others do with a dictionary is theirs."""
    return (
        kind.__dictoffset__ != 0
        and not issubclass(kind, type)
        and kind.__getattribute__ is object.__getattribute__
        and all(base.__flags__ & _HEAP_TYPE for base in kind.__mro__[:-1])
        and not any("__dict__" in vars(base) and isinstance(vars(base)["__dict__"], property) for base in kind.__mro__)
    )
