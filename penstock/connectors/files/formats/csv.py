"""CSV files, read as Python's ``csv`` module reads them: quoted fields may hold separators, quotes and line ends."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.charset import Charset
from penstock.connectors.files.formats.line_cursor import LineCursor, UndecodableLine
from penstock.connectors.files.formats.record_shape import check_record_type, from_rows
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source.input_file import InputFile
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.files.source.reader import FileReader
from penstock.connectors.files.source.splits import FileSourceSplit
from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from penstock.connectors.files.formats.line_cursor import LinePlace

__all__ = ["CsvFields", "CsvFormat", "CsvRecords"]

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
        null_value: The text that stands for ``None``.
        comment_char: What begins a line that is left out.
        skipped_rows: How many records at the beginning of each file, behind its header, to leave out.
        rest_column: The name of one more column, for a list of the fields behind the last one; otherwise a record with
            more fields than columns is malformed.
        is_header_strict: Refuse files whose header does not name exactly ``columns``.
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
        null_value: str | None = None,
        comment_char: str | None = None,
        skipped_rows: int = 0,
        rest_column: str | None = None,
        is_header_strict: bool = False,
    ) -> None:
        check_record_type(record_type)
        if not has_header and columns is None and record_type is not tuple:
            message = "CsvFormat: without a header, `columns` must name the columns, or record_type be tuple."
            raise ProgramError(message)
        self.columns = columns if isinstance(columns, Mapping) or columns is None else list(columns)
        self.has_header = has_header
        self.null_value = null_value
        self.comment_char = comment_char
        self.skipped_rows = skipped_rows
        self.rest_column = rest_column
        self.is_header_strict = is_header_strict
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
        # Only the reader of the beginning leaves rows out, and only if it has them all.
        self.is_splittable = not is_multiline and self.charset.has_plain_lines and skipped_rows == 0

    def create_reader(self, file: InputFile, position: Any) -> FileReader[Any]:
        """Start reading a file or a range of it."""
        header: list[str] | None = None
        if self.has_header or self.skipped_rows:
            # The header is needed where reading begins in the middle, too.
            whole = InputFile(FileSourceSplit(file.path, file.size), file.malformed)
            records = CsvRecords(LineCursor(whole, self.charset, keeps_ends=True), self.dialect, self.comment_char)
            rows = iter(records)
            header = next(rows, (None, []))[1] if self.has_header else None
            if position is None and file.start == 0:
                for _ in itertools.islice(rows, self.skipped_rows):
                    pass
                position = records.cursor.position()
            records.cursor.close()
        cursor = LineCursor(file, self.charset, position, keeps_ends=True)
        return _CsvReader(CsvRecords(cursor, self.dialect, self.comment_char), CsvFields(self, file.path, header))


class _CsvReader(FileReader[Any]):
    def __init__(self, records: CsvRecords, fields: CsvFields) -> None:
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
                self._cursor.report(place, self._records.content(), f"{type(error).__name__}: {error}", error)
                continue
            if len(rows) >= limit:
                break
        return self._make(rows) if rows else None

    def position(self) -> int:
        return self._cursor.position()

    def close(self) -> None:
        self._cursor.close()


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
