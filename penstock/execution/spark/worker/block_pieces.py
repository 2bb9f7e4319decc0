"""Large blocks cut into pieces that Spark moves easily, and put together again."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PIECE_BYTES", "PIECE_MARK", "PieceCollector", "cut_block"]

PIECE_BYTES = 1 << 20
PIECE_MARK = b"\xff\xff"
"""A block begins with the number of its edge, which is never the largest one."""
_HEAD = struct.Struct("<2sHI")


def cut_block(block: bytes, sender: int) -> Iterator[bytes]:
    """Yield a block in pieces, each with who sends it and how many follow; one that is small stays as it is."""
    if len(block) <= PIECE_BYTES:
        yield block
        return
    following = -(-len(block) // PIECE_BYTES)
    with memoryview(block) as view:
        for start in range(0, len(block), PIECE_BYTES):
            following -= 1
            yield b"".join((_HEAD.pack(PIECE_MARK, sender, following), view[start : start + PIECE_BYTES]))


class PieceCollector:
    """Puts blocks together; pieces of one sender come in their order, between those of others."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[bytes]] = {}

    def add(self, piece: bytes) -> bytes | None:
        """Take a piece; returns the block when it was the last one."""
        _, sender, following = _HEAD.unpack_from(piece)
        self._pieces.setdefault(sender, []).append(piece)
        if following:
            return None
        return b"".join([memoryview(part)[_HEAD.size :] for part in self._pieces.pop(sender)])
