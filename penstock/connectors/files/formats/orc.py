"""ORC files, by stripe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BulkReader
from penstock.connectors.files.formats.columnar_batches import records_of
from penstock.connectors.files.formats.columnar_format import ColumnarFormat

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["OrcFormat"]


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
