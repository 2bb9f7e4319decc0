"""Large blocks go in pieces and arrive whole, whoever else sends in between."""

from __future__ import annotations

import struct

from penstock.execution.spark.worker.block_pieces import PIECE_BYTES, PIECE_MARK, PieceCollector, cut_block


def test_a_small_block_stays_as_it_is() -> None:
    block = struct.pack("<HHH", 1, 2, 3) + b"x" * (PIECE_BYTES - 6)
    assert list(cut_block(block, 5)) == [block]
    assert not block.startswith(PIECE_MARK)


def test_pieces_are_small_and_make_the_block_again() -> None:
    block = bytes(range(256)) * (PIECE_BYTES // 100)
    pieces = list(cut_block(block, 7))
    assert len(pieces) == 3
    assert all(piece.startswith(PIECE_MARK) and len(piece) <= PIECE_BYTES + 8 for piece in pieces)
    collector = PieceCollector()
    assert [collector.add(piece) for piece in pieces] == [None, None, block]


def test_pieces_of_several_senders_are_not_mixed_up() -> None:
    blocks = {sender: bytes([sender % 256]) * (2 * PIECE_BYTES + 1 + sender) for sender in (0, 1, 300)}
    cut = {sender: list(cut_block(block, sender)) for sender, block in blocks.items()}
    collector = PieceCollector()
    arrived = []
    for number in range(3):
        for pieces in cut.values():
            block = collector.add(pieces[number])
            if block is not None:
                arrived.append(block)
    assert arrived == list(blocks.values())
