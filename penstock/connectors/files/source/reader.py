"""Reading one file after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.vocabulary.sources.protocol import SplitReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.connectors.files.source.splits import FileSourceSplit

__all__ = ["FileReader", "FilesReader"]

T = TypeVar("T")

_FILES_PER_READ = 16
"""How many files are opened at a time at most; opening a remote one takes a while."""


class FileReader(ABC, Generic[T]):
    """Reads the records of one file, or of a range of it."""

    @abstractmethod
    def read(self, limit: int) -> list[T] | None:
        """Return up to ``limit`` records, at least one; ``None`` after the last one."""

    @abstractmethod
    def position(self) -> Any:
        """Return, picklable, where to go on: right behind the last record that ``read`` has returned."""

    def close(self) -> None:
        """Release the file."""


class FilesReader(SplitReader[T]):
    """Reads files one after the other; the position is the number of the file and the position in it.

    Args:
        splits: What to read, in this order.
        open_reader: Starts reading one, from its beginning or from a position.
        position: Where to go on.
    """

    def __init__(
        self,
        splits: Sequence[FileSourceSplit],
        open_reader: Callable[[FileSourceSplit, Any], FileReader[T]],
        position: tuple[int, Any] | None = None,
    ) -> None:
        self._splits = splits
        self._open_reader = open_reader
        self._number = 0 if position is None else position[0]
        self._start: Any = None if position is None else position[1]
        self._reader: FileReader[T] | None = None

    def read(self, limit: int) -> tuple[list[T], list[int] | None] | None:
        """Return the next records of the current file, and of the following ones where files are small."""
        found: list[T] = []
        last = self._number + _FILES_PER_READ
        while self._number < len(self._splits) and len(found) < limit and (self._number < last or not found):
            if self._reader is None:
                self._reader = self._open_reader(self._splits[self._number], self._start)
            records = self._reader.read(limit - len(found))
            if records:
                found = found + records if found else records
            else:
                self.close()
                self._number += 1
                self._start = None
        return (found, None) if found else None

    def position(self) -> tuple[int, Any]:
        """Return the number of the current file and the position in it."""
        return self._number, self._start if self._reader is None else self._reader.position()

    def close(self) -> None:
        """Close the current file."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
