"""Plain data as bytes: nothing, truth, numbers, texts, bytes, lists and dictionaries, and never anything else.

Whoever reads it gets values of these kinds or an error: no class is looked up and nothing is called, whatever the bytes
are. A sealed piece, numbers little-endian, is::

    8 bytes that name its kind, u16 version, u64 length of the body, u32 CRC-32 of the body, the body

The body is a u32 length, JSON of that length, and behind it the bytes that the JSON refers to, in the order in which it
does: ``{"$bytes": length}``. A dictionary whose keys are not all texts is ``{"$pairs": [[key, value], ...]}``.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Fields", "PlainDataError", "dump_plain", "load_plain", "seal", "unpickle_plain", "unseal"]

T = TypeVar("T")

_LENGTH = struct.Struct("<I")
_HEAD = struct.Struct("<8sHQI")
_BYTES = "$bytes"
_PAIRS = "$pairs"


class PlainDataError(ValueError):
    """The bytes are not what they should be; the message continues a sentence that begins with the file."""


def seal(kind: bytes, version: int, plain: Any) -> bytes:
    """Return plain data as a piece that says what it is and is checked when it is read."""
    body = dump_plain(plain)
    return _HEAD.pack(kind, version, len(body), zlib.crc32(body)) + body


def unseal(data: bytes, kind: bytes, versions: range, what: str) -> Any:
    """Return the plain data of a sealed piece.

    Args:
        data: The bytes.
        kind: What they begin with.
        versions: The versions that can be read.
        what: How messages call the piece.

    Raises:
        PlainDataError: It is truncated, damaged, of another kind or of a version that cannot be read.
    """
    if len(data) < _HEAD.size or data[: len(kind)] != kind:
        message = f"is truncated at {len(data)} bytes or holds no {what}"
        raise PlainDataError(message)
    _, version, length, checksum = _HEAD.unpack_from(data)
    if version not in versions:
        message = f"has version {version} of the {what}, and this Penstock reads up to version {versions[-1]}"
        if version < versions.start:
            message = f"has version {version} of the {what}, which is of a time before the first release"
        raise PlainDataError(message)
    body = data[_HEAD.size :]
    if len(body) != length:
        message = f"is truncated: {len(body)} of {length} bytes are there"
        raise PlainDataError(message)
    if zlib.crc32(body) != checksum:
        message = "is damaged (the checksum does not match)"
        raise PlainDataError(message)
    return load_plain(body)


def dump_plain(plain: Any) -> bytes:
    """Return plain data as bytes; tuples become lists."""
    parts: list[bytes] = []
    text = json.dumps(_to_json(plain, parts), separators=(",", ":"), allow_nan=False).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *parts])


def load_plain(data: bytes | memoryview) -> Any:
    """Return the plain data that ``dump_plain`` was given.

    Raises:
        PlainDataError: The bytes are no plain data.
    """
    view = memoryview(data)
    try:
        (length,) = _LENGTH.unpack_from(view)
        end = _LENGTH.size + length
        if end > len(view):
            _refuse("its text is cut off")
        parsed = json.loads(bytes(view[_LENGTH.size : end]), parse_constant=_refuse)
        rest = _Rest(view[end:])
        plain = _from_json(parsed, rest)
    except PlainDataError:
        raise
    except (ValueError, TypeError, struct.error, RecursionError) as error:
        message = f"is damaged ({error})"
        raise PlainDataError(message) from error
    if rest.position != len(rest.view):
        _refuse("it has bytes that nothing refers to")
    return plain


def unpickle_plain(data: bytes) -> Any:
    """Return the plain data of a pickle, which is quicker to write than JSON where there are very many values.

    Raises:
        PlainDataError: The pickle holds something else; nothing of it is looked up or called.
    """
    try:
        return _PlainUnpickler(io.BytesIO(data)).load()
    except PlainDataError:
        raise
    except Exception as error:  # what a pickle that is none makes of the unpickler
        message = f"is damaged ({error})"
        raise PlainDataError(message) from error


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> NoReturn:
        _refuse(f"plain data names {module}.{name}")


class Fields:
    """A dictionary of plain data that is read field by field; what is missing, left over or of another kind is refused.

    Example::

        with Fields(plain, "the head") as fields:
            size = fields.take("size", int)
    """

    def __init__(self, plain: Any, what: str) -> None:
        if type(plain) is not dict:
            _refuse(f"{what} is no dictionary")
        self._left = dict(plain)
        self._what = what

    def __enter__(self) -> Fields:
        """Return the fields."""
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Refuse fields that nobody has taken."""
        if kind is None and self._left:
            _refuse(f"{self._what} has unknown fields: {', '.join(map(str, self._left))}")

    def take(self, name: str, kind: type[T], *, least: int | None = None) -> T:
        """Return a field of exactly this type; numbers may have a lower bound."""
        value = self._taken(name)
        if type(value) is not kind or (least is not None and value < least):  # type: ignore[operator]
            _refuse(f"{name!r} of {self._what} is {value!r:.80}")
        return value

    def take_optional(self, name: str, kind: type[T]) -> T | None:
        """Return a field of exactly this type, or None."""
        if self._left.get(name, name) is None:
            del self._left[name]
            return None
        return self.take(name, kind)

    def take_list(self, name: str, item: Callable[[Any], T]) -> list[T]:
        """Return a list whose items are made from plain data."""
        return [item(each) for each in self.take(name, list)]

    def take_dict(self, name: str, key: type[T], value: Callable[[Any], Any]) -> dict[T, Any]:
        """Return a dictionary with keys of exactly this type, whose values are made from plain data."""
        found = self.take(name, dict)
        if any(type(each) is not key for each in found):
            _refuse(f"{name!r} of {self._what} has keys of another type")
        return {each: value(content) for each, content in found.items()}

    def _taken(self, name: str) -> Any:
        if name not in self._left:
            _refuse(f"{self._what} has no field {name!r}")
        return self._left.pop(name)


