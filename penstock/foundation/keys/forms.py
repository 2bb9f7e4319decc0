"""What canonical forms are made of, and their bytes: plain data, tuples, and tagged ones of these."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["PLAIN_KINDS", "Refused", "Tagged", "encode", "with_length", "without_names"]

PLAIN_KINDS = frozenset({type(None), int, str, bytes})
"""Exactly these types are their own canonical form; the only others are floats that are no whole numbers."""

_DOUBLE = struct.Struct(">d")
_LENGTH = struct.Struct(">I")


class Tagged:
    """The canonical form of what no plain value is equal to: the name of its kind, and a canonical form.

    The objects of a class have the name of the class as well. It tells keys apart, but the subtask of a key does not
    depend on it: a class may get another name, and its keys stay where they are.
    """

    __slots__ = ("content", "name", "tag")

    def __init__(self, tag: str, content: Any, name: str = "") -> None:
        self.tag = tag
        self.content = content
        self.name = name


class Refused(Exception):
    """Says why a part of a key makes the whole unusable, and what to return instead."""

    def __init__(self, refused: Any, why: str, remedy: str) -> None:
        super().__init__(refused, why, remedy)
        self.refused = refused
        self.why = why
        self.remedy = remedy


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
    if form.name:
        return b"y" + with_length(form.tag.encode()) + with_length(form.name.encode()) + encode(form.content)
    return b"x" + with_length(form.tag.encode()) + encode(form.content)


def without_names(form: Any) -> Any:
    """Return a canonical form without the names of classes in it: different keys may have the same."""
    if type(form) is tuple:
        return tuple(map(without_names, form))
    if type(form) is not Tagged:
        return form
    content = without_names(form.content)
    if form.tag == "frozenset":
        content = tuple(sorted(content, key=encode))
    return Tagged(form.tag, content)


def with_length(data: bytes) -> bytes:
    """Return bytes with their length in front, so that more can follow."""
    return _LENGTH.pack(len(data)) + data
