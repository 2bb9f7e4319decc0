"""Keys to bytes and back: equal keys give equal bytes, which a pickle does not promise.

The bytes of a key are those of its canonical form. Keys of plain data (``None``, int, str, bytes, floats that are no
whole numbers, and tuples of them) can be read back from it. What other keys looked like is not in these bytes, which
they share with all keys equal to them; it is kept beside the content that is stored under them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from penstock.foundation.keys.canonical_form import canonical
from penstock.foundation.keys.forms import PLAIN_KINDS, encode

if TYPE_CHECKING:
    from penstock.statestore.value_codec import ClassTable, ValueReader

__all__ = ["decode_key", "decode_namespace", "encode_key", "encode_namespace", "is_plain"]

_DOUBLE = struct.Struct(">d")
_LENGTH = struct.Struct(">I")


def encode_key(key: Any) -> bytes:
    """Return the bytes of a key.

    Raises:
        UnusableKeyError: The key has no value that could be compared with that of another one.
    """
    return encode(canonical(key))


def is_plain(key: Any) -> bool:
    """Tell whether ``decode_key`` returns the key as it was, and not only one that is equal to it."""
    kind = type(key)
    if kind in PLAIN_KINDS:
        return True
    if kind is tuple:
        return all(map(is_plain, key))
    return kind is float and not key.is_integer()


def decode_key(data: bytes) -> Any:
    """Return the key of some bytes of a plain key."""
    kind, content = data[:1], data[1:]
    if kind == b"s":
        return content.decode("utf-8", "surrogatepass")
    if kind == b"i":
        return int.from_bytes(content, "big", signed=True)
    if kind == b"t":
        items = []
        while content:
            end = _LENGTH.size + _LENGTH.unpack_from(content)[0]
            items.append(decode_key(content[_LENGTH.size : end]))
            content = content[end:]
        return tuple(items)
    if kind == b"d":
        return _DOUBLE.unpack(content)[0]
    return {b"b": content, b"n": None}[kind]


def encode_namespace(namespace: Any, classes: ClassTable) -> bytes:
    """Return the bytes of a namespace: a window, which is pickled without references to parts met before."""
    return encode(namespace) if is_plain(namespace) else b"p" + classes.dumps(namespace, is_canonical=True)


def decode_namespace(data: bytes, classes: ValueReader) -> Any:
    """Return the namespace of some bytes."""
    return classes.loads(data[1:]) if data.startswith(b"p") else decode_key(data)
