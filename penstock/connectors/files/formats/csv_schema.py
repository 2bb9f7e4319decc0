"""What the columns of CSV files are, and how such files are written."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, Self

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["CsvColumn", "CsvSchema", "CsvSchemaBuilder", "csv_lines"]


@dataclass(frozen=True)
class CsvColumn:
    """One column: its name, and what its fields are."""

    name: str
    kind: Literal["array", "boolean", "number", "string"]
    element_type: TypeInformation | None = None
    """Of numbers, and of the elements of arrays; None leaves it to the values."""
    separator: str | None = None
    """What stands between the elements of an array; None takes the schema's own."""


@dataclass(frozen=True)
class CsvSchema:
    """The columns of CSV files and the signs between them; made with `CsvSchema.builder()`.

    Example:
        >>> CsvSchema.builder().add_string_column("word").add_number_column("count").build().size()
        2
    """

    columns: tuple[CsvColumn, ...] = ()
    column_separator: str = ","
    line_separator: str = "\n"
    quote_char: str | None = '"'
    escape_char: str | None = None
    array_element_separator: str | None = ";"
    null_value: str = ""
    any_property_name: str | None = None
    allow_comments: bool = False
    skip_first_data_row: bool = False
    strict_headers: bool = False
    use_header: bool = False
    names: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Return a builder."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


class CsvSchemaBuilder:
    """Builds a `CsvSchema` column by column."""

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """Add a column of lists; the separator stands between their elements."""
        return self._add(CsvColumn(name, "array", element_type, separator))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of ``true`` and ``false``."""
        return self._add(CsvColumn(name, "boolean"))

    def add_number_column(self, name: str, number_type: TypeInformation | None = None) -> CsvSchemaBuilder:
        """Add a column of numbers, such as ``Types.LONG()``."""
        return self._add(CsvColumn(name, "number", number_type))

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """Add a column of text."""
        return self._add(CsvColumn(name, "string"))

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        for column in schema.columns:
            self._add(column)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Remove all columns."""
        return self._with(columns=())

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """Say what stands between two fields; a comma unless told otherwise."""
        return self._with(column_separator=_one_character(char, "column separator"))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Say what ends a line; a line feed unless told otherwise."""
        return self._with(line_separator=separator)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """Say what encloses fields that hold separators or line ends; a double quote unless told otherwise."""
        return self._with(quote_char=_one_character(char, "quote character"))

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Enclose no field."""
        return self._with(quote_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """Say what takes the meaning from the sign behind it; there is no such sign unless told otherwise."""
        return self._with(escape_char=_one_character(char, "escape character"))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Have no escape character."""
        return self._with(escape_char=None)

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Say what stands between the elements of arrays that have no separator of their own."""
        return self._with(array_element_separator=separator)

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Have no separator for arrays; those that have none of their own cannot be written."""
        return self._with(array_element_separator=None)

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Take the own separator from the array in a column, counted from 0."""
        columns = list(self._schema.columns)
        columns[index] = replace(columns[index], separator=None)
        return self._with(columns=tuple(columns))

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Say what stands for None; nothing at all unless told otherwise."""
        return self._with(null_value=null_value)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Say under which name readers keep the fields behind the last column."""
        return self._with(any_property_name=name)

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002 - PyFlink's signature
        """Let readers leave out lines that begin with ``#``."""
        return self._with(allow_comments=allow)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002 - PyFlink's signature
        """Let readers leave out the first line behind the header."""
        return self._with(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002 - PyFlink's signature
        """Let readers refuse files whose header has other names than the columns."""
        return self._with(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:  # noqa: FBT001, FBT002 - PyFlink's signature
        """Have the names of the columns in the first line of each file."""
        return self._with(use_header=use)

    def size(self) -> int:
        """Return the number of columns so far."""
        return self._schema.size()

    def build(self) -> CsvSchema:
        """Return the schema.

        Raises:
            ProgramError: It has no columns, or two of the same name.
        """
        names: Sequence[str] = self._schema.names
        if not names or len(set(names)) != len(names):
            message = f"A CSV schema needs columns with different names; these are given: {', '.join(names) or 'none'}."
            raise ProgramError(message)
        return self._schema

    def _add(self, column: CsvColumn) -> Self:
        return self._with(columns=(*self._schema.columns, column))

    def _with(self, **changes: Any) -> Self:
        self._schema = replace(self._schema, **changes)
        return self


def _one_character(char: str, what: str) -> str:
    if len(char) != 1:
        message = f"The {what} of a CSV schema is one character, not {char!r}."
        raise ProgramError(message)
    return char


def csv_lines(rows: Sequence[Sequence[Any]], line_end: str, **dialect: Any) -> str:
    """Return rows as text, with what the ``csv`` module calls a dialect."""
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end, **dialect).writerows(rows)
    lines = text.getvalue()
    if "\r" not in lines or "\r" in line_end:
        return lines
    # Older Pythons put quotes only around line breaks that the line end has, but readers break lines at any of them.
    written: list[str] = []
    csv.writer(SimpleNamespace(write=written.append), lineterminator="\r\n", **dialect).writerows(rows)
    return "".join(line.removesuffix("\r\n") + line_end for line in written)
