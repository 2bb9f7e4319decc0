"""Blocks to Arrow batches and back: how blocks cross between Python workers and Spark."""

from __future__ import annotations

import struct
import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.execution.spark.worker.block_pieces import PIECE_BYTES, PIECE_MARK, PieceCollector, cut_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.runtime.task.loop import Blocks, Inbox

__all__ = ["SCHEMA", "SCHEMA_TEXT", "InboxReader", "InputLostError", "to_batches"]

_OFFSETS = struct.Struct("=ii")
SCHEMA_TEXT = "p int, b binary"
SCHEMA = pa.schema([("p", pa.int32()), ("b", pa.binary())])


def to_batches(blocks: Iterable[Blocks], sender: int = 0) -> Iterator[pa.RecordBatch]:
    """Turn blocks into rows: the target partition and the bytes. ``sender`` is the number of this task in its stage.

    Spark's JVM holds a row several times and was not made for large ones: a large block goes in pieces.

    Spark's Arrow writer looks one row ahead, so a row reaches its reader only when the next one comes. When a task is
    about to wait (an empty list), an empty row follows to every target that has not had one since its last block.
    """
    waiting: set[int] = set()
    for ready in blocks:
        if ready:
            waiting.update(target for target, _ in ready)
            if max(len(block) for _, block in ready) <= PIECE_BYTES:
                yield _batch([target for target, _ in ready], [block for _, block in ready])
            else:
                for target, block in ready:
                    for piece in cut_block(block, sender):
                        yield _batch([target], [piece])
        elif waiting:
            yield _batch(list(waiting), [b""] * len(waiting))
            waiting.clear()


def _batch(targets: list[int], blocks: list[bytes]) -> pa.RecordBatch:
    content = _around(blocks[0]) if len(blocks) == 1 else pa.array(blocks, pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(targets, pa.int32()), content], schema=SCHEMA)


def _around(block: bytes) -> pa.Array:
    """Return a column with one block, without copying it: under load most batches are one large block."""
    offsets = pa.py_buffer(_OFFSETS.pack(0, len(block)))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(block)])


class InputLostError(Exception):
    """The rows of a task ended before the elements that end its input: Spark has ended the task."""


class InboxReader:
    """Reads Spark's rows in a thread and puts blocks into a task's inbox, so that the task can wait for time too."""

    def __init__(self, batches: Iterator[pa.RecordBatch], inbox: Inbox) -> None:
        self._batches = batches
        self._inbox = inbox
        self._is_discarding = False
        self._thread = threading.Thread(target=self._read, name="penstock input", daemon=True)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def discard(self) -> None:
        """Throw away what comes from now on: tasks that wait for room here get to hear that they are to stop."""
        self._is_discarding = True
        while self._inbox.has_blocks():
            self._inbox.take(0)

    def _read(self) -> None:
        pieces = PieceCollector()
        try:
            for batch in self._batches:
                for block in batch.column(1):
                    content: Any = block.as_py()
                    if content.startswith(PIECE_MARK):
                        content = pieces.add(content)
                    if content and not self._is_discarding:
                        self._inbox.put(content)
        except BaseException as error:
            cause = error

            def fail() -> None:
                raise InputLostError from cause

            self._inbox.command(fail)
        else:
            self._inbox.end()
