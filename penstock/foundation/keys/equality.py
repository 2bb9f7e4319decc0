"""The one rule about keys: two keys that are equal in Python are one key, wherever and whenever they are met.

A dictionary of one process can ask Python whether two keys are equal. Which subtask owns a key, and under which bytes
a store keeps its state, must follow from the key alone, and be the same in every process. So each key has a *canonical
form* that all keys equal to it share and no other key has: ``1``, ``1.0``, ``True`` and ``Decimal("1.00")`` have that
of ``1``. Routing hashes the canonical form, stores encode it; nothing else compares keys but Python itself.

What has no such form is refused: values that are not equal to themselves, objects that are equal to nothing else,
values that may change, and classes whose equality cannot be known from outside.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from penstock.errors import UnusableKeyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAIN_KINDS", "Refused", "Tagged", "canonical", "encode", "part", "with_length"]

PLAIN_KINDS = frozenset({type(None), int, str, bytes})
"""Exactly these types are their own canonical form; the only others are floats that are no whole numbers."""

_DOUBLE = struct.Struct(">d")
_LENGTH = struct.Struct(">I")


class Tagged:
    """The canonical form of what no plain value is equal to: the name of its kind, and a canonical form."""

    __slots__ = ("content", "tag")

    def __init__(self, tag: str, content: Any) -> None:
        self.tag = tag
        self.content = content


class Refused(Exception):
    """Says why a part of a key makes the whole unusable, and what to return instead."""

    def __init__(self, refused: Any, why: str, remedy: str) -> None:
        super().__init__(refused, why, remedy)
        self.refused = refused
        self.why = why
        self.remedy = remedy


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
        from penstock.foundation.keys.kinds import rule_of  # it builds on this module

        rule = rule_of(kind)
        if len(_rules) < _MOST_RULES:  # a program may make classes while it runs
            _rules[kind] = rule
    return rule(key)


_rules: dict[type, Callable[[Any], Any]] = {}
_MOST_RULES = 1 << 12


def encode(form: Any) -> bytes:
    """Return the bytes of a canonical form; different forms have different bytes."""
    kind = type(form)
    if kind is str:
        return b"s" + form.encode("utf-8", "surrogatepass")  # type: ignore[no-any-return]
    if kind is int:
        return b"i" + form.to_bytes(form.bit_length() // 8 + 1, "big", signed=True)  # type: ignore[no-any-return]
    if kind is tuple:
        return b"t" + b"".join([with_length(encode(item)) for item in form])
    if kind is bytes:
        return b"b" + form  # type: ignore[no-any-return]
    if form is None:
        return b"n"
    if kind is float:
        return b"d" + _DOUBLE.pack(form)
    return b"x" + with_length(form.tag.encode()) + encode(form.content)


def with_length(data: bytes) -> bytes:
    """Return bytes with their length in front, so that more can follow."""
    return _LENGTH.pack(len(data)) + data


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.100}"
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {error!r}>"
