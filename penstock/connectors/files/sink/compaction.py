"""How small files become large ones before anybody sees them: when, and by what means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "ConcatFileCompactor",
    "FileCompactStrategy",
    "FileCompactor",
    "IdenticalFileCompactor",
    "OutputStreamBasedFileCompactor",
    "RecordWiseFileCompactor",
]

T = TypeVar("T")


class FileCompactStrategy:
    """When the small files of a bucket are compacted: at a size, after some checkpoints, or whichever comes first.

    Example:
        >>> strategy = FileCompactStrategy.builder().set_size_threshold(1 << 20).build()
    """

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._size_threshold: int | None = None
            self._checkpoints: int | None = None
            self._threads = 1

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact when the waiting files of a bucket have this many bytes together."""
            self._size_threshold = _positive(size_threshold, "The size threshold of compaction")
            return self

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact when files have waited for this many checkpoints, the one that closed them included."""
            number = num_checkpoints_before_compaction
            self._checkpoints = _positive(number, "The number of checkpoints before compaction")
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Compact this many buckets at the same time in each subtask; one by one unless told otherwise."""
            self._threads = _positive(num_compact_threads, "The number of compaction threads")
            return self

        def build(self) -> FileCompactStrategy:
            """Return the strategy.

            Raises:
                ProgramError: Nothing says when to compact.
            """
            if self._size_threshold is None and self._checkpoints is None:
                message = (
                    "A compaction strategy needs a size threshold or a number of checkpoints; call set_size_threshold "
                    "or enable_compaction_on_checkpoint."
                )
                raise ProgramError(message)
            return FileCompactStrategy(self._size_threshold, self._checkpoints, self._threads)

    def __init__(self, size_threshold: int | None, checkpoints: int | None, threads: int) -> None:
        self.size_threshold = size_threshold
        self.checkpoints = checkpoints
        self.threads = threads

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return a builder."""
        return FileCompactStrategy.Builder()

    def is_due(self, size: int, checkpoints: int) -> bool:
        """Tell whether files of this size together are compacted after this many checkpoints."""
        return (self.size_threshold is not None and size >= self.size_threshold) or (
            self.checkpoints is not None and checkpoints >= self.checkpoints
        )


class FileCompactor:
    """Makes one file of several; the kinds of compactors are its subclasses."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> ConcatFileCompactor:
        """Return the compactor that puts files one behind the other, with the delimiter between them."""
        return ConcatFileCompactor(file_delimiter)

    @staticmethod
    def identical_file_compactor() -> IdenticalFileCompactor:
        """Return the compactor that leaves files as they are."""
        return IdenticalFileCompactor()

    @staticmethod
    def record_wise_file_compactor(
        reader: Callable[[BinaryIO], Iterable[Any]] | None = None,
    ) -> RecordWiseFileCompactor[Any]:
        """Return the compactor that reads the records and writes them again, for formats that cannot be joined."""
        return RecordWiseFileCompactor(reader)


class OutputStreamBasedFileCompactor(FileCompactor, ABC):
    """Makes one file of several by their bytes; what to extend for a way of your own."""

    @abstractmethod
    def compact(self, inputs: Sequence[BinaryIO], output: BinaryIO) -> None:
        """Write one file from the others, which come in the order of their records."""


class ConcatFileCompactor(OutputStreamBasedFileCompactor):
    """Puts files one behind the other.

    Args:
        file_delimiter: What stands between two files.
    """

    def __init__(self, file_delimiter: bytes | None = None) -> None:
        self._delimiter = file_delimiter

    def compact(self, inputs: Sequence[BinaryIO], output: BinaryIO) -> None:
        """Write all inputs to the output."""
        import shutil

        for number, each in enumerate(inputs):
            if number and self._delimiter:
                output.write(self._delimiter)
            shutil.copyfileobj(each, output, 1 << 20)


class IdenticalFileCompactor(FileCompactor):
    """Leaves files as they are; they only become visible later, when the strategy says so."""


class RecordWiseFileCompactor(FileCompactor, Generic[T]):
    """Reads the records of files and writes them again with the sink's own format.

    Args:
        reader: Returns the records of a file; without one the format itself must know, as Parquet, ORC and Avro do.
    """

    def __init__(self, reader: Callable[[BinaryIO], Iterable[T]] | None = None) -> None:
        self.reader = reader


def _positive(number: int, what: str) -> int:
    if number <= 0:
        message = f"{what} is {number}; it must be more than 0."
        raise ProgramError(message)
    return number
