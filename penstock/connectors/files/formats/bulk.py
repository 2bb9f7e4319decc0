"""How a file becomes batches of records: formats with row groups, stripes or blocks."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.files.source.reader import FileReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.connectors.files.source.input_file import InputFile

__all__ = ["BATCH_ROWS", "BulkFormat", "BulkReader"]

T = TypeVar("T")

_DAMAGE = (ValueError, EOFError, OSError)
BATCH_ROWS = 4096
"""How many records formats turn into Python objects at a time."""


class BulkReader(ABC, Generic[T]):
    """Reads the parts of one file."""

    part_count: int | None = None
    """How many parts there are; needed where the format is splittable."""

    @abstractmethod
    def read_part(self, number: int) -> Iterable[list[T]] | None:
        """Return the records of a part in lists of some thousands, always the same ones; ``None`` behind the last part.

        Parts are asked for in ascending order. ``ValueError`` says that the part cannot be read.
        """

    def close(self) -> None:
        """Release what the reader holds beside the file."""


class BulkFormat(ABC, Generic[T]):
    """Reads files part by part: row groups, stripes, blocks.

    The position is the number of a part and of the records read of it.
    """

    is_splittable: bool = False
    """Whether several subtasks may read parts of one file at the same time."""

    @abstractmethod
    def open(self, file: Any, path: str) -> BulkReader[T]:
        """Start reading a file, a binary one that can be read at any place. ``ValueError``: it cannot be read."""

    def create_reader(self, file: InputFile, position: Any) -> FileReader[T]:
        """Start reading a file or a range of it."""
        return _PartReader(file, self, position)


class _PartReader(FileReader[T]):
    def __init__(self, file: InputFile, bulk_format: BulkFormat[T], position: tuple[int, int] | None) -> None:
        self._file = file
        self._raw = file.open_raw()
        self._reader: BulkReader[T] | None = None
        self._part = 0
        self._last: int | None = 0
        self._batches: Iterator[list[T]] | None = None
        self._batch: list[T] = []
        self._index = self._rows = 0
        self._skip = 0
        try:
            self._reader = bulk_format.open(self._raw, file.path)
        except _DAMAGE as error:
            self._report("the file", error)
            return
        self._part, self._last = self._range(self._reader.part_count)
        if position is not None:
            self._part, self._skip = position
            self._rows = self._skip

    def _range(self, count: int | None) -> tuple[int, int | None]:
        """Return the first part and the one behind the last: part i of n begins, so to speak, at byte size * i / n."""
        file = self._file
        if file.start == 0 and file.end is None:
            return 0, None
        assert count is not None
        first = -(-file.start * count // max(1, file.size))
        return first, count if file.end is None else -(-file.end * count // max(1, file.size))

    def read(self, limit: int) -> list[T] | None:
        while self._index >= len(self._batch):
            batch = self._next_batch()
            if batch is None:
                return None
            self._batch, self._index = batch, 0
        records = self._batch[self._index : self._index + limit]
        self._index += len(records)
        self._rows += len(records)
        return records

    def _next_batch(self) -> list[T] | None:
        """Return the next records, those of the next part at the end of the current one."""
        while self._reader is not None and (self._last is None or self._part < self._last):
            try:
                if self._batches is None:
                    batches = self._reader.read_part(self._part)
                    if batches is None:
                        return None
                    self._batches = _without_first(batches, self._skip)
                    self._skip = 0
                batch = next(self._batches, None)
            except _DAMAGE as error:
                self._report(f"part {self._part}", error)
                batch = None
            if batch is not None:
                return batch
            self._part += 1
            self._rows = 0
            self._batches = None
        return None

    def _report(self, position: str, error: Exception) -> None:
        # pyarrow also says so of damaged files; a local one that cannot be read for another reason has a number for it.
        if isinstance(error, OSError) and (error.errno is not None or "://" in self._file.path):
            error.add_note(f"while reading {self._file.path}")
            raise error
        self._file.malformed.report(self._file.path, position, b"", f"{type(error).__name__}: {error}", error)

    def position(self) -> tuple[int, int]:
        return self._part, self._rows

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._raw.close()


def _without_first(batches: Iterable[list[T]], count: int) -> Iterator[list[T]]:
    """Return the same without the first records, which were read before."""
    iterator = iter(batches)
    for batch in iterator:
        if len(batch) > count:
            return itertools.chain([batch[count:]], iterator)
        count -= len(batch)
    return iter(())
