"""The state of a savepoint as a Spark DataFrame, read by the executors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from penstock.errors import ClusterError
from penstock.savepoints.savepoint import operator_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.savepoints.rows import StateRow
    from penstock.savepoints.savepoint import Savepoint

__all__ = ["savepoint_frame"]

_SCHEMA = "operator string, state string, kind string, key string, namespace string, value string, subtask int"
_BATCH = 4096


def savepoint_frame(
    savepoint: Savepoint, spark: SparkSession | None, *, operator: str | None, state: str | None
) -> DataFrame:
    """Return the rows of a savepoint, one task for each part of its state."""
    session = spark or SparkSession.getActiveSession()
    if session is None:
        message = "There is no active Spark session: give one to to_data_frame()."
        raise ClusterError(message)
    parts: list[tuple[str, int, Any]] = []
    for name, content in savepoint.metadata.operators.items():
        if operator is None or name == operator:
            for subtask, found in sorted(content.subtasks.items()):
                parts += [(name, subtask, handle) for handle in found.keyed]
                parts.append((name, subtask, None))

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(_rows(savepoint, *parts[number]), state)

    numbers = session.range(0, len(parts), 1, max(1, len(parts)))
    return numbers.mapInArrow(read, _SCHEMA)


def _rows(savepoint: Savepoint, operator: str, subtask: int, handle: Any) -> Iterator[StateRow]:
    if handle is not None:
        return savepoint.keyed_rows(operator, handle)
    return operator_rows(operator, subtask, savepoint.metadata.operators[operator].subtasks[subtask], savepoint.files)


def _batches(rows: Iterator[StateRow], state: str | None) -> Iterator[pa.RecordBatch]:
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
