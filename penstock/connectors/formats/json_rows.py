"""Rows as JSON objects, one per message."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.connectors.formats.json_schema_types import type_of_json_schema
from penstock.connectors.formats.json_values import json_reader, json_writer
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.types.composite import RowTypeInfo
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import DeserializationSchema, SerializationSchema

if TYPE_CHECKING:
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema[Row]):
    """Reads a JSON object as a row; fields that the row does not have are left out, missing ones are None.

    Example:
        >>> from penstock.vocabulary.types.catalogue import Types
        >>> row_type = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
        >>> JsonRowDeserializationSchema.builder().type_info(row_type).build().deserialize(b'{"id": 1}')
        Row(id=1, name=None)
    """

    def __init__(self, type_info: TypeInformation, *, fails_on_missing_field: bool, ignores_parse_errors: bool) -> None:
        self._type_info = type_info
        self._read = json_reader(type_info, fails_on_missing_field=fails_on_missing_field)
        self._ignores_parse_errors = ignores_parse_errors
        self._parse_float = Decimal if "BigDecimal" in str(type_info) else None

    def deserialize(self, message: bytes) -> Row | None:
        """Return the row of a message; ``ValueError`` and the like say that it is none."""
        try:
            row: Row = self._read(json.loads(bytes(message), parse_float=self._parse_float))
        except PARSE_ERRORS:
            if self._ignores_parse_errors:
                return None
            raise
        return row

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._type_info

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Return a builder."""
        return JsonRowDeserializationSchema.Builder()

    class Builder:
        """Builds a schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fails_on_missing_field = False
            self._ignores_parse_errors = False

        def type_info(self, type_info: RowTypeInfo) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = _row_type(type_info)
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Take the type of the rows from a JSON schema."""
            require_instance(json_schema, str, "json_schema() needs the schema as text.")
            self._type_info = _row_type(type_of_json_schema(json_schema))
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Refuse messages without some of the fields."""
            self._fails_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Leave messages out that cannot be read."""
            self._ignores_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Return the schema."""
            if self._type_info is None:
                message = "JsonRowDeserializationSchema needs type_info() or json_schema()."
                raise ProgramError(message)
            if self._fails_on_missing_field and self._ignores_parse_errors:
                message = "A JSON schema either fails on missing fields or ignores errors, not both."
                raise ProgramError(message)
            return JsonRowDeserializationSchema(
                self._type_info,
                fails_on_missing_field=self._fails_on_missing_field,
                ignores_parse_errors=self._ignores_parse_errors,
            )


class JsonRowSerializationSchema(SerializationSchema[Any]):
    """Writes a row, a dict or a tuple as a JSON object."""

    def __init__(self, type_info: RowTypeInfo) -> None:
        self._write = json_writer(_row_type(type_info))

    def serialize(self, value: Any) -> bytes:
        """Return the JSON of a row."""
        return self._write(value).encode()

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Return a builder."""
        return JsonRowSerializationSchema.Builder()

    class Builder:
        """Builds a schema."""

        def __init__(self) -> None:
            self._type_info: RowTypeInfo | None = None

        def with_type_info(self, type_info: RowTypeInfo) -> JsonRowSerializationSchema.Builder:
            """Set the type of the rows."""
            self._type_info = _row_type(type_info)
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Return the schema."""
            if self._type_info is None:
                message = "JsonRowSerializationSchema needs with_type_info()."
                raise ProgramError(message)
            return JsonRowSerializationSchema(self._type_info)


def _row_type(type_info: Any) -> RowTypeInfo:
    if not isinstance(type_info, RowTypeInfo):
        message = f"JSON objects are rows: give Types.ROW_NAMED(names, types), not {type_info!r:.100}."
        raise ProgramError(message)
    return type_info
