"""Rolling aggregations of a keyed stream: reduce, sum, min, max, min_by, max_by. Each record gives one result."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from penstock.errors import ProgramError
from penstock.runtime.elements import Timestamps, Values
from penstock.runtime.functions import resolve_function
from penstock.runtime.stateless import FunctionOperator
from penstock.statestore.heap import HeapStateBackend
from penstock.vocabulary.functions import ReduceFunction
from penstock.vocabulary.rows import Row
from penstock.vocabulary.state_descriptors import ValueStateDescriptor

__all__ = ["ReduceOperator", "RollingOperator", "field_reducer"]

_STATE = ValueStateDescriptor("_rolling_state", None)
_NOTHING = object()


class ReduceOperator(FunctionOperator):
    """Combines each record with the result so far of its key; the first record of a key is its own result."""

    def __init__(self, function: Any, key: Callable[[Any], Any]) -> None:
        super().__init__(function)
        self._key: Callable[[Any], Any] = key
        self._reduce: Callable[[Any, Any], Any]

    def open(self) -> None:
        """Resolve the function and pick the way to the state."""
        super().open()
        self._reduce = resolve_function(self.function, ReduceFunction, "reduce")
        backend = self.context.keyed_state()
        self._state = backend.value_state(_STATE)
        self._entries = backend.entries(_STATE) if isinstance(backend, HeapStateBackend) else None

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the new result of each record's key."""
        if self._entries is None:
            self._process_through_state(values, timestamps)
            return
        key_of, reduce, entries, keys = self._key, self._reduce, self._entries, self.context.keys
        results = []
        add = results.append
        for value in values:
            keys.key = key = key_of(value)
            known = entries.get(key, _NOTHING)
            result = value if known is _NOTHING else reduce(known, value)
            entries[key] = result
            add(result)
        self.output.emit(results, timestamps)

    def _process_through_state(self, values: Values, timestamps: Timestamps) -> None:
        key_of, reduce, state, keys = self._key, self._reduce, self._state, self.context.keys
        results = []
        for value in values:
            keys.key = key_of(value)
            known = state.value()
            result = value if known is None else reduce(known, value)
            state.update(result)
            results.append(result)
        self.output.emit(results, timestamps)


class RollingOperator(ReduceOperator):
    """``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of one field."""

    def __init__(self, kind: str, position: int | str, key: Callable[[Any], Any]) -> None:
        super().__init__(field_reducer(kind, position), key)


def field_reducer(kind: str, position: int | str) -> Callable[[Any, Any], Any]:
    """Return the function that combines two records on one field.

    ``sum``, ``min`` and ``max`` keep the other fields of the first record; ``min_by`` and ``max_by`` keep the whole record that has the
    smallest or largest value, the first one among equals. A record that is a plain value (position 0) is its own field.
    """
    combine = {"sum": operator.add, "min": min, "max": max}.get(kind)
    is_better = operator.lt if kind == "min_by" else operator.gt
    get, replace = _field_getter(position), _field_replacer(position)

    def keep_field(known: Any, value: Any) -> Any:
        assert combine is not None
        return replace(known, combine(get(known), get(value)))

    def keep_record(known: Any, value: Any) -> Any:
        return value if is_better(get(value), get(known)) else known

    return keep_record if combine is None else keep_field


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
            changed = (*record[:position], field, *record[position + 1 :])
            return changed if type(record) is tuple else type(record)(*changed)
        if isinstance(record, (list, dict, Row)):
            copied = _copied(record)
            copied[position] = field
            return copied
        if position == 0:
            return field
        duplicate = object.__new__(type(record))
        duplicate.__dict__.update(record.__dict__)
        duplicate.__dict__[position] = field
        return duplicate

    return replace


def _copied(record: Any) -> Any:
    if not isinstance(record, Row):
        return record.copy()
    row = Row(*record)
    if getattr(record, "_fields", None):
        row.set_field_names(record._fields)
    row.set_row_kind(record.get_row_kind())
    return row
