"""Parquet and ORC files, through pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, BinaryIO

from penstock.connectors.files.sink.bulk_writers.schema import arrow_schema, batch_of
from penstock.vocabulary.types.serialization import BulkWriter, BulkWriterFactory

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OrcBulkWriters", "OrcWriterFactory", "ParquetBulkWriters", "ParquetWriterFactory"]

_BATCH_ROWS = 8192
_GROUP_ROWS = 128 * 1024


class ParquetBulkWriters:
    """Makes factories for Parquet files.

    Example:
        >>> from penstock.vocabulary.types.catalogue import Types
        >>> row_type = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
        >>> factory = ParquetBulkWriters.for_row_type(row_type)
    """

    @staticmethod
    def for_row_type(
        row_type: Any, *, compression: str = "snappy", row_group_rows: int = _GROUP_ROWS
    ) -> ParquetWriterFactory:
        """Return a factory for records of a type.

        Args:
            row_type: ``Types.ROW_NAMED(names, types)`` or a ``pyarrow.Schema``. Records are rows, tuples, dicts, or
                objects with such attributes.
            compression: ``snappy``, ``gzip``, ``zstd``, ``lz4``, ``brotli`` or ``none``.
            row_group_rows: How many rows are written together.
        """
        return ParquetWriterFactory(arrow_schema(row_type), compression, row_group_rows)


class OrcBulkWriters:
    """Makes factories for ORC files."""

    @staticmethod
    def for_row_type(row_type: Any, *, compression: str = "zstd") -> OrcWriterFactory:
        """Return a factory for records of a type.

        Args:
            row_type: ``Types.ROW_NAMED(names, types)`` or a ``pyarrow.Schema``. Records are rows, tuples, dicts, or
                objects with such attributes.
            compression: ``zstd``, ``snappy``, ``zlib``, ``lz4`` or ``uncompressed``.
        """
        return OrcWriterFactory(arrow_schema(row_type), compression, _GROUP_ROWS)


class _ColumnsWriterFactory(BulkWriterFactory[Any]):
    is_one_piece = True
    """Two files, one behind the other, are not one file."""

    def __init__(self, schema: Any, compression: str, group_rows: int) -> None:
        self._schema = schema
        self._compression = compression
        self._group_rows = group_rows

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        """Return a writer onto the stream of a new file."""
        return _ColumnsWriter(self._open(stream), self._schema, self._group_rows)

    @abstractmethod
    def _open(self, stream: BinaryIO) -> Any:
        """Return pyarrow's writer, which has ``write_table`` and ``close``."""


class ParquetWriterFactory(_ColumnsWriterFactory):
    """Makes the writers of Parquet files."""

    def _open(self, stream: BinaryIO) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(stream, self._schema, compression=self._compression)

    def read_records(self, stream: BinaryIO) -> Iterator[tuple[Any, ...]]:
        """Return the records of a file as tuples."""
        from pyarrow import parquet

        for batch in parquet.ParquetFile(stream).iter_batches(_BATCH_ROWS):
            yield from zip(*[column.to_pylist() for column in batch.columns], strict=True)


class OrcWriterFactory(_ColumnsWriterFactory):
    """Makes the writers of ORC files."""

    def _open(self, stream: BinaryIO) -> Any:
        from pyarrow import orc

        return orc.ORCWriter(stream, compression=self._compression)

    def read_records(self, stream: BinaryIO) -> Iterator[tuple[Any, ...]]:
        """Return the records of a file as tuples."""
        from pyarrow import orc

        file = orc.ORCFile(stream)
        for stripe in range(file.nstripes):
            yield from zip(*[column.to_pylist() for column in file.read_stripe(stripe).columns], strict=True)


class _ColumnsWriter(BulkWriter[Any]):
    """Gathers records into batches, and batches into the groups of rows that the format writes together."""

    def __init__(self, writer: Any, schema: Any, group_rows: int) -> None:
        self._writer = writer
        self._schema = schema
        self._group_rows = group_rows
        self._records: list[Any] = []
        self._batches: list[Any] = []
        self._batched_rows = 0

    def add_element(self, element: Any) -> None:
        """Keep a record."""
        self.add_run([element])

    def add_run(self, elements: list[Any]) -> None:
        """Keep a run of records; a batch is made of them when there are enough."""
        self._records += elements
        if len(self._records) >= _BATCH_ROWS:
            self._make_batch()
            if self._batched_rows >= self._group_rows:
                self._write_group()

    def flush(self) -> None:
        """Do nothing: a group of rows that is written early makes the file larger and slower to read."""

    def finish(self) -> None:
        """Write what is left and the end of the file."""
        self._make_batch()
        self._write_group()
        self._writer.close()

    def _make_batch(self) -> None:
        if self._records:
            self._batches.append(batch_of(self._records, self._schema))
            self._batched_rows += len(self._records)
            self._records = []

    def _write_group(self) -> None:
        import pyarrow

        if self._batches:
            table = pyarrow.Table.from_batches(self._batches, self._schema)
            write = getattr(self._writer, "write_table", self._writer.write)
            write(table)
            self._batches, self._batched_rows = [], 0
