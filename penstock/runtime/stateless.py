"""The operators that keep nothing: map, filter, flat_map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.context import open_function
from penstock.runtime.functions import ListCollector, resolve_function, takes_collector
from penstock.runtime.last_yield import returning, stopped
from penstock.runtime.operator import Operator
from penstock.vocabulary.functions import FilterFunction, FlatMapFunction, Function, MapFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.elements import Timestamps, Values

__all__ = ["FilterOperator", "FlatMapOperator", "FunctionOperator", "MapOperator"]


class FunctionOperator(Operator):
    """An operator around one function of the program; opens and closes it."""

    def __init__(self, function: Any, key: Callable[[Any], Any] | None = None) -> None:
        self.function = function
        self._key = key

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

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the function's result for each record."""
        call = self._call
        self.output.emit([call(value) for value in values], timestamps)


class FilterOperator(FunctionOperator):
    """Keeps records."""

    _call: Callable[[Any], Any]

    def open(self) -> None:
        """Resolve the function."""
        super().open()
        self._call = self.with_key(resolve_function(self.function, FilterFunction, "filter"))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the records for which the function is true."""
        call = self._call
        if timestamps is None:
            kept = [value for value in values if call(value)]
            if kept:
                self.output.emit(kept, None)
            return
        pairs = [(value, timestamp) for value, timestamp in zip(values, timestamps, strict=True) if call(value)]
        if pairs:
            self.output.emit([value for value, _ in pairs], [timestamp for _, timestamp in pairs])


class FlatMapOperator(FunctionOperator):
    """Any number of results per record."""

    _call: Callable[[Any], Iterable[Any] | None]

    def open(self) -> None:
        """Resolve the function; one that takes a collector is wrapped to return what it collected."""
        super().open()
        call = resolve_function(self.function, FlatMapFunction, "flat_map")
        self._call = self.with_key(ListCollector.wrap(call) if takes_collector(call, 1) else returning(call))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit everything the function returns or yields."""
        call = self._call
        results: Values = []
        extend = results.extend
        times: Timestamps = None if timestamps is None else []
        try:
            if timestamps is None or times is None:
                for value in values:
                    found = call(value)
                    if found is not None:
                        extend(found)
            else:
                for value, timestamp in zip(values, timestamps, strict=True):
                    found = call(value)
                    if found is not None:
                        extend(found)
                        times.extend([timestamp] * (len(results) - len(times)))
        except StopIteration as error:
            raise stopped(error) from error
        if results:
            self.output.emit(results, times)
