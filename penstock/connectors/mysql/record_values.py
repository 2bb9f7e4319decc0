"""Takes the values of a statement's parameters out of records."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row

__all__ = ["RecordValues"]

_SCALARS = (str, int, float, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta, type(None))


class RecordValues:
    """Turns records into sequences of values: tuples and rows by position, mappings and objects by the columns' names.

    Args:
        columns: The names of the parameters, if they have any.
        parameters: How many there are.
        builder: The program's own function from a record to the values.
    """

    def __init__(
        self, columns: Sequence[str] | None, parameters: int, builder: Callable[[Any], Sequence[Any]] | None
    ) -> None:
        self._columns = columns
        self._parameters = parameters
        self._builder = builder
        self._by_type: dict[type, Callable[[Any], Sequence[Any]]] = {}

    def of(self, records: list[Any]) -> list[Any]:
        """Return the values of each record."""
        if self._builder is not None:
            return list(map(self._builder, records))
        known = self._by_type
        values = []
        for record in records:
            kind = record.__class__
            extract = known.get(kind)
            if extract is None:
                extract = known[kind] = self._extraction(kind)
            values.append(extract(record))
        return values

    def _extraction(self, kind: type) -> Callable[[Any], Sequence[Any]]:
        if issubclass(kind, Row):
            return self._of_row
        if issubclass(kind, (tuple, list)):
            return _itself
        if issubclass(kind, _SCALARS) and self._parameters == 1:
            return _alone
        if self._columns is None or issubclass(kind, _SCALARS):
            message = (
                f"A record of type {kind.__name__} does not say which value goes to which of the {self._parameters} "
                "placeholders. Emit tuples or rows, name the columns, or set a statement builder."
            )
            raise ProgramError(message)
        by_name = itemgetter if issubclass(kind, Mapping) else attrgetter
        if len(self._columns) == 1:
            get = by_name(self._columns[0])
            return lambda record: (get(record),)
        return by_name(*self._columns)

    def _of_row(self, row: Row) -> Sequence[Any]:
        return list(row) if self._columns is None else row.get_fields_by_names(self._columns)


def _itself(record: Any) -> Any:
    return record


def _alone(record: Any) -> tuple[Any]:
    return (record,)
