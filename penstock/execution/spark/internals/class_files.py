"""Reads from Spark's jars which methods a class has and which texts it holds, without starting a JVM."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyspark

__all__ = ["ClassFile", "find_class", "parse_class"]

_CONSTANT_SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
"""The bytes of each kind of constant (Java Virtual Machine Specification, 4.4), but for texts, which have tag 1."""
_TWO_ENTRIES = (5, 6)


@dataclass(frozen=True)
class ClassFile:
    """What is looked at of a compiled class."""

    methods: frozenset[tuple[str, str]]
    """The name and the descriptor of each method that the class itself has."""
    texts: frozenset[str]
    """All its constants that are texts: names, and the strings of its source."""


@cache
def find_class(jar: str, name: str) -> ClassFile:
    """Return a class of one of Spark's jars.

    Args:
        jar: How the jar's name begins, ``spark-core_``.
        name: The name of the class with slashes.
    """
    (path,) = Path(pyspark.__file__).parent.glob(f"jars/{jar}*.jar")
    with zipfile.ZipFile(path) as archive:
        return parse_class(archive.read(f"{name}.class"))


def parse_class(content: bytes) -> ClassFile:
    """Return what a class file says."""
    (count,) = struct.unpack_from(">H", content, 8)
    texts: dict[int, str] = {}
    offset, entry = 10, 1
    while entry < count:
        tag = content[offset]
        if tag == 1:
            (length,) = struct.unpack_from(">H", content, offset + 1)
            texts[entry] = content[offset + 3 : offset + 3 + length].decode("utf-8", "replace")
            offset += 3 + length
        else:
            offset += 1 + _CONSTANT_SIZES[tag]
        entry += 2 if tag in _TWO_ENTRIES else 1
    (interfaces,) = struct.unpack_from(">H", content, offset + 6)
    _, offset = _members(content, offset + 8 + 2 * interfaces)
    members, _ = _members(content, offset)
    return ClassFile(frozenset((texts[name], texts[kind]) for name, kind in members), frozenset(texts.values()))


def _members(content: bytes, offset: int) -> tuple[list[tuple[int, int]], int]:
    """Return the positions of name and descriptor of fields or methods, and where what follows begins."""
    (count,) = struct.unpack_from(">H", content, offset)
    offset += 2
    found = []
    for _ in range(count):
        _, name, descriptor, attributes = struct.unpack_from(">HHHH", content, offset)
        found.append((name, descriptor))
        offset += 8
        for _ in range(attributes):
            (length,) = struct.unpack_from(">I", content, offset + 2)
            offset += 6 + length
    return found, offset
