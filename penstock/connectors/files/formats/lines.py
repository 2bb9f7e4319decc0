"""Formats in which each line is a record."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.files.formats.charset import Charset
from penstock.connectors.files.formats.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.files.source.reader import FileReader

if TYPE_CHECKING:
    from penstock.connectors.files.source.input_file import InputFile

__all__ = ["LineFormat"]

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
