"""Which subtask owns a key: Flink's rule, so that printed subtask numbers and rescaling match Flink's.

``key group = murmur(java_hash(key)) % max_parallelism`` and ``subtask = key group * parallelism // max_parallelism``.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

from penstock.foundation.keys.canonical_form import canonical
from penstock.foundation.keys.forms import encode, without_names

__all__ = [
    "WORTHWHILE_KEYS",
    "WORTHWHILE_RUN",
    "TargetCache",
    "java_hash",
    "key_group_of",
    "key_group_range",
    "murmur_hash",
    "subtask_of_key_group",
    "targets_of_ints",
]

_MASK = 0xFFFFFFFF
_TARGET_CACHE_LIMIT = 1 << 18


def java_hash(key: Any) -> int:
    """Return the 32-bit hash that Java gives to the same key, as an unsigned int; equal keys have equal hashes.

    ``str``, ``int``, ``float``, ``bytes`` and tuples of those follow Java, but for whole floats and booleans, which
    are equal to ints and go with them. Every other key goes through a checksum of its canonical form, which is the same
    in all processes (Python's own ``hash`` is salted).

    Raises:
        UnusableKeyError: The key has no value that could be compared with that of another one.
    """
    kind = type(key)
    if kind is str:
        return _java_string_hash(key)
    if kind is int:
        return _java_int_hash(key)
    return _hash_of_form(canonical(key))


def _hash_of_form(form: Any) -> int:
    kind = type(form)
    if kind is str:
        return _java_string_hash(form)
    if kind is int:
        return _java_int_hash(form)
    if kind is tuple:
        return _sequence_hash(list(map(_hash_of_form, form)))
    if kind is float:
        return _java_double_hash(form)
    if kind is bytes:
        return _sequence_hash([byte - 256 if byte > 127 else byte for byte in form])
    if form is None:
        return 0
    if form.tag == "frozenset":
        return sum(map(_hash_of_form, form.content)) & _MASK
    return zlib.crc32(encode(without_names(form)))


def _java_string_hash(text: str) -> int:
    if text.isascii():
        units: Any = text.encode("ascii")
    else:
        raw = text.encode("utf-16-be", "surrogatepass")
        units = struct.unpack(f">{len(raw) // 2}H", raw)
    value = 0
    for unit in units:
        value = (31 * value + unit) & _MASK
    return value


def _java_int_hash(number: int) -> int:
    if -(1 << 31) <= number < (1 << 31):
        return number & _MASK
    if -(1 << 63) <= number < (1 << 63):
        bits = number & 0xFFFFFFFFFFFFFFFF
        return (bits ^ (bits >> 32)) & _MASK
    # Java's BigInteger: magnitude words, most significant first, then the sign.
    magnitude = abs(number)
    words = []
    while magnitude:
        words.append(magnitude & _MASK)
        magnitude >>= 32
    value = 0
    for word in reversed(words):
        value = (31 * value + word) & _MASK
    return value if number > 0 else -value & _MASK


def _java_double_hash(number: float) -> int:
    bits = struct.unpack(">Q", struct.pack(">d", number))[0]
    return int((bits ^ (bits >> 32)) & _MASK)


def _sequence_hash(hashes: list[int]) -> int:
    value = 1
    for item in hashes:
        value = (31 * value + item) & _MASK
    return value


def _scrambled(code: Any) -> Any:
    """Scramble hashes of 32 bits with the steps of Murmur: an int, or an array of NumPy's ``uint64``.

    No step has more than 64 bits in between.
    """
    code = (code * 0xCC9E2D51) & _MASK
    code = ((code << 15) | (code >> 17)) & _MASK
    code = (code * 0x1B873593) & _MASK
    code = ((code << 13) | (code >> 19)) & _MASK
    code = (code * 5 + 0xE6546B64) & _MASK
    code = code ^ 4
    code = code ^ (code >> 16)
    code = (code * 0x85EBCA6B) & _MASK
    code = code ^ (code >> 13)
    code = (code * 0xC2B2AE35) & _MASK
    return code ^ (code >> 16)


def murmur_hash(code: int) -> int:
    """Scramble a 32-bit hash as Flink's ``MathUtils.murmurHash`` does; the result is never negative."""
    found: int = _scrambled(code)
    if found < 0x80000000:
        return found
    return (1 << 32) - found if found != 0x80000000 else 0


def key_group_of(key: Any, max_parallelism: int) -> int:
    """Return the key group of a key."""
    return murmur_hash(java_hash(key)) % max_parallelism


def subtask_of_key_group(key_group: int, parallelism: int, max_parallelism: int) -> int:
    """Return the subtask that owns a key group."""
    return key_group * parallelism // max_parallelism


def key_group_range(subtask: int, parallelism: int, max_parallelism: int) -> range:
    """Return the key groups that a subtask owns."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism - 1) // parallelism
    return range(start, end + 1)


class TargetCache(dict[Any, int]):
    """Remembers the subtask of each key; ``cache[key]`` computes it on the first sight of a key only.

    Equal keys share an entry, as they share their subtask.
    """

    __slots__ = ("_max_parallelism", "_parallelism")

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        if len(self) >= _TARGET_CACHE_LIMIT:
            self.clear()
        group = murmur_hash(java_hash(key)) % self._max_parallelism
        target = self[key] = group * self._parallelism // self._max_parallelism
        return target


WORTHWHILE_KEYS = 1 << 16
"""More keys than this are better computed than remembered."""
WORTHWHILE_RUN = 64
"""Fewer records than this are not worth an array."""


def targets_of_ints(keys: list[Any], parallelism: int, max_parallelism: int) -> list[int] | None:
    """Return the subtask of each key, by the same rule; ``None`` unless all are ints of 64 bits.

    Up to some ten thousand keys, remembering the subtask of each key is the fastest way to find it. With more, the
    memory is slow to look things up in, and large: each sender would remember each key of the stream. The rule itself
    is a few operations on 32-bit integers, which NumPy does for a whole run of keys in less time than one lookup takes
    for each.
    """
    import numpy as np

    if set(map(type, keys)) != {int}:
        return None
    try:
        numbers = np.array(keys, dtype=np.int64)
    except OverflowError:
        return None
    # An int of 32 bits is its own hash in Java, a longer one folds its halves.
    is_short = (numbers >= -(1 << 31)) & (numbers < (1 << 31))
    bits = numbers.view(np.uint64)
    code = np.where(is_short, bits, bits ^ (bits >> np.uint64(32))) & np.uint64(0xFFFFFFFF)
    signed = _scrambled(code).astype(np.uint32).view(np.int32).astype(np.int64)
    # As in Flink: the absolute value, and nothing for the one number that has none.
    group = np.where(signed == -(1 << 31), 0, np.abs(signed)) % max_parallelism
    targets: list[int] = (group * parallelism // max_parallelism).tolist()
    return targets
