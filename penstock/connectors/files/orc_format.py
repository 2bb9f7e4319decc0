"""ORC files, by stripe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.bulk_format import BulkFormat, BulkReader
from penstock.connectors.files.columnar_batches import records_of
from penstock.connectors.files.record_shape import check_record_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["OrcFormat"]


class OrcFormat(BulkFormat[Any]):
    """Reads ORC files. The stripes of a big file are divided over the subtasks.

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
