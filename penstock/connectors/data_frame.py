"""The source of the rows of a Spark DataFrame, by way of files, so that they can be read again."""

from __future__ import annotations

import uuid
import weakref
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.columnar import ParquetFormat
from penstock.connectors.files.source.source import FileSource
from penstock.errors import ProgramError
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DataFrameSource"]

_made: weakref.WeakValueDictionary[str, DataFrameSource] = weakref.WeakValueDictionary()


class DataFrameSource(Source[Any]):
    """Reads the rows of a DataFrame from the Parquet files that it is stored in when the job starts.

    Args:
        store: Stores the DataFrame, unless that was done before, and returns the directory; stays on the driver.
        record_type: What rows become: ``Row``, ``dict``, ``tuple``, or a class that takes the fields as keyword
            arguments, such as a dataclass.
    """

    boundedness = Boundedness.BOUNDED

    def __init__(self, store: Callable[[], str], *, record_type: Callable[..., Any] = Row) -> None:
        self._store: Callable[[], str] | None = store
        self._format = ParquetFormat(record_type=record_type)
        self._id = uuid.uuid4().hex
        _made[self._id] = self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_store": None}

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Store the DataFrame and divide its files."""
        # Each step has a copy of its source, also on the driver, where the one that was made has the DataFrame.
        store = self._store or getattr(_made.get(self._id), "_store", None)
        if store is None:
            message = "A DataFrame can be read only by the program that made it."
            raise ProgramError(message)
        return self._files(store()).create_splits(parallelism)

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        """Start reading files."""
        return self._files("").open_split(split, position, context)

    def _files(self, directory: str) -> FileSource[Any]:
        return FileSource.for_bulk_file_format(self._format, directory).build()
