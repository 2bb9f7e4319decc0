"""The operators of connected streams: one function with a method for each of two inputs.

Both inputs share the function, its state and its timers. Where only one input is keyed, the other one is processed
outside of every key, so that whatever needs a key says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.calls.sliced_calls import SlicedCallsOperator
from penstock.runtime.calls.value_calls import map_each
from penstock.runtime.exchange.key_functions import keys_of
from penstock.runtime.interpreter_tricks.last_yield import returning
from penstock.runtime.operators.process import KeyedProcessOperator, RecordContext, TimerContext, with_collector
from penstock.runtime.operators.stateless import FunctionOperator
from penstock.runtime.time.timer_service import UnkeyedTimerService
from penstock.vocabulary.functions.process import CoProcessFunction, KeyedCoProcessFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.multi_input_steps import CoFlatMapStep, CoMapStep, CoProcessStep, TwoInputStep
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.time.timer_service import KeyedTimerService

__all__ = ["CoFlatMapOperator", "CoMapOperator", "CoProcessOperator", "KeyedCoProcessOperator"]


class _CoContext(RecordContext, KeyedCoProcessFunction.Context, CoProcessFunction.Context):
    """What a process function of two inputs sees while it handles a record."""


class _CoTimerContext(TimerContext, KeyedCoProcessFunction.OnTimerContext, CoProcessFunction.OnTimerContext):
    """What a process function of two inputs sees while a timer fires."""


class _CoFunctionOperator(FunctionOperator):
    """Opens the function of a two-input step and makes the key of each record current."""

    def __init__(self, step: CoMapStep | CoFlatMapStep) -> None:
        super().__init__(step.function)
        self._step: TwoInputStep = step

    def _with_key_of(self, key_of: Callable[[Any], Any] | None, call: Callable[..., Any]) -> Callable[..., Any]:
        keys = self.context.keys
        if not self._step.has_keyed_state:
            return call

        def call_with_key(value: Any) -> Any:
            if key_of is None:
                keys.forget()
            else:
                keys.key = key_of(value)
            return call(value)

        return call_with_key


class CoMapOperator(_CoFunctionOperator):
    """At most one result per record: a result that is ``None`` is none, as in PyFlink."""

    def open(self) -> None:
        """Resolve both methods."""
        super().open()
        self._first = self._with_key_of(self._step.key, self.function.map1)
        self._second = self._with_key_of(self._step.second_key, self.function.map2)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the result of ``map1`` for each record."""
        self._map(self._first, values, timestamps)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Emit the result of ``map2`` for each record."""
        self._map(self._second, values, timestamps)

    def _map(self, call: Callable[[Any], Any], values: Values, timestamps: Timestamps) -> None:
        results: Values = []
        try:
            map_each(call, values, results, self.hand_over)
        finally:
            self._emit(results, None if timestamps is None else timestamps[: len(results)])

    def _emit(self, results: Values, timestamps: Timestamps) -> None:
        if any(result is None for result in results):
            if timestamps is not None:
                timestamps = [time for result, time in zip(results, timestamps, strict=True) if result is not None]
            results = [result for result in results if result is not None]
        if results:
            self.output.emit(results, timestamps)


class CoFlatMapOperator(_CoFunctionOperator, SlicedCallsOperator):
    """Any number of results per record."""

    def open(self) -> None:
        """Resolve both methods."""
        super().open()
        self._first = self._with_key_of(self._step.key, with_collector(self.function.flat_map1, 1, self.results))
        self._second = self._with_key_of(
            self._step.second_key, with_collector(self.function.flat_map2, 1, self.results)
        )

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit what ``flat_map1`` makes of each record."""
        self.put_through(self._first, values, timestamps, None, None)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Emit what ``flat_map2`` makes of each record."""
        self.put_through(self._second, values, timestamps, None, None)


class CoProcessOperator(SlicedCallsOperator):
    """A process function on two streams without keys."""

    def __init__(self, step: CoProcessStep) -> None:
        super().__init__(step.function)

    def open(self) -> None:
        """Prepare the context and resolve the function."""
        context = self.context
        self._service = UnkeyedTimerService(context.clock, context.info.name)
        self._record = _CoContext(self.output, self._service, context.keys)
        self._record.results = self.results
        super().open()
        self._first = returning(with_collector(self.function.process_element1, 2, self.results))
        self._second = returning(with_collector(self.function.process_element2, 2, self.results))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through ``process_element1``."""
        self.put_through(self._first, values, timestamps, self._record, None)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through ``process_element2``."""
        self.put_through(self._second, values, timestamps, self._record, None)

    def on_watermark(self, timestamp: int) -> None:
        """Remember event time for the function's context."""
        self._service.watermark = timestamp
        self.output.emit_watermark(timestamp)


class KeyedCoProcessOperator(KeyedProcessOperator):
    """A process function on two streams of which at least one is keyed: with state and timers."""

    def __init__(self, step: CoProcessStep) -> None:
        super().__init__(step.function, step.key or step.second_key)  # type: ignore[arg-type]
        self._first_keys = _no_keys if step.key is None else keys_of(step.key)
        self._second_keys = _no_keys if step.second_key is None else keys_of(step.second_key)

    def _make_contexts(self, service: KeyedTimerService) -> None:
        self._record = _CoContext(self.output, service, self.context.keys)
        self._timer = _CoTimerContext(self.output, service, self.context.keys)

    def _resolve(self) -> None:
        self._first = returning(with_collector(self.function.process_element1, 2, self.results))
        self._second = returning(with_collector(self.function.process_element2, 2, self.results))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through ``process_element1``, with its key current."""
        self.put_through(self._first, values, timestamps, self._record, self._first_keys(values))

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through ``process_element2``, with its key current."""
        self.put_through(self._second, values, timestamps, self._record, self._second_keys(values))


def _no_keys(_: Values) -> None:
    """Return no keys: records of an input without them are processed outside of every key."""