class _Rest:
    """The bytes behind the JSON, taken one after the other."""

    def __init__(self, view: memoryview) -> None:
        self.view = view
        self.position = 0

    def take(self, size: Any) -> bytes:
        if type(size) is not int or not 0 <= size <= len(self.view) - self.position:
            _refuse(f"it refers to {size!r:.40} bytes that are not there")
        self.position += size
        return bytes(self.view[self.position - size : self.position])


def _to_json(plain: Any, parts: list[bytes]) -> Any:
    kind = type(plain)
    if plain is None or kind in (str, int, bool, float):
        return plain
    if kind is bytes:
        parts.append(plain)
        return {_BYTES: len(plain)}
    if kind in (list, tuple):
        return [_to_json(each, parts) for each in plain]
    if kind is dict:
        if all(type(key) is str and not key.startswith("$") for key in plain):
            return {key: _to_json(each, parts) for key, each in plain.items()}
        return {_PAIRS: [[_key(key), _to_json(each, parts)] for key, each in plain.items()]}
    message = f"{plain!r:.100} is no plain data"
    raise TypeError(message)


def _from_json(parsed: Any, rest: _Rest) -> Any:
    if type(parsed) is list:
        return [_from_json(each, rest) for each in parsed]
    if type(parsed) is not dict:
        return parsed
    if _BYTES in parsed and len(parsed) == 1:
        return rest.take(parsed[_BYTES])
    if _PAIRS in parsed and len(parsed) == 1:
        return {_key(key): _from_json(each, rest) for key, each in _two(parsed[_PAIRS])}
    if any(key.startswith("$") for key in parsed):
        _refuse("it has a mark that nobody knows")
    return {key: _from_json(each, rest) for key, each in parsed.items()}


def _two(pairs: Any) -> Iterable[tuple[Any, Any]]:
    if type(pairs) is not list or any(type(each) is not list or len(each) != 2 for each in pairs):
        _refuse("its pairs are no pairs")
    return pairs


def _key(key: Any) -> Any:
    if type(key) not in (str, int):
        message = f"{key!r:.100} is no key of plain data"
        raise TypeError(message)
    return key


def _refuse(why: str) -> NoReturn:
    message = f"is damaged or not written by Penstock ({why})"
    raise PlainDataError(message)
