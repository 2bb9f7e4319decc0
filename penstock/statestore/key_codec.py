"""Keys to bytes and back: equal keys give equal bytes, which a pickle does not promise.

Plain keys (``None``, bool, int, float, str, bytes and tuples of them) have a form of their own: a letter for the
type, then the content; the items of a tuple each with their length in front. Every other key is pickled without the
memory of objects seen before, so that it makes no difference whether two equal parts of a key are one object or two.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.statestore.value_codec import ClassTable, ValueReader

__all__ = ["decode_key", "encode_key", "with_length"]

_DOUBLE = struct.Struct(">d")
_LENGTH = struct.Struct(">I")


def encode_key(key: Any, classes: ClassTable) -> bytes:
    """Returns the bytes of a key."""
    kind = type(key)
    content: bytes
    if kind is str:
        content = key.encode("utf-8", "surrogatepass")
        return b"s" + content
    if kind is int:
        content = key.to_bytes(key.bit_length() // 8 + 1, "big", signed=True)
        return b"i" + content
    if kind is tuple:
        return b"t" + b"".join([with_length(encode_key(item, classes)) for item in key])
    if kind is bytes:
        return b"b" + key  # type: ignore[no-any-return]
    if kind is float:
        return b"d" + _DOUBLE.pack(key)
    if key is None:
        return b"n"
    if kind is bool:
        return b"T" if key else b"F"
    return b"p" + classes.dumps(key, is_canonical=True)


def decode_key(data: bytes, classes: ValueReader) -> Any:
    """Returns the key of some bytes."""
    kind, content = data[:1], data[1:]
    if kind == b"s":
        return content.decode("utf-8", "surrogatepass")
    if kind == b"i":
        return int.from_bytes(content, "big", signed=True)
    if kind == b"t":
        items = []
        while content:
            end = _LENGTH.size + _LENGTH.unpack_from(content)[0]
            items.append(decode_key(content[_LENGTH.size : end], classes))
            content = content[end:]
        return tuple(items)
    if kind == b"d":
        return _DOUBLE.unpack(content)[0]
    if kind == b"b":
        return content
    if kind == b"p":
        return classes.loads(content)
    return {b"n": None, b"T": True, b"F": False}[kind]


def with_length(data: bytes) -> bytes:
    """Returns bytes with their length in front, so that more can follow."""
    return _LENGTH.pack(len(data)) + data
