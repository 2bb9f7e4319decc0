"""CSV files, read as Python's ``csv`` module reads them: quoted fields may hold separators, quotes and line ends."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.connectors.files.formats.charset import Charset
from penstock.connectors.files.formats.csv_records import CsvFields, CsvRecords
from penstock.connectors.files.formats.line_cursor import LineCursor
from penstock.connectors.files.formats.record_shape import check_record_type
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source.input_file import InputFile
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.files.source.reader import FileReader
from penstock.connectors.files.source.splits import FileSourceSplit
from penstock.errors import ProgramError

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
