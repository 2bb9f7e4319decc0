"""How the program's window functions are called: with key, window or context, and with the elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.runtime.operators.process import with_collector
from penstock.runtime.task.context import FunctionContext, OperatorContext
from penstock.vocabulary.functions.contexts import KeyedStateStore
from penstock.vocabulary.functions.windowed import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

if TYPE_CHECKING:
    from penstock.runtime.calls.results import PendingResults
    from penstock.runtime.time.timers import InternalTimers
    from penstock.statestore.backend import KeyContext, KeyedStateBackend
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.state.handles import AggregatingState, ListState, MapState, ReducingState, ValueState

__all__ = ["Evaluate", "WindowContext", "evaluation_of", "frees_state"]

Evaluate = Callable[[Any, list[Any]], Iterable[Any] | None]
"""Called with a window and its elements; the current key is that of the window."""


class _WindowStateStore(KeyedStateStore):
    """Hands out state of the current key and the window that the context is looking at."""

    def __init__(self, context: WindowContext, backend: KeyedStateBackend) -> None:
        self._context = context
        self._backend = backend
        self._handles: dict[tuple[type, str], Any] = {}

    def _state(self, find: Callable[[Any], Any], descriptor: Any) -> Any:
        identity = (type(descriptor), descriptor.name)
        state = self._handles.get(identity)
        if state is None:
            state = self._handles[identity] = find(descriptor)
        state.set_namespace(self._context.current_window)
        return state

    def forget(self, window: Any) -> None:
        """Free the bookkeeping of a window whose state is gone."""
        for _, name in self._handles:
            self._backend.drop_namespace(name, window)

    def get_state(self, state_descriptor: Any) -> ValueState[Any]:
        """Return a state with one value."""
        return self._state(self._backend.value_state, state_descriptor)  # type: ignore[no-any-return]

    def get_list_state(self, state_descriptor: Any) -> ListState[Any]:
        """Return a state with a list."""
        return self._state(self._backend.list_state, state_descriptor)  # type: ignore[no-any-return]

    def get_map_state(self, state_descriptor: Any) -> MapState[Any, Any]:
        """Return a state with a map."""
        return self._state(self._backend.map_state, state_descriptor)  # type: ignore[no-any-return]

    def get_reducing_state(self, state_descriptor: Any) -> ReducingState[Any]:
        """Return a state that reduces what is added."""
        return self._state(self._backend.reducing_state, state_descriptor)  # type: ignore[no-any-return]

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingState[Any, Any]:
        """Return a state that aggregates what is added."""
        return self._state(self._backend.aggregating_state, state_descriptor)  # type: ignore[no-any-return]


class WindowContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """What a process window function sees; one object, pointed at each window that fires."""

    def __init__(
        self, context: OperatorContext, results: PendingResults, timers: InternalTimers, *, has_merging_windows: bool
    ) -> None:
        self.current_window: Any = None
        self._backend = context.keyed_state()
        self.results = results
        self._timers = timers
        self._has_merging_windows = has_merging_windows
        self._window_state = _WindowStateStore(self, self._backend)
        self._global_state = FunctionContext(context)

    def window(self) -> Any:
        """Return the window."""
        return self.current_window

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self._timers.current_watermark

    def window_state(self) -> KeyedStateStore:
        """Return state of the key and window; windows that merge have none."""
        if self._has_merging_windows:
            message = (
                "Per-window state is not available with windows that merge, such as session windows: nobody could say"
                " how the state of two windows becomes that of one. Use global_state(), or windows that do not merge."
            )
            raise ProgramError(message)
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        """Return state of the key that all its windows share."""
        return self._global_state

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output, with the last timestamp of the window, behind what was emitted before it."""
        self.results.emit_aside(output_tag, value, self.current_window.max_timestamp())

    def forget(self, window: Any) -> None:
        """Free the bookkeeping of a window whose state is gone."""
        self._window_state.forget(window)


def frees_state(function: Any) -> bool:
    """Tell whether a function wants to hear when a window goes away."""
    if isinstance(function, ProcessWindowFunction):
        return type(function).clear is not ProcessWindowFunction.clear
    return isinstance(function, ProcessAllWindowFunction) and type(function).clear is not ProcessAllWindowFunction.clear


def evaluation_of(function: Any, context: WindowContext, keys: KeyContext, *, is_keyed: bool) -> Evaluate:
    """Resolve how a window function is called; without one the elements themselves are the results."""
    if function is None:
        return _pass_through
    pending = context.results
    if isinstance(function, ProcessWindowFunction):
        return _with_context_and_key(with_collector(function.process, 3, pending), context, keys)
    if isinstance(function, ProcessAllWindowFunction):
        return _with_context(with_collector(function.process, 2, pending), context)
    if isinstance(function, WindowFunction):
        return _with_key(with_collector(function.apply, 3, pending), keys)
    if isinstance(function, AllWindowFunction):
        return with_collector(function.apply, 2, pending)
    if callable(function):
        return (
            _with_key(with_collector(function, 3, pending), keys) if is_keyed else with_collector(function, 2, pending)
        )
    message = f"A window function is needed here, not {function!r}."
    raise ProgramError(message)


def _pass_through(window: Any, elements: list[Any]) -> list[Any]:
    return elements


def _with_key(call: Callable[..., Any], keys: KeyContext) -> Evaluate:
    def evaluate(window: Any, elements: list[Any]) -> Any:
        return call(keys.key, window, elements)

    return evaluate


def _with_context_and_key(call: Callable[..., Any], context: WindowContext, keys: KeyContext) -> Evaluate:
    def evaluate(window: Any, elements: list[Any]) -> Any:
        context.current_window = window
        return call(keys.key, context, elements)

    return evaluate


def _with_context(call: Callable[..., Any], context: WindowContext) -> Evaluate:
    def evaluate(window: Any, elements: list[Any]) -> Any:
        context.current_window = window
        return call(context, elements)

    return evaluate
