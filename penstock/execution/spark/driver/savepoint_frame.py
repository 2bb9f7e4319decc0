"""The state of a savepoint as a Spark DataFrame, read by the executors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from penstock.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["savepoint_frame"]

_SCHEMA = "operator string, state string, kind string, key string, namespace string, value string, subtask int"
_BATCH = 4096


def savepoint_frame(
    parts: Sequence[Any], rows_of: Callable[[Any], Iterator[Any]], spark: SparkSession | None, *, state: str | None
) -> DataFrame:
    """Return the rows of a savepoint, one task for each part of its state.

    Args:
        parts: What the tasks read.
        rows_of: Gives the rows of a part, on an executor.
        spark: The session, the active one if not given.
        state: Only the rows of this state.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        message = "There is no active Spark session: give one to to_data_frame()."
        raise ClusterError(message)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(rows_of(parts[number]), state)

    numbers = session.range(0, len(parts), 1, max(1, len(parts)))
    return numbers.mapInArrow(read, _SCHEMA)


def _batches(rows: Iterator[Any], state: str | None) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    names = ("operator", "state", "kind", "key", "namespace", "value", "subtask")
    types = [pa.string()] * 6 + [pa.int32()]

    def batch(columns: list[list[Any]]) -> pa.RecordBatch:
        arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    columns: list[list[Any]] = [[] for _ in names]
    for row in rows:
        if state is None or row.state == state:
            plain = json.loads(row.to_json())
            for name, column in zip(names, columns, strict=True):
                is_json = name in ("key", "namespace", "value")
                column.append(json.dumps(plain[name], ensure_ascii=False) if is_json else plain[name])
            if len(columns[0]) == _BATCH:
                yield batch(columns)
                columns = [[] for _ in names]
    yield batch(columns)
