"""Avro files, through fastavro, and Parquet files of records that an Avro schema describes."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.connectors.files.sink.bulk_writers.avro_schema import arrow_schema_of_avro
from penstock.connectors.files.sink.bulk_writers.columns import ParquetBulkWriters
from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.connectors.files.sink.bulk_writers.columns import ParquetWriterFactory

__all__ = ["AvroBulkWriters", "AvroParquetWriters", "AvroSchema", "AvroWriterFactory"]


class AvroSchema:
    """An Avro schema.

    Example:
        >>> AvroSchema.parse_string('{"type": "record", "name": "Word", "fields": []}').definition["name"]
        'Word'
    """

    def __init__(self, definition: Any) -> None:
        """Take the schema as the value that its JSON stands for."""
        self.definition = definition

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """Return the schema in a text."""
        try:
            return AvroSchema(json.loads(json_schema))
        except ValueError as error:
            message = f"The Avro schema is not JSON: {error}."
            raise ProgramError(message) from error

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """Return the schema in a file."""
        return AvroSchema.parse_string(Path(file_path).read_text())


class AvroBulkWriters:
    """Makes factories for Avro files; needs the extra ``penstock[avro]``."""

    @staticmethod
    def for_generic_record(schema: Any, *, codec: str = "null") -> AvroWriterFactory:
        """Return a factory for records of a schema: dicts, rows with field names, or dataclasses.

        Args:
            schema: An `AvroSchema`, or what its JSON stands for.
            codec: How blocks are compressed: ``null``, ``deflate``, ``bzip2``, ``xz``, or others that fastavro finds.
        """
        return AvroWriterFactory(_definition(schema), codec)


class AvroParquetWriters:
    """Makes factories for Parquet files from Avro schemas."""

    @staticmethod
    def for_generic_record(schema: Any, *, compression: str = "snappy") -> ParquetWriterFactory:
        """Return a factory for records of a schema: dicts, rows with field names, tuples or objects.

        Args:
            schema: An `AvroSchema`, or what its JSON stands for.
            compression: As in `ParquetBulkWriters.for_row_type`.
        """
        arrow_schema = arrow_schema_of_avro(_definition(schema))
        return ParquetBulkWriters.for_row_type(arrow_schema, compression=compression)


class AvroWriterFactory(BulkWriterFactory[Any]):
    """Makes the writers of Avro files."""

    is_one_piece = True
    """Two files, one behind the other, are not one file."""

    def __init__(self, definition: Any, codec: str) -> None:
        try:
            import fastavro
        except ImportError as error:
            message = "Avro files need fastavro; install penstock[avro]."
            raise ProgramError(message) from error
        fastavro.parse_schema(definition)
        self._definition = definition
        self._codec = codec

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        """Return a writer onto the stream of a new file."""
        return _AvroWriter(stream, self._definition, self._codec)

    def read_records(self, stream: BinaryIO) -> Iterator[Any]:
        """Return the records of a file as dicts."""
        import fastavro

        return iter(fastavro.reader(stream))


class _AvroWriter(BulkWriter[Any]):
    def __init__(self, stream: BinaryIO, definition: Any, codec: str) -> None:
        from fastavro.write import Writer

        self._writer = Writer(stream, definition, codec)

    def add_element(self, element: Any) -> None:
        self._writer.write(_plain(element))

    def flush(self) -> None:
        """Do nothing: blocks are written when they are full."""

    def finish(self) -> None:
        self._writer.flush()


def _plain(element: Any) -> Any:
    if isinstance(element, Row):
        return element.as_dict(recursive=True)
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return dataclasses.asdict(element)
    return element


def _definition(schema: Any) -> Any:
    definition = schema.definition if isinstance(schema, AvroSchema) else schema
    if isinstance(definition, str) and definition.lstrip().startswith(("{", "[")):
        definition = AvroSchema.parse_string(definition).definition
    if not isinstance(definition, dict) or definition.get("type") != "record":
        message = f"The schema of a file's records must be one of type record, not {definition!r:.200}."
        raise ProgramError(message)
    return definition
