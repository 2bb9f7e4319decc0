"""CSV files, read as Python's ``csv`` module reads them: quoted fields may hold separators, quotes and line ends."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.charset import Charset
from penstock.connectors.files.file_reader import FileReader
from penstock.connectors.files.file_source_split import FileSourceSplit
from penstock.connectors.files.input_file import InputFile
from penstock.connectors.files.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.malformed import PARSE_ERRORS
from penstock.connectors.files.record_shape import check_record_type, from_rows
from penstock.connectors.files.stream_format import StreamFormat
from penstock.errors import ProgramError
from penstock.vocabulary.rows import Row

if TYPE_CHECKING:
    from penstock.connectors.files.line_cursor import LinePlace

__all__ = ["CsvFormat"]

_Converter = Callable[[str], Any]


class CsvFormat(StreamFormat[Any]):
    r"""Reads CSV files. Empty lines are left out.

    Args:
        columns: The columns to take, in this order; as a mapping, each with what makes a value of its text (``int``,
            ``float``, ``Decimal``, a function of your own). Where files have a header they are found by their names,
            otherwise they must name all columns in their order. Without this, all columns are taken, as text.
        has_header: Whether the first record of each file names the columns.
        record_type: What records become: ``dict``, ``tuple``, ``Row``, or a class that takes the fields as keyword
            arguments, such as a dataclass.
        delimiter: What stands between two fields.
        quote_char: What encloses fields that hold a delimiter or a line end; ``None``: nothing does.
        escape_char: What takes the meaning from a delimiter or quote behind it.
        charset_name: The encoding of the files.
        is_multiline: Whether quoted fields may hold line ends. If not, big files are divided over the subtasks.
    """

    def __init__(
        self,
        columns: Sequence[str] | Mapping[str, _Converter] | None = None,
        *,
        has_header: bool = True,
        record_type: Callable[..., Any] = dict,
        delimiter: str = ",",
        quote_char: str | None = '"',
        escape_char: str | None = None,
        charset_name: str = "UTF-8",
        is_multiline: bool = True,
    ) -> None:
        check_record_type(record_type)
        if not has_header and columns is None and record_type is not tuple:
            message = "CsvFormat: without a header, `columns` must name the columns, or record_type be tuple."
            raise ProgramError(message)
        self.columns = columns if isinstance(columns, Mapping) or columns is None else list(columns)
        self.has_header = has_header
        self.record_type = record_type
        self.charset = Charset(charset_name)
        self.dialect: dict[str, Any] = {
            "delimiter": delimiter,
            "quotechar": quote_char,
            "escapechar": escape_char,
            "quoting": csv.QUOTE_NONE if quote_char is None else csv.QUOTE_MINIMAL,
            "strict": True,
        }
        try:
            csv.reader([], **self.dialect)
        except TypeError as error:
            message = f"CsvFormat: {error}."
            raise ProgramError(message) from error
        self.is_splittable = not is_multiline and self.charset.has_plain_lines

    def create_reader(self, file: InputFile, position: Any) -> FileReader[Any]:
        """Start reading a file or a range of it."""
        header: list[str] | None = None
        if self.has_header:
            # Also needed where reading begins in the middle.
            whole = InputFile(FileSourceSplit(file.path, file.size), file.malformed)
            records = _CsvRecords(LineCursor(whole, self.charset, keeps_ends=True), self.dialect)
            header = next((record for _, record in records), [])
            if position is None and file.start == 0:
                position = records.cursor.position()
            records.cursor.close()
        cursor = LineCursor(file, self.charset, position, keeps_ends=True)
        return _CsvReader(_CsvRecords(cursor, self.dialect), _Fields(self, file, header))


class _CsvRecords:
    """Iterates over the places and fields of records; knows the lines of the current one."""

    def __init__(self, cursor: LineCursor, dialect: dict[str, Any]) -> None:
        self.cursor = cursor
        self.lines: list[str] = []
        self._problem: str | None = None
        self._reader = csv.reader(self._feed(), **dialect)

    def _feed(self) -> Iterator[str]:
        cursor, lines = self.cursor, self.lines
        while cursor.fill():
            line = cursor.lines[cursor.index]
            if isinstance(line, UndecodableLine):
                self._problem = line.problem
                line = cursor.place(cursor.index).content().decode("latin-1") + "\n"
            cursor.index += 1
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
                cursor.report(place, "".join(lines).rstrip("\r\n"), problem)
            elif fields:
                yield place, fields


class _Fields:
    """Turns the fields of a record into values."""

    def __init__(self, csv_format: CsvFormat, file: InputFile, header: list[str] | None) -> None:
        columns = csv_format.columns
        names = list(columns) if columns is not None else header
        all_names = names if header is None else header
        self._width = None if all_names is None else len(all_names)
        self._names = names or []
        self._record_type = csv_format.record_type
        # A class of the program may refuse what it is given, and then one record is to blame, not many.
        is_own_class = csv_format.record_type not in (dict, tuple, Row)
        self.make = list if is_own_class else from_rows(csv_format.record_type, self._names)
        self.read = self._own_record if is_own_class else self._values
        self._converters = list(columns.values()) if isinstance(columns, Mapping) else None
        self._indexes: list[int] | None = None
        if header and columns is not None:
            missing = [name for name in columns if name not in header]
            if missing:
                message = f"{file.path} has no column {missing[0]!r}; its header names {', '.join(header)}."
                raise ProgramError(message)
            self._indexes = [header.index(name) for name in columns]

    def _own_record(self, fields: list[str]) -> Any:
        return self._record_type(**dict(zip(self._names, self._values(fields), strict=True)))

    def _values(self, fields: list[str]) -> list[Any]:
        """Return the values of the columns that are asked for."""
        if self._width is not None and len(fields) != self._width:
            message = f"{len(fields)} fields where {self._width} are expected"
            raise ValueError(message)
        if self._indexes is not None:
            fields = [fields[index] for index in self._indexes]
        if self._converters is not None:
            return [convert(field) for convert, field in zip(self._converters, fields, strict=True)]
        return fields


class _CsvReader(FileReader[Any]):
    def __init__(self, records: _CsvRecords, fields: _Fields) -> None:
        self._records = records
        self._cursor = records.cursor
        self._iterator = iter(records)
        self._read_fields = fields.read
        self._make = fields.make

    def read(self, limit: int) -> list[Any] | None:
        rows: list[Any] = []
        read_fields = self._read_fields
        for place, fields in self._iterator:
            try:
                rows.append(read_fields(fields))
            except PARSE_ERRORS as error:
                content = "".join(self._records.lines).rstrip("\r\n")
                self._cursor.report(place, content, f"{type(error).__name__}: {error}", error)
                continue
            if len(rows) >= limit:
                break
        return self._make(rows) if rows else None

    def position(self) -> int:
        return self._cursor.position()

    def close(self) -> None:
        self._cursor.close()
