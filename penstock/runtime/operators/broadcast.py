"""The operators of broadcast state: the second input writes it, in every subtask alike, the first one reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from penstock.errors import StateAccessError
from penstock.runtime.calls.sliced_calls import SlicedCallsOperator
from penstock.runtime.interpreter_tricks.last_yield import returning
from penstock.runtime.operators.process import KeyedProcessOperator, RecordContext, TimerContext, with_collector
from penstock.runtime.time.timer_service import UnkeyedTimerService
from penstock.vocabulary.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.vocabulary.state.handles import ReadOnlyBroadcastState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.graph.multi_input_steps import BroadcastProcessStep
    from penstock.runtime.calls.results import PendingResults
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output
    from penstock.runtime.time.timer_service import KeyedTimerService
    from penstock.vocabulary.functions.contexts import TimerService
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.state.handles import BroadcastState

__all__ = ["BroadcastOperator", "KeyedBroadcastOperator"]


class _ReadOnlyState(ReadOnlyBroadcastState[Any, Any]):
    """Broadcast state as the side that is not broadcast sees it."""

    def __init__(self, name: str, state: BroadcastState[Any, Any]) -> None:
        self._name = name
        self._state = state
        self.get = state.get  # type: ignore[method-assign] # bound once: looked up per record

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def items(self) -> Iterable[tuple[Any, Any]]:
        return self._state.items()

    def keys(self) -> Iterable[Any]:
        return self._state.keys()

    def values(self) -> Iterable[Any]:
        return self._state.values()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def _refuse(self, *_: Any) -> NoReturn:
        message = (
            f"The broadcast state {self._name!r} can be changed in process_broadcast_element() only: there every"
            " subtask makes the same change, here only this one would."
        )
        raise StateAccessError(message)

    clear = put = put_all = remove = __setitem__ = __delitem__ = _refuse


class _States:
    """The broadcast states of a step, by name, for writing and for reading."""

    def __init__(self, step: BroadcastProcessStep, context: OperatorContext) -> None:
        self._step = context.info.name
        self.writable = {
            descriptor.get_name(): context.operator_state.get_broadcast_state(descriptor)
            for descriptor in step.descriptors
        }
        self.readable = {name: _ReadOnlyState(name, state) for name, state in self.writable.items()}

    def unknown(self, descriptor: Any) -> StateAccessError:
        """Return the error for a state that was not announced."""
        names = ", ".join(map(repr, self.writable))
        message = (
            f"Step {self._step!r} has no broadcast state for {descriptor!r}; it has {names}. Give the descriptor to"
            " broadcast(), or correct its name."
        )
        return StateAccessError(message)


class _SideContext:
    """What the contexts of both sides have in common."""

    results: PendingResults
    """What the function has emitted so far."""

    def __init__(self, service: TimerService, states: _States) -> None:
        self._service = service
        self._states = states
        self.time: int | None = None

    def timestamp(self) -> int | None:
        """Return the event time of the record."""
        return self.time

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._service.current_processing_time()

    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self._service.current_watermark()

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output, behind what was emitted before it."""
        self.results.emit_aside(output_tag, value, self.time)


class _DataContext(_SideContext, BroadcastProcessFunction.ReadOnlyContext):
    """What the function sees while it handles a record of the stream that is not broadcast."""

    def get_broadcast_state(self, state_descriptor: Any) -> ReadOnlyBroadcastState[Any, Any]:
        """Return the broadcast state for reading."""
        found = self._states.readable.get(state_descriptor.name)
        if found is None:
            raise self._states.unknown(state_descriptor)
        return found


class _BroadcastContext(_SideContext, BroadcastProcessFunction.Context):
    """What the function sees while it handles a broadcast record."""

    def get_broadcast_state(self, state_descriptor: Any) -> BroadcastState[Any, Any]:
        """Return the broadcast state for reading and writing."""
        found = self._states.writable.get(state_descriptor.name)
        if found is None:
            raise self._states.unknown(state_descriptor)
        return found


class _KeyedBroadcastContext(_BroadcastContext, KeyedBroadcastProcessFunction.Context):
    """What the function sees while it handles a broadcast record beside a keyed stream."""

    def __init__(self, service: TimerService, states: _States, context: OperatorContext) -> None:
        super().__init__(service, states)
        self._context = context

    def apply_to_keyed_state(self, state_descriptor: Any, function: Any) -> None:
        """Call ``function(key, state)``, or its method ``process``, for every key that has the state."""
        keys, backend = self._context.keys, self._context.keyed_state()
        state = backend.state(state_descriptor)
        call: Callable[[Any, Any], Any] = getattr(function, "process", function)
        try:
            for key in backend.keys(state_descriptor.get_name()):
                keys.key = key
                call(key, state)
        finally:
            keys.forget()


class _KeyedDataContext(RecordContext, _DataContext, KeyedBroadcastProcessFunction.ReadOnlyContext):
    """What the function sees while it handles a record of the keyed stream."""

    def __init__(self, output: Output, service: KeyedTimerService, states: _States, context: OperatorContext) -> None:
        RecordContext.__init__(self, output, service, context.keys)
        self._states = states


class _KeyedTimerContext(TimerContext, _KeyedDataContext, KeyedBroadcastProcessFunction.OnTimerContext):
    """What the function sees while a timer fires."""


class BroadcastOperator(SlicedCallsOperator):
    """A broadcast process function on a stream without keys."""

    def __init__(self, step: BroadcastProcessStep) -> None:
        super().__init__(step.function)
        self._step = step

    def open(self) -> None:
        """Prepare state and contexts and resolve the function."""
        context = self.context
        self._service = UnkeyedTimerService(context.clock, context.info.name)
        states = _States(self._step, context)
        self._data = _DataContext(self._service, states)
        self._broadcast = _BroadcastContext(self._service, states)
        self._data.results = self._broadcast.results = self.results
        super().open()
        self._first = returning(with_collector(self.function.process_element, 2, self.results))
        self._second = returning(with_collector(self.function.process_broadcast_element, 2, self.results))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through ``process_element``."""
        self.put_through(self._first, values, timestamps, self._data, None)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Put each broadcast record through ``process_broadcast_element``."""
        self.put_through(self._second, values, timestamps, self._broadcast, None)

    def on_watermark(self, timestamp: int) -> None:
        """Remember event time for the function's contexts."""
        self._service.watermark = timestamp
        self.output.emit_watermark(timestamp)


class KeyedBroadcastOperator(KeyedProcessOperator):
    """A broadcast process function on a keyed stream: with keyed state and timers on that side."""

    def __init__(self, step: BroadcastProcessStep) -> None:
        super().__init__(step.function, step.key)  # type: ignore[arg-type]
        self._step = step

    def _make_contexts(self, service: KeyedTimerService) -> None:
        states = _States(self._step, self.context)
        self._record = _KeyedDataContext(self.output, service, states, self.context)
        self._timer = _KeyedTimerContext(self.output, service, states, self.context)
        self._broadcast = _KeyedBroadcastContext(service, states, self.context)
        self._broadcast.results = self.results

    def _resolve(self) -> None:
        super()._resolve()
        self._second = returning(with_collector(self.function.process_broadcast_element, 2, self.results))

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Put each broadcast record through ``process_broadcast_element``, outside of every key."""
        self.put_through(self._second, values, timestamps, self._broadcast, None)
