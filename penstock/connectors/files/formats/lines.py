"""Formats in which each line is a record: plain text, JSON lines, or as the program says."""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.files.formats.charset import Charset
from penstock.connectors.files.formats.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.formats.record_shape import from_mapping
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.files.source.reader import FileReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.files.source.input_file import InputFile

__all__ = ["JsonLinesFormat", "LineFormat", "TextLineFormat"]

T = TypeVar("T")


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
