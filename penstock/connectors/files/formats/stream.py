"""How the bytes of a file become records, one after the other: by the program, or line by line."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.files.formats.charset import Charset
from penstock.connectors.files.formats.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.formats.record_shape import from_mapping
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.files.source.reader import FileReader
from penstock.vocabulary.sources.protocol import MalformedRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.connectors.files.source.compression import ByteStream
    from penstock.connectors.files.source.input_file import InputFile


__all__ = ["JsonLinesFormat", "LineFormat", "SimpleStreamFormat", "StreamFormat", "TextLineFormat"]

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


class LineFormat(StreamFormat[T]):
    """A format in which each line is a record. Big files are divided: a line belongs to the range in which it begins.

    Override ``parse_line``, which raises ``ValueError`` where a line is no record; or ``parse_lines`` where many lines
    at a time are cheaper, or where some lines are left out.

    Args:
        charset_name: The encoding of the files, by any name that Python's codecs know.
    """

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset = Charset(charset_name)
        self.is_splittable = self.charset.has_plain_lines

    @abstractmethod
    def parse_line(self, line: str) -> T:
        """Return the record in a line."""

    def parse_lines(self, lines: list[str]) -> list[T]:
        """Return the records of many lines; where this raises, the lines are tried one by one."""
        return [self.parse_line(line) for line in lines]

    def create_reader(self, file: InputFile, position: Any) -> FileReader[T]:
        """Start reading a file or a range of it."""
        return _LineReader(LineCursor(file, self.charset, position), self)


class _LineReader(FileReader[T]):
    def __init__(self, cursor: LineCursor, line_format: LineFormat[T]) -> None:
        self._cursor = cursor
        self._format = line_format

    def read(self, limit: int) -> list[T] | None:
        cursor, parse_lines = self._cursor, self._format.parse_lines
        while cursor.fill():
            first = cursor.index
            lines = cursor.take(limit)
            if cursor.has_undecodable:
                records = self._one_by_one(lines, first)
            else:
                try:
                    records = parse_lines(lines)
                except PARSE_ERRORS:
                    records = self._one_by_one(lines, first)
            if records:
                return records
        return None

    def _one_by_one(self, lines: list[str], first: int) -> list[T]:
        """Parse lines of which some are malformed."""
        records: list[T] = []
        cursor, parse_lines = self._cursor, self._format.parse_lines
        for index, line in enumerate(lines, start=first):
            if isinstance(line, UndecodableLine):
                place = cursor.place(index)
                cursor.report(place, place.content(), line.problem)
                continue
            try:
                records += parse_lines([line])
            except PARSE_ERRORS as error:
                cursor.report(cursor.place(index), line, f"{type(error).__name__}: {error}", error)
        return records

    def position(self) -> int:
        return self._cursor.position()

    def close(self) -> None:
        self._cursor.close()


class TextLineFormat(LineFormat[str]):
    """Reads each line as a string; empty lines are records too."""

    def parse_line(self, line: str) -> str:
        """Return the line."""
        return line

    def parse_lines(self, lines: list[str]) -> list[str]:
        """Return the lines."""
        return lines


class JsonLinesFormat(LineFormat[Any]):
    """Reads each line as a JSON value. Empty lines are left out.

    Args:
        charset_name: The encoding of the files.
        record_type: What objects become: ``dict``, ``Row``, or a class that takes the fields as keyword arguments, such
            as a dataclass.

    Example:
        >>> JsonLinesFormat().parse_lines(['{"id": 1}', "[2, 3]"])
        [{'id': 1}, [2, 3]]
    """

    def __init__(self, charset_name: str = "UTF-8", *, record_type: Callable[..., Any] = dict) -> None:
        super().__init__(charset_name)
        self._make = from_mapping(record_type)

    def parse_line(self, line: str) -> Any:
        """Return the value in a line."""
        value = _DECODER.decode(line)
        return value if self._make is None else self._make(value)

    def parse_lines(self, lines: list[str]) -> list[Any]:
        """Return the values of many lines."""
        decode, make = _DECODER.decode, self._make
        if make is None:
            return [decode(line) for line in lines if line and not line.isspace()]
        return [make(decode(line)) for line in lines if line and not line.isspace()]


_DECODER = json.JSONDecoder()
