"""From Arrow's columns to records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.files.formats.bulk import BATCH_ROWS
from penstock.connectors.files.formats.record_shape import from_rows
from penstock.connectors.files.source.malformed import PARSE_ERRORS
from penstock.errors import JobFailedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["records_of"]


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
