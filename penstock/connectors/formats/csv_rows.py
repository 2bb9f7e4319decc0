"""Rows as lines of CSV, one per message."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.formats.field_text import field_reader, field_writer, is_bytes
from penstock.errors import ProgramError
from penstock.vocabulary.types.composite import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
)
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import DeserializationSchema, SerializationSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]

_LISTS = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)


class _Signs:
    """What both builders collect."""

    def __init__(self, type_info: TypeInformation) -> None:
        if not isinstance(type_info, RowTypeInfo):
            message = f"Lines of CSV are rows: give Types.ROW(types), not {type_info!r:.100}."
            raise ProgramError(message)
        self.type_info = type_info
        self.delimiter = ","
        self.quote_char: str | None = '"'
        self.escape_char: str | None = None
        self.array_delimiter = ";"
        self.null_literal = ""
        self.line_delimiter = "\n"
        self.allows_comments = False
        self.ignores_parse_errors = False

    def dialect(self) -> dict[str, Any]:
        """Return the signs as the csv module wants them."""
        return {
            "delimiter": self.delimiter,
            "quotechar": self.quote_char,
            "escapechar": self.escape_char,
            "quoting": csv.QUOTE_NONE if self.quote_char is None else csv.QUOTE_MINIMAL,
            "strict": True,
        }

    def check(self) -> None:
        """Refuse signs that the csv module does not know."""
        try:
            csv.reader([], **self.dialect())
        except TypeError as error:
            message = f"The signs of a CSV schema are single characters: {error}."
            raise ProgramError(message) from error


class CsvRowDeserializationSchema(DeserializationSchema[Row]):
    """Reads a line of CSV as a row.

    Example:
        >>> from penstock.vocabulary.types.catalogue import Types
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> CsvRowDeserializationSchema.Builder(row_type).build().deserialize(b"1,Ann")
        Row(id=1, name='Ann')
    """

    def __init__(self, signs: Any) -> None:
        self._signs: _Signs = signs
        row_type = self._signs.type_info
        self._make_row = Row(*row_type.get_field_names())
        self._readers = [_reader(kind, self._signs) for kind in row_type.get_field_types()]

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row of a message; ``ValueError`` and the like say that it is none."""
        try:
            return self._row(bytes(message).decode())
        except PARSE_ERRORS:
            if self._signs.ignores_parse_errors:
                return None
            raise

    def _row(self, text: str) -> Row | None:
        if self._signs.allows_comments and text.startswith("#"):
            return None
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), **self._signs.dialect()))
        except csv.Error as error:
            raise ValueError(str(error)) from error
        if len(rows) != 1 or len(rows[0]) != len(self._readers):
            message = f"{text!r:.200} is not one line of {len(self._readers)} fields"
            raise ValueError(message)
        return self._make_row(*(read(field) for read, field in zip(self._readers, rows[0], strict=True)))

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._signs.type_info

    class Builder:
        """Builds a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._signs = _Signs(type_info)

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what stands between two fields; a comma if not set."""
            self._signs.delimiter = delimiter
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:  # noqa: FBT001
            """Leave out messages that begin with ``#``."""
            self._signs.allows_comments = allow_comments
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            """Set what stands between the elements of arrays; a semicolon if not set."""
            self._signs.array_delimiter = delimiter
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what encloses fields that hold delimiters."""
            self._signs.quote_char = c
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            """Set what takes the meaning from the sign behind it."""
            self._signs.escape_char = c
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """Set the text that stands for None."""
            self._signs.null_literal = null_literal
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:  # noqa: FBT001
            """Leave messages out that cannot be read."""
            self._signs.ignores_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            """Return the schema."""
            self._signs.check()
            return CsvRowDeserializationSchema(self._signs)


class CsvRowSerializationSchema(SerializationSchema[Any]):
    """Writes a row, a dict or a tuple as a line of CSV, with the line's end."""

    def __init__(self, signs: Any) -> None:
        self._signs: _Signs = signs
        self._values_of = self._signs.type_info._values_of
        self._writers = [_writer(kind, self._signs) for kind in self._signs.type_info.get_field_types()]

    def serialize(self, value: Any) -> bytes:
        """Return the line of a row."""
        text = io.StringIO()
        fields = [write(each) for write, each in zip(self._writers, self._values_of(value), strict=True)]
        # Python 3.11 encloses only the line ends that it is told to write itself; a reader stops at others, too.
        csv.writer(text, lineterminator="\r\n", **self._signs.dialect()).writerow(fields)
        return (text.getvalue().removesuffix("\r\n") + self._signs.line_delimiter).encode()

    class Builder:
        """Builds a schema."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._signs = _Signs(type_info)

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what stands between two fields; a comma if not set."""
            self._signs.delimiter = c
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what ends a line; a line feed if not set, nothing if it is empty."""
            self._signs.line_delimiter = delimiter
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Set what stands between the elements of arrays; a semicolon if not set."""
            self._signs.array_delimiter = delimiter
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            """Enclose no field."""
            self._signs.quote_char = None
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what encloses fields that hold delimiters."""
            self._signs.quote_char = c
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            """Set what takes the meaning from the sign behind it."""
            self._signs.escape_char = c
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """Set the text that stands for None; nothing if not set."""
            self._signs.null_literal = s
            return self

        def build(self) -> CsvRowSerializationSchema:
            """Return the schema."""
            self._signs.check()
            return CsvRowSerializationSchema(self._signs)


def _reader(kind: TypeInformation, signs: _Signs) -> Callable[[str], Any]:
    null_literal, delimiter = signs.null_literal, signs.array_delimiter
    if isinstance(kind, _LISTS) and not is_bytes(kind):
        element = field_reader(kind.get_element_type())
        return lambda text: None if text == null_literal else [element(each) for each in text.split(delimiter)]
    read = field_reader(kind)
    return lambda text: None if text == null_literal else read(text)


def _writer(kind: TypeInformation, signs: _Signs) -> Callable[[Any], str]:
    null_literal, delimiter = signs.null_literal, signs.array_delimiter
    if isinstance(kind, _LISTS) and not is_bytes(kind):
        element = field_writer(kind.get_element_type())
        return lambda value: null_literal if value is None else delimiter.join(map(element, value))
    write = field_writer(kind)
    return lambda value: null_literal if value is None else write(value)
