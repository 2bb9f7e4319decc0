"""Which subtasks own some thousand whole numbers, computed in one go.

Up to some ten thousand keys, remembering the subtask of each key is the fastest way to find it. With more, the memory
is slow to look things up in, and large: each sender would remember each key of the stream. The rule itself is a few
operations on 32-bit integers, which NumPy does for a whole run of keys in less time than one lookup takes for each.
"""

from __future__ import annotations

from typing import Any

__all__ = ["WORTHWHILE_KEYS", "WORTHWHILE_RUN", "targets_of_ints"]

WORTHWHILE_KEYS = 1 << 16
"""More keys than this are better computed than remembered."""
WORTHWHILE_RUN = 64
"""Fewer records than this are not worth an array."""


def targets_of_ints(keys: list[Any], parallelism: int, max_parallelism: int) -> list[int] | None:
    """Return the subtask of each key, by the rule of ``key_groups``; ``None`` unless all are ints of 64 bits."""
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
    code = np.where(is_short, bits, bits ^ (bits >> np.uint64(32))).astype(np.uint32)
    code *= np.uint32(0xCC9E2D51)
    code = (code << np.uint32(15)) | (code >> np.uint32(17))
    code *= np.uint32(0x1B873593)
    code = (code << np.uint32(13)) | (code >> np.uint32(19))
    code = code * np.uint32(5) + np.uint32(0xE6546B64)
    code ^= np.uint32(4)
    code ^= code >> np.uint32(16)
    code *= np.uint32(0x85EBCA6B)
    code ^= code >> np.uint32(13)
    code *= np.uint32(0xC2B2AE35)
    code ^= code >> np.uint32(16)
    signed = code.view(np.int32).astype(np.int64)
    # As in Flink: the absolute value, and nothing for the one number that has none.
    group = np.where(signed == -(1 << 31), 0, np.abs(signed)) % max_parallelism
    targets: list[int] = (group * parallelism // max_parallelism).tolist()
    return targets
