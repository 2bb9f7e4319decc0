"""CSV files with the columns of a schema."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.connectors.files.formats.csv_schema import csv_lines
from penstock.connectors.files.sink.bulk_writers.schema import values_in
from penstock.errors import ProgramError
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.connectors.files.formats.csv_schema import CsvColumn, CsvSchema

__all__ = ["CsvBulkWriters", "CsvWriterFactory"]


class CsvBulkWriters:
    """Makes factories for CSV files.

    Example:
        >>> from penstock.connectors.files.formats.csv_schema import CsvSchema
        >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("count").build()
        >>> factory = CsvBulkWriters.for_schema(schema)
    """

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvWriterFactory:
        """Return a factory for records with the fields of a schema: rows, tuples, dicts or objects."""
        return CsvWriterFactory(schema)


class CsvWriterFactory(BulkWriterFactory[Any]):
    """Makes the writers of CSV files."""

    def __init__(self, schema: CsvSchema) -> None:
        for column in schema.columns:
            _text_of(column, schema)
        self._schema = schema
        self.is_one_piece = schema.use_header
        """Two files with headers, one behind the other, are not one file."""

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        """Return a writer onto the stream of a new file."""
        return _CsvWriter(stream, self._schema)


class _CsvWriter(BulkWriter[Any]):
    def __init__(self, stream: BinaryIO, schema: CsvSchema) -> None:
        self._stream = stream
        self._values = values_in(list(schema.names))
        self._texts = [_text_of(column, schema) for column in schema.columns]
        self._null = schema.null_value
        self._line_end = schema.line_separator
        self._dialect = {
            "delimiter": schema.column_separator,
            "quotechar": schema.quote_char,
            "escapechar": schema.escape_char,
            "quoting": csv.QUOTE_NONE if schema.quote_char is None else csv.QUOTE_MINIMAL,
        }
        if schema.use_header:
            self._write([schema.names])

    def _write(self, rows: Sequence[Sequence[Any]]) -> None:
        self._stream.write(csv_lines(rows, self._line_end, **self._dialect).encode())

    def add_element(self, element: Any) -> None:
        self.add_run([element])

    def add_run(self, elements: list[Any]) -> None:
        texts, values, null = self._texts, self._values, self._null
        self._write(
            [
                [null if value is None else text(value) for text, value in zip(texts, values(element), strict=True)]
                for element in elements
            ]
        )

    def flush(self) -> None:
        """Do nothing: rows are written as they come."""

    def finish(self) -> None:
        """Do nothing: the last row ends the file."""


def _text_of(column: CsvColumn, schema: CsvSchema) -> Callable[[Any], str]:
    """Return what makes the text of a value in a column."""
    if column.kind == "boolean":
        return lambda value: "true" if value else "false"
    if column.kind == "array":
        separator = column.separator if column.separator is not None else schema.array_element_separator
        if separator is None:
            message = f"The array column {column.name!r} needs a separator; give one to add_array_column."
            raise ProgramError(message)
        return lambda value: separator.join(map(str, value))
    return str
