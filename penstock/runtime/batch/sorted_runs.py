"""Sorts records by key and time in files, where they are too many for memory."""

from __future__ import annotations

import heapq
import os
import pickle
import tempfile
from itertools import groupby, islice
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any

from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.statestore.key_codec import encode_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["SortedRuns", "sort_limit"]

_GROWTH = 8
"""How many times larger records are in memory than in blocks, roughly."""
_FRAME = 1024

_Sorted = tuple[bytes, int, int, Any]
"""The key's bytes, the time, the input and the record."""
_order = itemgetter(0, 1, 2)
_key = itemgetter(0)


def sort_limit(memory: int) -> int:
    """Return how many bytes of blocks are grouped in memory, where records may take so many bytes."""
    return memory // _GROWTH


class SortedRuns:
    """Takes records in any order and gives them back key by key; a context manager that removes its files."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._files: list[IO[bytes]] = []
        self._waiting: list[_Sorted] = []
        self._size = 0
        # Where Spark keeps what it spills itself, if it says so.
        self._directory = (os.environ.get("SPARK_LOCAL_DIRS") or "").split(",")[0] or None

    def __enter__(self) -> SortedRuns:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for file in self._files:
            file.close()

    def add(self, number: int, keys: list[Any], values: Values, timestamps: Timestamps, size: int = 0) -> None:
        """Add records of an input; ``size`` is that of their block."""
        times = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
        self._waiting += [
            (encode_key(key), time, number, value) for key, time, value in zip(keys, times, values, strict=True)
        ]
        self._size += size
        if self._size > self._limit:
            self.flush()

    def flush(self) -> None:
        """Sort what is in memory and put it into a file."""
        if not self._waiting:
            return
        self._waiting.sort(key=_order)
        file = tempfile.TemporaryFile(prefix="penstock-sort-", dir=self._directory)  # noqa: SIM115 - closed in the end
        for start in range(0, len(self._waiting), _FRAME):
            pickle.dump(self._waiting[start : start + _FRAME], file, protocol=5)
        self._files.append(file)
        self._waiting = []
        self._size = 0

    def keys(self, most: int) -> Iterator[list[tuple[int, int, Any]] | None]:
        """Yield the records of each key, as time, input and record, at most so many at once; ``None`` ends the key."""
        self.flush()
        merged = heapq.merge(*(_frames(file) for file in self._files), key=_order)
        for _, of_key in groupby(merged, key=_key):
            while records := [(time, number, value) for _, time, number, value in islice(of_key, most)]:
                yield records
            yield None


def _frames(file: IO[bytes]) -> Iterator[_Sorted]:
    file.seek(0)
    while True:
        try:
            frame: list[_Sorted] = pickle.load(file)
        except EOFError:
            return
        yield from frame
