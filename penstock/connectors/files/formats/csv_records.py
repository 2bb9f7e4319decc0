"""From the lines of a CSV file to records: fields, and the values of the columns that a program asks for."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.formats.record_shape import from_rows
from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from penstock.connectors.files.formats.csv import CsvFormat
    from penstock.connectors.files.formats.line_cursor import LinePlace

__all__ = ["CsvFields", "CsvRecords"]


class CsvRecords:
    """Iterates over the places and fields of records; knows the lines of the current one.

    Attributes:
        cursor: Where the lines come from; it stands right behind the record that was returned last.
        lines: The lines of that record.
    """

    def __init__(self, cursor: LineCursor, dialect: dict[str, Any], comment_char: str | None) -> None:
        self.cursor = cursor
        self.lines: list[str] = []
        self._comment_char = comment_char
        self._problem: str | None = None
        self._reader = csv.reader(self._feed(), **dialect)

    def content(self) -> str:
        """Return the current record as it was found."""
        return "".join(self.lines).rstrip("\r\n")

    def _feed(self) -> Iterator[str]:
        cursor, lines, comment_char = self.cursor, self.lines, self._comment_char
        while cursor.fill():
            line = cursor.lines[cursor.index]
            if isinstance(line, UndecodableLine):
                self._problem = line.problem
                line = cursor.place(cursor.index).content().decode("latin-1") + "\n"
            cursor.index += 1
            if comment_char is not None and not lines and line.startswith(comment_char):
                line = "\n"  # an empty record, which is left out
            lines.append(line)
            yield line

    def __iter__(self) -> Iterator[tuple[LinePlace, list[str]]]:
        cursor, lines, reader = self.cursor, self.lines, self._reader
        while cursor.fill():
            place = cursor.place(cursor.index)
            lines.clear()
            try:
                fields = next(reader, None)
            except csv.Error as error:
                self._problem = self._problem or str(error)
                fields = []
            if self._problem is not None:
                problem, self._problem = self._problem, None
                cursor.report(place, self.content(), problem)
            elif fields:
                yield place, fields


class CsvFields:
    """Turns the fields of records into values, and those into records of the program.

    Attributes:
        read: Returns the values of one record; raises where it is malformed.
        make: Returns the records of the values of many.
    """

    def __init__(self, csv_format: CsvFormat, path: str, header: list[str] | None) -> None:
        columns = csv_format.columns
        names = list(columns) if columns is not None else (header or [])
        self._rest_column = csv_format.rest_column
        all_names = header if header is not None else (names if columns is not None else None)
        self._width = None if all_names is None else len(all_names)
        self._null_value = csv_format.null_value
        self._converters = list(columns.values()) if isinstance(columns, Mapping) else None
        self._indexes = _indexes(csv_format, path, header)
        self._names = names if self._rest_column is None else [*names, self._rest_column]
        self._record_type = csv_format.record_type
        # A class of the program may refuse what it is given, and then one record is to blame, not many.
        is_own_class = csv_format.record_type not in (dict, tuple, Row)
        self.make = list if is_own_class else from_rows(csv_format.record_type, self._names)
        self.read = self._own_record if is_own_class else self._values

    def _own_record(self, fields: list[str]) -> Any:
        return self._record_type(**dict(zip(self._names, self._values(fields), strict=True)))

    def _values(self, fields: list[str]) -> list[Any]:
        """Return the values of the columns that are asked for."""
        width = self._width
        rest: list[str] = []
        if width is not None and len(fields) != width:
            if self._rest_column is None or len(fields) < width:
                message = f"{len(fields)} fields where {width} are expected"
                raise ValueError(message)
            fields, rest = fields[:width], fields[width:]
        if self._indexes is not None:
            fields = [fields[index] for index in self._indexes]
        values: list[Any] = fields
        if self._null_value is not None:
            values = self._with_nulls(fields)
        elif self._converters is not None:
            values = [convert(field) for convert, field in zip(self._converters, fields, strict=True)]
        return values if self._rest_column is None else [*values, rest]

    def _with_nulls(self, fields: list[str]) -> list[Any]:
        null_value = self._null_value
        if self._converters is None:
            return [None if field == null_value else field for field in fields]
        return [
            None if field == null_value else convert(field)
            for convert, field in zip(self._converters, fields, strict=True)
        ]


def _indexes(csv_format: CsvFormat, path: str, header: list[str] | None) -> list[int] | None:
    """Return where in a record the columns are that are asked for; ``None`` if they are all there is."""
    if not header or csv_format.columns is None:
        return None
    names = list(csv_format.columns)
    missing = [name for name in names if name not in header]
    if missing:
        message = f"{path} has no column {missing[0]!r}; its header names {', '.join(header)}."
        raise ProgramError(message)
    if csv_format.is_header_strict and names != header:
        message = f"The header of {path} names {', '.join(header)}, but must name {', '.join(names)}."
        raise ProgramError(message)
    return [header.index(name) for name in names]
