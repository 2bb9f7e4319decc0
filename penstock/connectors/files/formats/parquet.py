"""Parquet files, by row group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BATCH_ROWS, BulkReader
from penstock.connectors.files.formats.columnar_batches import records_of
from penstock.connectors.files.formats.columnar_format import ColumnarFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ParquetFormat"]


class ParquetFormat(ColumnarFormat):
    """Reads Parquet files. The row groups of a big file are divided over the subtasks.

    The arguments are those of :class:`ColumnarFormat`.
    """

    def open(self, file: Any, path: str) -> BulkReader[Any]:
        """Start reading a file."""
        return _ParquetReader(file, self)


class _ParquetReader(BulkReader[Any]):
    def __init__(self, file: Any, parquet_format: ParquetFormat) -> None:
        from pyarrow import parquet

        # Older writers, Spark among them, store times in nanoseconds, which Python's datetime does not have.
        self._file = parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
        self._format = parquet_format
        missing = set(parquet_format.columns or ()) - set(self._file.schema_arrow.names)
        if missing:
            message = f"there is no column {min(missing)!r}; the columns are {', '.join(self._file.schema_arrow.names)}"
            raise ValueError(message)
        self.part_count = self._file.num_row_groups

    def read_part(self, number: int) -> Iterator[list[Any]] | None:
        if number >= self._file.num_row_groups:
            return None
        batches = self._file.iter_batches(BATCH_ROWS, row_groups=[number], columns=self._format.columns)
        return (records for batch in batches for records in records_of(batch, self._format.record_type))
