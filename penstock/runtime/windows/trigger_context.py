"""What triggers and evictors see of the key and window they are asked about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from penstock.vocabulary.time.time_values import whole_millis
from penstock.vocabulary.windows.evictors import Evictor
from penstock.vocabulary.windows.triggers import Trigger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.time.timers import InternalTimers
    from penstock.statestore.backend import KeyedStateBackend
    from penstock.vocabulary.metrics import MetricGroup

__all__ = ["WindowTriggerContext"]


class WindowTriggerContext(Trigger.OnMergeContext, Evictor.EvictorContext):
    """Time, timers and state of the current key and ``window``; one object for all keys and windows of an operator."""

    def __init__(self, context: OperatorContext, timers: InternalTimers) -> None:
        self.window: Any = None
        self.merged_windows: Sequence[Any] = ()
        self._backend: KeyedStateBackend = context.keyed_state()
        self._keys = context.keys
        self._metrics = context.metrics
        self._timers = timers
        self._states: dict[str, Any] = {}
        # Bound once: these are called per record.
        self.get_current_processing_time = timers.current_processing_time  # type: ignore[method-assign]
        self._add_event_timer = timers.event_timers.add

    def get_current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._timers.current_processing_time()

    def get_metric_group(self) -> MetricGroup:
        """Return the metric group of the window step."""
        return self._metrics

    def get_current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self._timers.current_watermark

    def register_processing_time_timer(self, time: int) -> None:
        """Ask for ``on_processing_time`` when the clock reaches a time."""
        self._timers.register_processing_time_timer(time, self.window)

    def register_event_time_timer(self, time: int) -> None:
        """Ask for ``on_event_time`` when the watermark reaches a time."""
        if type(time) is not int:
            time = whole_millis(time, "register_event_time_timer() was given")
        self._add_event_timer(time, self._keys.key, self.window)

    def delete_processing_time_timer(self, time: int) -> None:
        """Delete a processing-time timer; one that does not exist is no error."""
        self._timers.delete_processing_time_timer(time, self.window)

    def delete_event_time_timer(self, time: int) -> None:
        """Delete an event-time timer; one that does not exist is no error."""
        self._timers.delete_event_time_timer(time, self.window)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        """Return the state of the key and window; the handle looks at another window after the next call."""
        state = self._states.get(state_descriptor.name)
        if state is None:
            state = self._states[state_descriptor.name] = self._backend.state(state_descriptor)
        state.set_namespace(self.window)
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Move the named state of the merged windows into the new one."""
        if isinstance(state_descriptor, AggregatingStateDescriptor):
            self._merge_accumulators(state_descriptor)
        elif isinstance(state_descriptor, (ListStateDescriptor, ReducingStateDescriptor)):
            self._merge_values(state_descriptor)
        else:
            message = (
                f"A trigger asked to merge the state {state_descriptor.name!r}, but a {type(state_descriptor).__name__}"
                " cannot be merged. Use a reducing, aggregating or list state for what must survive merging."
            )
            raise ProgramError(message)

    def _merge_values(self, descriptor: StateDescriptor) -> None:
        state = self.get_partitioned_state(descriptor)
        is_list = isinstance(descriptor, ListStateDescriptor)
        for window in self.merged_windows:
            if window != self.window:
                state.set_namespace(window)
                value = state.get()
                state.clear()
                self._backend.drop_namespace(descriptor.name, window)
                if value is not None:
                    state.set_namespace(self.window)
                    (state.add_all if is_list else state.add)(value)

    def _merge_accumulators(self, descriptor: AggregatingStateDescriptor[Any, Any, Any]) -> None:
        # A handle of an aggregating state gives results only, while merging needs the accumulators.
        backend, key = self._backend, self._keys.key
        if not isinstance(backend, HeapStateBackend):
            message = f"Aggregating state ({descriptor.name!r}) of triggers is merged with the heap state backend only."
            raise ProgramError(message)
        merge = descriptor.get_agg_function().merge
        target = backend.entries(descriptor, self.window)
        for window in self.merged_windows:
            if window != self.window:
                accumulator = backend.entries(descriptor, window).pop(key, None)
                backend.drop_namespace(descriptor.name, window)
                if accumulator is not None:
                    target[key] = merge(target[key], accumulator) if key in target else accumulator

    def forget(self, window: Any) -> None:
        """Free the bookkeeping of a window whose state is gone."""
        for name in self._states:
            self._backend.drop_namespace(name, window)
