"""Rolling aggregations of a keyed stream: reduce, sum, min, max, min_by, max_by. Each record gives one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.calls.functions import resolve_function
from penstock.runtime.calls.value_calls import reduce_each
from penstock.runtime.exchange.key_functions import keys_of
from penstock.runtime.interpreter_tricks.handover import protect_run
from penstock.runtime.operators.stateless import FunctionOperator
from penstock.statestore.copying import copied
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.functions.fields import FieldReducer
from penstock.vocabulary.program_checks import none_returned
from penstock.vocabulary.state.descriptors import ValueStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["ReduceOperator", "RollingOperator"]

_STATE: ValueStateDescriptor[Any] = ValueStateDescriptor("_rolling_state", None)


class ReduceOperator(FunctionOperator):
    """Combines each record with the result so far of its key; the first record of a key is its own result."""

    def __init__(self, function: Any, key: Callable[[Any], Any]) -> None:
        super().__init__(function)
        self._keys_of = keys_of(key)
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
        results: Values = []
        try:
            reduce_each(
                self._reduce,
                self.function,
                values,
                self._keys_of(values),
                self._entries,
                self.context.keys,
                results,
                protects=self.protects,
            )
        finally:
            self._emit(results, timestamps)

    def _process_through_state(self, values: Values, timestamps: Timestamps) -> None:
        reduce, state, keys = self._reduce, self._state, self.context.keys
        results: Values = []
        value = NO_RECORD
        try:
            for value, keys.key in zip(values, self._keys_of(values), strict=True):
                known = state.value()
                result = value if known is None else reduce(known, value)
                if result is None and known is not None:
                    raise none_returned(self.function, "reduce", value)
                state.update(result)
                # The state has a copy, but the function may have kept the record or the result.
                results.append(copied(result) if self.protects else result)
        except BaseException as error:
            note_record(error, value)
            raise
        finally:
            self._emit(results, timestamps)

    def _emit(self, results: Values, timestamps: Timestamps) -> None:
        """Emit the results of the first records of a run, of all of them unless the function has failed."""
        if results:
            self.output.emit(results, None if timestamps is None else timestamps[: len(results)])


class RollingOperator(ReduceOperator):
    """``sum``, ``min``, ``max``, ``min_by`` and ``max_by`` of one field."""

    def __init__(self, kind: str, position: int | str, key: Callable[[Any], Any], location: str = "") -> None:
        super().__init__(FieldReducer(kind, position, location), key)
        self._has_begun = False
        self._sums_pairs = kind == "sum" and position == 1

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the new result of each record's key; pairs are summed without a call, as most running counts need it."""
        if not self._has_begun:
            self.function.check(values[0])
            self._has_begun = True
        entries = self._entries
        if entries is None or not self._sums_pairs:
            super().process(values, timestamps)
            return
        reduce = self._reduce
        results: Values = []
        add = results.append
        value = NO_RECORD
        try:
            for value, key in zip(values, self._keys_of(values), strict=True):
                known = entries.get(key)
                if known is None:
                    result = value
                elif known.__class__ is tuple and len(known) == 2:
                    result = (known[0], known[1] + value[1])
                else:
                    result = reduce(known, value)
                entries[key] = result
                add(result)
        except BaseException as error:
            note_record(error, value)
            raise
        if self.protects:
            protect_run(results)  # no function of the program has had its turn meanwhile
        self._emit(results, timestamps)
