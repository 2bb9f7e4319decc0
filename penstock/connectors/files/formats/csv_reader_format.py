"""CSV files by a schema, under PyFlink's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.formats.field_text import INTEGERS, basic_type_of, field_reader
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.type_info import BasicType, BasicTypeInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.files.formats.csv_schema import CsvColumn, CsvSchema

__all__ = ["CsvReaderFormat"]

_LINE_ENDS = ("\n", "\r\n")
_NUMBERS = INTEGERS | {BasicType.FLOAT, BasicType.DOUBLE, BasicType.BIG_DEC}


class CsvReaderFormat(CsvFormat):
    """Reads CSV files as rows of a ``CsvSchema``. A record with too few fields, or too many, is malformed.

    Example:
        >>> from penstock.connectors.files.formats.csv_schema import CsvSchema
        >>> schema = CsvSchema.builder().add_string_column("word").add_number_column("count").build()
        >>> CsvReaderFormat.for_schema(schema).has_header
        False
    """

    def __init__(self, schema: CsvSchema) -> None:
        if schema.line_separator not in _LINE_ENDS:
            message = (
                f"Lines of CSV files end with \\n or \\r\\n; {schema.line_separator!r} can be written, but not read."
            )
            raise ProgramError(message)
        super().__init__(
            {column.name: _converter(column, schema) for column in schema.columns},
            has_header=schema.use_header,
            record_type=Row,
            delimiter=schema.column_separator,
            quote_char=schema.quote_char,
            escape_char=schema.escape_char,
            null_value=schema.null_value or None,
            comment_char="#" if schema.allow_comments else None,
            skipped_rows=int(schema.skip_first_data_row),
            rest_column=schema.any_property_name,
            is_header_strict=schema.strict_headers,
        )

    @staticmethod
    def for_schema(schema: CsvSchema) -> CsvReaderFormat:
        """Return the format of files with these columns."""
        from penstock.connectors.files.formats.csv_schema import CsvSchema

        require_instance(schema, CsvSchema, "for_schema() needs a CsvSchema, made with CsvSchema.builder().")
        return CsvReaderFormat(schema)


def _converter(column: CsvColumn, schema: CsvSchema) -> Callable[[str], Any]:
    is_null = _is_null(schema.null_value)
    if column.kind == "string":
        return str
    if column.kind == "boolean":
        read = field_reader(BasicTypeInfo.BOOLEAN_TYPE_INFO())
        return lambda text: None if is_null(text) else read(text)
    convert = _element_converter(column)
    if column.kind == "number":
        return lambda text: None if is_null(text) else convert(text)
    separator = column.separator or schema.array_element_separator
    if separator is None:
        message = f"The array column {column.name!r} has no separator: give one to add_array_column()."
        raise ProgramError(message)
    return lambda text: [convert(element) for element in text.split(separator)] if text else []


def _is_null(null_value: str) -> Callable[[str], bool]:
    return lambda text: text == null_value


def _element_converter(column: CsvColumn) -> Callable[[str], Any]:
    kind = column.element_type
    if kind is None:
        return str if column.kind == "array" else _number
    if column.kind == "number" and basic_type_of(kind) not in _NUMBERS:
        message = f"The column {column.name!r} has numbers and cannot have the type {kind!r}."
        raise ProgramError(message)
    return field_reader(kind)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
