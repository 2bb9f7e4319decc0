"""What canonical forms are made of, and their bytes: plain data, tuples, and tagged ones of these."""

from __future__ import annotations

import struct
from typing import Any

__all__ = ["PLAIN_KINDS", "Refused", "Tagged", "encode", "with_length"]

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
