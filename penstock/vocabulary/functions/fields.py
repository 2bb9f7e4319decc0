"""Aggregations of one field of a record: sum, min, max, min_by, max_by."""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FieldReducer"]


class FieldReducer:
    """Combines two records on one field.

    ``sum``, ``min`` and ``max`` keep the other fields of the first record; ``min_by`` and ``max_by`` keep the whole
    record that has the smallest or largest value, the first one among equals. A record that is a plain value (position
    0) is its own field.
    """

    def __init__(self, kind: str, position: int | str, location: str = "") -> None:
        self.kind = kind
        self.position = position
        self.location = location
        """``file:line`` of the program that asks for it."""
        self._combine = _combiner(kind, position)
        self.combine_tuples = (
            _tuple_combiner(kind, position) if isinstance(position, int) and position >= 0 else self._combine
        )

    def __call__(self, known: Any, value: Any) -> Any:
        """Return the combination of what is known and a new record."""
        # Plain tuples are what most jobs aggregate; everything else takes the general way.
        if known.__class__ is tuple:
            return self.combine_tuples(known, value)
        return self._combine(known, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return FieldReducer, (self.kind, self.position, self.location)

    def __repr__(self) -> str:
        return f"{self.kind}({self.position!r})"

    def check(self, record: Any) -> None:
        """Refuse a record that has no such field, or one that cannot be summed or compared.

        Raises:
            UnusableValueError: The record cannot be aggregated.
        """
        try:
            field = _field_getter(self.position)(record)
        except Exception as error:
            problem = (
                f"{self!r} needs a field {self.position!r}, which the record does not have ({error}). Name a field that"
                " all records have."
            )
            raise UnusableValueError(problem, self, record) from error
        if not self._takes(field):
            what = "adds numbers" if self.kind == "sum" else "compares values"
            problem = (
                f"{self!r} {what}, but the field {self.position!r} is {shown(field)}. Name another field, or use"
                " reduce() or aggregate() with a function that knows what to do."
            )
            raise UnusableValueError(problem, self, record)

    def _takes(self, field: Any) -> bool:
        if isinstance(field, _NO_NUMBERS) if self.kind == "sum" else field is None:
            return False
        try:
            field + field if self.kind == "sum" else field < field
        except Exception:
            return False
        return True


_NO_NUMBERS = (str, bytes, bytearray, list, tuple, dict, set, frozenset, type(None))
"""What Python adds, or joins, although it is no number."""

_COMBINE: dict[str, Callable[[Any, Any], Any]] = {"sum": operator.add, "min": min, "max": max}


def _combiner(kind: str, position: int | str) -> Callable[[Any, Any], Any]:
    get, replace = _field_getter(position), _field_replacer(position)
    if kind in ("min_by", "max_by"):
        is_better = operator.lt if kind == "min_by" else operator.gt
        return lambda known, value: value if is_better(get(value), get(known)) else known
    combine = _COMBINE[kind]
    return lambda known, value: replace(known, combine(get(known), get(value)))


def _tuple_combiner(kind: str, at: int) -> Callable[[Any, Any], Any]:
    if kind == "min_by":
        return lambda known, value: value if value[at] < known[at] else known
    if kind == "max_by":
        return lambda known, value: value if value[at] > known[at] else known
    if kind == "sum":
        return lambda known, value: (*known[:at], known[at] + value[at], *known[at + 1 :])
    combine = _COMBINE[kind]
    return lambda known, value: (*known[:at], combine(known[at], value[at]), *known[at + 1 :])


def _field_getter(position: int | str) -> Callable[[Any], Any]:
    if isinstance(position, int):

        def get(record: Any) -> Any:
            if isinstance(record, (tuple, list, Row)):
                return record[position]
            if position == 0:
                return record
            message = f"A record of type {type(record).__name__} has no field {position}; use tuples or Row."
            raise ProgramError(message)

        return get

    def get_by_name(record: Any) -> Any:
        return record[position] if isinstance(record, (dict, Row)) else getattr(record, position)

    return get_by_name


def _field_replacer(position: int | str) -> Callable[[Any, Any], Any]:
    def replace(record: Any, field: Any) -> Any:
        if isinstance(record, tuple):
            if isinstance(position, str):
                return record._replace(**{position: field})  # type: ignore[attr-defined]
            changed = list(record)
            changed[position] = field
            return tuple(changed) if type(record) is tuple else type(record)(*changed)
        if isinstance(record, (list, dict, Row)):
            copied = _copied(record)
            copied[position] = field
            return copied
        if position == 0:
            return field
        if dataclasses.is_dataclass(record):
            return dataclasses.replace(record, **{str(position): field})  # type: ignore[type-var]
        duplicate = object.__new__(type(record))
        duplicate.__dict__.update(record.__dict__)
        duplicate.__dict__[position] = field
        return duplicate

    return replace


def _copied(record: Any) -> Any:
    if not isinstance(record, Row):
        return record.copy()
    row = Row(*record)
    names = record.get_field_names()
    if names is not None:
        row.set_field_names(names)
    row.set_row_kind(record.get_row_kind())
    return row
