"""How the bytes of a file become records, one after the other."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.files.source.reader import FileReader
from penstock.vocabulary.sources.protocol import MalformedRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.connectors.files.source.compression import ByteStream
    from penstock.connectors.files.source.input_file import InputFile

__all__ = ["SimpleStreamFormat", "StreamFormat"]

T = TypeVar("T")


class StreamFormat(ABC, Generic[T]):
    """Reads files from their beginning to their end, record by record. Files with a name that says so are decompressed.

    A format of your own is easiest as a ``SimpleStreamFormat`` or a ``LineFormat``.
    """

    is_splittable: bool = False
    """Whether several subtasks may read ranges of one file at the same time."""

    @abstractmethod
    def create_reader(self, file: InputFile, position: Any) -> FileReader[T]:
        """Start reading a file, from its beginning (position ``None``) or from where a reader of it was."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat[str]:
        """Return the format of plain text: each line is a record."""
        from penstock.connectors.files.formats.lines import TextLineFormat

        return TextLineFormat(charset_name)


class SimpleStreamFormat(StreamFormat[T]):
    """A format that is written as a generator over the content of a file. Files are not divided.

    The position is the number of records read: after a failure the file is read from its beginning, and as many are
    left out.
    """

    @abstractmethod
    def read_records(self, stream: ByteStream, path: str) -> Iterable[T | MalformedRecord]:
        """Return the records of a file, one by one.

        Where a part cannot be read, return a ``MalformedRecord`` in its place: the source fails the job or sends it to
        the side output, as the program has chosen.
        """

    def create_reader(self, file: InputFile, position: Any) -> FileReader[T]:
        """Start reading a file."""
        return _RecordReader(file, self, position or 0)


class _RecordReader(FileReader[T]):
    def __init__(self, file: InputFile, records_format: SimpleStreamFormat[T], position: int) -> None:
        self._file = file
        self._stream = file.open()
        self._records: Iterator[Any] = iter(records_format.read_records(self._stream, file.path))
        self._position = position
        for _ in itertools.islice(self._records, position):
            pass

    def read(self, limit: int) -> list[T] | None:
        while records := list(itertools.islice(self._records, limit)):
            self._position += len(records)
            good = [record for record in records if record.__class__ is not MalformedRecord]
            if len(good) < len(records):
                self._report(records)
            if good:
                return good
        return None

    def _report(self, records: list[Any]) -> None:
        for record in records:
            if record.__class__ is MalformedRecord:
                self._file.malformed.report(record.origin, record.position, record.content, record.problem)

    def position(self) -> int:
        return self._position

    def close(self) -> None:
        self._stream.close()
