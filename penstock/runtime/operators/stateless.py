"""The operators that keep nothing and have at most one result per record: map and filter."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.functions import resolve_function
from penstock.runtime.calls.value_calls import filter_each, map_each
from penstock.runtime.interpreter_tricks.handover import handed_over
from penstock.runtime.interpreter_tricks.harmless_functions import are_built_in, can_only_compute, chosen, computed
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import open_function
from penstock.vocabulary.functions.basic import FilterFunction, Function, MapFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.calls.value_calls import HandOver
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output

__all__ = ["FilterOperator", "FunctionOperator", "MapOperator"]


class FunctionOperator(Operator):
    """An operator around one function of the program; opens and closes it."""

    def __init__(self, function: Any, key: Callable[[Any], Any] | None = None) -> None:
        self.function = function
        self._key = key

    def setup(self, context: OperatorContext, output: Output) -> None:
        """Choose how results are handed over."""
        super().setup(context, output)
        self.hand_over: HandOver | None = handed_over if self.protects else None

    def open(self) -> None:
        """Open the function."""
        open_function(self.function, self.context)

    def with_key(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Make the record's key current before each call, where the input is keyed.

        A plain callable has no way to reach keyed state, so it is spared the cost.
        """
        key_of, keys = self._key, self.context.keys
        if key_of is None or not isinstance(self.function, Function):
            return call

        def call_with_key(value: Any, *arguments: Any) -> Any:
            keys.key = key_of(value)
            return call(value, *arguments)

        return call_with_key

    def close(self) -> None:
        """Close the function."""
        if isinstance(self.function, Function):
            self.function.close()


class MapOperator(FunctionOperator):
    """One result per record."""

    _call: Callable[[Any], Any]

    def open(self) -> None:
        """Resolve the function."""
        super().open()
        self._call = self.with_key(resolve_function(self.function, MapFunction, "map"))
        self._only_computes = can_only_compute(self._call)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the function's result for each record."""
        results = computed(self._call, values) if self._only_computes and are_built_in(values) else None
        if results is None:
            results = []
            try:
                map_each(self._call, values, results, self.hand_over)
            except Exception:
                if results:  # what came before the record that fails is no worse for it
                    self.output.emit(results, None if timestamps is None else timestamps[: len(results)])
                raise
        self.output.emit(results, timestamps)


class FilterOperator(FunctionOperator):
    """Keeps records."""

    _call: Callable[[Any], Any]

    def open(self) -> None:
        """Resolve the function."""
        super().open()
        self._call = self.with_key(resolve_function(self.function, FilterFunction, "filter"))
        self._only_computes = can_only_compute(self._call)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the records for which the function is true."""
        if self._only_computes and are_built_in(values):
            if timestamps is None:
                kept = chosen(self._call, values)
            else:
                answers = computed(self._call, values)
                kept = None if answers is None else list(compress(values, answers))
                timestamps = timestamps if answers is None else list(compress(timestamps, answers))
            if kept is not None:
                if kept:
                    self.output.emit(kept, timestamps)
                return
        results: Values = []
        times: Timestamps = None if timestamps is None else []
        try:
            filter_each(self._call, values, timestamps, results, times, self.hand_over)
        finally:
            if results:
                self.output.emit(results, times)
