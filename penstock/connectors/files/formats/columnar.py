"""Files with columns: Parquet by row group, ORC by stripe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BATCH_ROWS, BulkFormat, BulkReader
from penstock.connectors.files.formats.record_shape import check_record_type, from_rows
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.errors import JobFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["ColumnarFormat", "OrcFormat", "ParquetFormat", "records_of"]


class ColumnarFormat(BulkFormat[Any]):
    """Reads files whose parts can be read by different subtasks.

    Args:
        columns: The columns to read; all without this.
        record_type: What rows become: ``dict``, ``tuple``, ``Row``, or a class that takes the fields as keyword
            arguments, such as a dataclass.
    """

    is_splittable = True

    def __init__(self, columns: Sequence[str] | None = None, *, record_type: Callable[..., Any] = dict) -> None:
        check_record_type(record_type)
        self.columns = None if columns is None else list(columns)
        self.record_type = record_type


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


class OrcFormat(ColumnarFormat):
    """Reads ORC files. The stripes of a big file are divided over the subtasks.

    The arguments are those of :class:`ColumnarFormat`.
    """

    def open(self, file: Any, path: str) -> BulkReader[Any]:
        """Start reading a file."""
        return _OrcReader(file, self)


class _OrcReader(BulkReader[Any]):
    def __init__(self, file: Any, orc_format: OrcFormat) -> None:
        from pyarrow import orc

        self._file = orc.ORCFile(file)
        self._format = orc_format
        self.part_count = self._file.nstripes

    def read_part(self, number: int) -> Iterator[list[Any]] | None:
        if number >= self._file.nstripes:
            return None
        return records_of(self._file.read_stripe(number, columns=self._format.columns), self._format.record_type)


def records_of(batch: Any, record_type: Callable[..., Any]) -> Iterator[list[Any]]:
    """Return the rows of a record batch of Arrow as lists of records."""
    make = from_rows(record_type, batch.schema.names)
    for start in range(0, batch.num_rows, BATCH_ROWS):
        columns = [_values(column) for column in batch.slice(start, BATCH_ROWS).columns]
        try:
            records = make(zip(*columns, strict=True))
        except PARSE_ERRORS as error:
            message = f"No {record_type!r} can be made of the columns {', '.join(batch.schema.names)}: {error}"
            raise JobFailedError(message) from error
        yield records


def _values(column: Any) -> list[Any]:
    if "map<" in str(column.type):
        values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
        return values
    return column.to_pylist()  # type: ignore[no-any-return]
