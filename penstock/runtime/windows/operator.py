"""The window operator: puts records into windows, asks the trigger, evaluates windows and removes them in the end.

A window lives from its first record until its *cleanup time*: its last timestamp, plus the allowed lateness in event
time. Until then every record enters it and may fire it again. All contents, the state of triggers and window functions,
and the timers belong to a key and a window, which is the namespace of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import MissingTimestampError, ProgramError
from penstock.foundation.failure_context import NO_RECORD, note_record, noting
from penstock.runtime.calls.record_calls import gather_all
from penstock.runtime.calls.results import PendingResults
from penstock.runtime.calls.unusable_results import require_made
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import FunctionContext, OperatorContext, open_function
from penstock.runtime.time.timers import InternalTimers, one_by_one
from penstock.runtime.windows.checks import checked_assignment, no_trigger_result
from penstock.runtime.windows.contents import (
    Accumulation,
    AccumulatorContents,
    ElementContents,
    TimestampedContents,
    WindowContents,
    accumulation_of,
)
from penstock.runtime.windows.functions import WindowContext, evaluation_of, frees_state
from penstock.runtime.windows.late_records import LateRecords
from penstock.runtime.windows.merging import MergingWindows, merging_windows_of
from penstock.runtime.windows.trigger_context import WindowTriggerContext
from penstock.statestore.copying import as_it_is, copied, copied_run
from penstock.statestore.snapshot_format import EVENT_TIME, PROCESSING_TIME, Timer
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.functions.fields import FieldReducer
from penstock.vocabulary.windows.assigners import MergingWindowAssigner, WindowAssigner, default_trigger
from penstock.vocabulary.windows.triggers import Trigger, TriggerResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.graph.steps import WindowStep
    from penstock.vocabulary.functions.windowed import ProcessAllWindowFunction, ProcessWindowFunction

__all__ = ["WindowOperator", "WindowTimer"]

WindowTimer = tuple[int, Any, Any]
"""Timestamp, key and window."""

_CONTINUE = TriggerResult.CONTINUE


class WindowOperator(Operator):
    """Windows of any kind, with any trigger, evictor and function."""

    timers: InternalTimers

    def __init__(self, step: WindowStep) -> None:
        if step.key is None:
            message = "A window step needs a key; a stream without keys is windowed under one constant key."
            raise ProgramError(message)
        if step.reducer is None and step.function is None:
            message = "A window step needs a reduce, aggregate or window function: without one nothing would come out."
            raise ProgramError(message)
        self.step = step
        self.function = step.function if step.function is not None else step.reducer
        self._key = step.key

    def open(self) -> None:
        """Resolve assigner, trigger, contents and functions."""
        step, context = self.step, self.context
        backend = context.keyed_state()
        assigner: WindowAssigner[Any, Any] = step.assigner
        self._trigger: Trigger[Any, Any] = default_trigger(assigner) if step.trigger is None else step.trigger
        require_made(self._trigger, Trigger, "get_default_trigger", assigner)
        self._is_event_time = assigner.is_event_time()
        self._copied: Callable[[Any], Any] = copied if self.protects else as_it_is
        self._copied_run: Callable[[Values], Values] = copied_run if self.protects else as_it_is
        self._lateness = step.allowed_lateness if self._is_event_time else 0
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=one_by_one(self._on_event_time),
            on_processing_time=noting(self, one_by_one(self._on_processing_time)),
        )
        self._merging: MergingWindows | None = None
        if isinstance(assigner, MergingWindowAssigner):
            self._check_mergeable()
            self._merging = merging_windows_of(assigner, backend, context.keys)
        self._assigner_context = _AssignerContext(context, self.timers)
        self._trigger_context = WindowTriggerContext(context, self.timers)
        self._results = PendingResults(self.output, protects=self.protects, may_be_tagged=step.function is not None)
        self._results.begin(has_timestamps=True)
        self._window_context = WindowContext(
            context, self._results, self.timers, has_merging_windows=self._merging is not None
        )
        self._accumulation: Accumulation | None = None if step.reducer is None else accumulation_of(step.reducer)
        self._contents: WindowContents = (
            TimestampedContents(backend)
            if step.evictor is not None
            else ElementContents(backend)
            if self._accumulation is None
            else AccumulatorContents(backend, self._accumulation)
        )
        self._evaluate = evaluation_of(step.function, self._window_context, context.keys, is_keyed=step.is_keyed)
        self._frees_state = frees_state(step.function)
        self._late = LateRecords(context, self.output, step.late_tag, self._lateness)
        self._unchecked = step.reducer if isinstance(step.reducer, FieldReducer) else None
        self._assign = checked_assignment(assigner)
        self._is_flush_due = False
        for function in step.functions:
            open_function(function, context)

    def _check_mergeable(self) -> None:
        if not self._trigger.can_merge():
            message = (
                f"{type(self._trigger).__name__} in step {self.context.info.name!r} cannot be used with windows that"
                " merge, such as session windows. Use another trigger, or let it return True from can_merge() and"
                " implement on_merge()."
            )
            raise ProgramError(message)

    def close(self) -> None:
        """Close the functions."""
        for function in self.step.functions:
            if isinstance(function, Function):
                function.close()

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put a run of records into their windows; what fires at once is emitted behind the run."""
        if self._unchecked is not None:
            self._check_first(values)
        if timestamps is None:
            if self._is_event_time:
                raise self._missing_timestamp(values[0])
            timestamps = [MIN_TIMESTAMP] * len(values)
        if self._merging is None:
            self._add_to_fixed(values, timestamps)
        else:
            self._add_to_merging(values, timestamps, self._merging)
        self._flush()

    def _check_first(self, values: Values) -> None:
        """Refuse, by the first record, an aggregation of a field that the records do not have."""
        reducer, self._unchecked = self._unchecked, None
        if reducer is not None:
            reducer.check(values[0])

    def _add_to_fixed(self, values: Values, timestamps: list[int]) -> None:
        key_of, keys, watermark = self._key, self.context.keys, self.timers.current_watermark
        assign, assigner_context = self._assign, self._assigner_context
        is_event_time, cleanup_time_of = self._is_event_time, self._cleanup_time
        add, on_element, trigger_context = self._contents.add, self._trigger.on_element, self._trigger_context
        register = (
            trigger_context.register_event_time_timer
            if is_event_time
            else trigger_context.register_processing_time_timer
        )
        last_window, cleanup_time = None, 0
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                keys.key = key_of(value)
                if is_event_time and timestamp == MIN_TIMESTAMP:
                    raise self._missing_timestamp(value)
                is_skipped = True
                for window in assign(value, timestamp, assigner_context):
                    if window is not last_window:
                        last_window, cleanup_time = window, cleanup_time_of(window)
                    if is_event_time and cleanup_time <= watermark:
                        continue
                    # Each window has a record of its own, as a function may change what its window holds.
                    add(window, value if is_skipped else self._copied(value), timestamp)
                    is_skipped = False
                    trigger_context.window = window
                    answer = on_element(value, timestamp, window, trigger_context)
                    if answer is not _CONTINUE:
                        self._act(answer, window, window)
                        trigger_context.window = window
                    if cleanup_time != MAX_TIMESTAMP:
                        register(cleanup_time)
                if is_skipped and is_event_time:
                    self._late.take(value, timestamp, watermark)
        except BaseException as error:
            note_record(error, value)
            raise

    def _add_to_merging(self, values: Values, timestamps: list[int], merging: MergingWindows) -> None:
        key_of, keys, watermark = self._key, self.context.keys, self.timers.current_watermark
        assign, assigner_context = self._assign, self._assigner_context
        is_event_time, trigger_context, on_merge = self._is_event_time, self._trigger_context, self._on_merge
        add, on_element = self._contents.add, self._trigger.on_element
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                keys.key = key_of(value)
                if is_event_time and timestamp == MIN_TIMESTAMP:
                    raise self._missing_timestamp(value)
                is_skipped = True
                for assigned in assign(value, timestamp, assigner_context):
                    window, state_window = merging.add(assigned, on_merge)
                    cleanup_time = self._cleanup_time(window)
                    if is_event_time and cleanup_time <= watermark:
                        merging.retire(window)
                        continue
                    add(state_window, value if is_skipped else self._copied(value), timestamp)
                    is_skipped = False
                    trigger_context.window = window
                    answer = on_element(value, timestamp, window, trigger_context)
                    if answer is not _CONTINUE:
                        self._act(answer, window, state_window)
                        trigger_context.window = window
                    self._register_cleanup(cleanup_time)
                if is_skipped and is_event_time:
                    self._late.take(value, timestamp, watermark)
        except BaseException as error:
            note_record(error, value)
            raise

    def process_watermark(self, timestamp: int) -> None:
        """Fire event-time timers; their results go out before the watermark."""
        self.timers.advance_watermark(timestamp)
        self._flush()
        self.output.emit_watermark(timestamp)

    def end_key(self) -> None:
        """Fire all windows of the key."""
        self.timers.end_event_time()
        self._flush()
        self.timers.end_processing_time()
        self._flush()
        self.timers.begin_key()

    def end_input(self) -> None:
        """Emit what has fired."""
        self._flush()

    def snapshot_timers(self) -> list[Timer]:
        """Return the timers of both domains."""
        waiting = [Timer(time, key, window, EVENT_TIME) for time, key, window in self.event_timers()]
        return waiting + [
            Timer(time, key, window, PROCESSING_TIME) for time, key, window in self.timers.snapshot_processing_timers()
        ]

    def restore_timers(self, timers: list[Timer]) -> None:
        """Take back the timers of both domains."""
        self.restore_event_timers([timer[:3] for timer in timers if timer.domain == EVENT_TIME])
        self.timers.restore(timer for timer in timers if timer.domain == PROCESSING_TIME)

    def event_timers(self) -> list[WindowTimer]:
        """Return the event-time timers, the next first: what a snapshot has to hold beside the keyed state."""
        return sorted(self.timers.event_timers.snapshot(), key=lambda timer: timer[0])

    def restore_event_timers(self, timers: Sequence[WindowTimer]) -> None:
        """Take back the event-time timers of a snapshot, once the keyed state is restored and the operator is open."""
        for timestamp, key, window in timers:
            self.timers.event_timers.add(timestamp, key, window)

    def _on_event_time(self, timestamp: int, key: Any, window: Any) -> None:
        self._on_timer(timestamp, key, window, is_event_time=True)

    def _on_processing_time(self, timestamp: int, key: Any, window: Any) -> None:
        self._on_timer(timestamp, key, window, is_event_time=False)
        if self._results.values and not self._is_flush_due:
            # Timers that are due together give one run: the flush is the next thing to happen after the last of them.
            self._is_flush_due = True
            self.context.processing_time.schedule(MIN_TIMESTAMP, noting(self, self._flush_fired))

    def _flush_fired(self, _: int) -> None:
        self._is_flush_due = False
        self._flush()

    def _on_timer(self, timestamp: int, key: Any, window: Any, *, is_event_time: bool) -> None:
        self.context.keys.key = key
        state_window = window if self._merging is None else self._merging.state_window(window)
        if state_window is None:
            return  # the window has become part of another one, whose own timers count
        self._trigger_context.window = window
        on_timer = self._trigger.on_event_time if is_event_time else self._trigger.on_processing_time
        answer = on_timer(timestamp, window, self._trigger_context)
        is_last = is_event_time == self._is_event_time and timestamp == self._cleanup_time(window)
        if answer is not _CONTINUE:
            self._act(answer, window, state_window, is_last=is_last)
        if is_last:
            self._remove(window, state_window)

    def _on_merge(
        self, window: Any, replaced: Sequence[Any], state_window: Any, other_state_windows: Sequence[Any]
    ) -> None:
        self._check_still_open(window)
        trigger, context = self._trigger, self._trigger_context
        context.window = window
        context.merged_windows = replaced
        trigger.on_merge(window, context)
        for part in replaced:
            if part != window:
                context.window = part
                trigger.clear(part, context)
                self._delete_cleanup(self._cleanup_time(part))
                context.forget(part)
        if other_state_windows:
            self._contents.merge(state_window, other_state_windows)

    def _check_still_open(self, window: Any) -> None:
        if self._is_event_time:
            is_over = self._cleanup_time(window) <= self.timers.current_watermark
        else:
            is_over = window.max_timestamp() <= self.timers.current_processing_time()
        if is_over:
            message = (
                f"The assigner of step {self.context.info.name!r} merged windows into {window!r}, which is over. A"
                " merged window must reach at least as far as the windows it is made of; correct merge_windows()."
            )
            raise ProgramError(message)

    def _act(self, answer: TriggerResult, window: Any, state_window: Any, *, is_last: bool = False) -> None:
        """Do what the trigger wants; ``is_last`` says that the window goes away right after."""
        if not isinstance(answer, TriggerResult):
            raise no_trigger_result(self._trigger, answer, window)
        if answer.is_fire():
            if self.step.evictor is None:
                elements = self._contents.get(state_window)
                if elements is not None:
                    if not is_last and not answer.is_purge() and self.step.function is not None:
                        # The function may change what it is given, and the window will be seen again.
                        elements = self._copied_run(elements)
                    self._emit_window(window, self._evaluate(window, elements))
            else:
                self._fire_evicting(window, state_window)
        if answer.is_purge():
            self._contents.clear(state_window)
            self._trigger_context.forget(window)

    def _fire_evicting(self, window: Any, state_window: Any) -> None:
        contents, context, evictor = self._contents, self._trigger_context, self.step.evictor
        assert isinstance(contents, TimestampedContents)
        elements = contents.get(state_window)
        if elements is None:
            return
        evictor.evict_before(elements, len(elements), window, context)
        values = self._copied_run([element.value for element in elements])
        if self._accumulation is not None:
            values = self._accumulation.accumulate(values)
        if values or self._accumulation is None:
            self._emit_window(window, self._evaluate(window, values))
        evictor.evict_after(elements, len(elements), window, context)
        contents.replace(state_window, elements)

    def _emit_window(self, window: Any, results: Any) -> None:
        """Note the results of a window; they carry its last timestamp."""
        if results is not None:
            pending = self._results
            gather_all(results, window.max_timestamp(), pending.values, pending.times, protects=self.protects)
            if pending.are_many:
                pending.emit()

    def _flush(self) -> None:
        """Emit what has fired, as one run."""
        self._results.emit()
        self._late.flush()

    def _remove(self, window: Any, state_window: Any) -> None:
        """End a window: nothing of it stays."""
        self._contents.clear(state_window)
        self._trigger.clear(window, self._trigger_context)
        self._trigger_context.forget(window)
        self._clear_function(window)
        if self._merging is not None:
            self._merging.retire(window)

    def _clear_function(self, window: Any) -> None:
        if self._frees_state:
            function: ProcessWindowFunction[Any, Any, Any, Any] | ProcessAllWindowFunction[Any, Any, Any] = (
                self.step.function
            )
            self._window_context.current_window = window
            function.clear(self._window_context)
        self._window_context.forget(window)

    def _cleanup_time(self, window: Any) -> int:
        time: int = window.max_timestamp() + self._lateness
        return time if time < MAX_TIMESTAMP else MAX_TIMESTAMP

    def _register_cleanup(self, time: int) -> None:
        """Have the trigger context's window removed at a time; at the end of time there is nothing to do."""
        if time != MAX_TIMESTAMP:
            context = self._trigger_context
            if self._is_event_time:
                context.register_event_time_timer(time)
            else:
                context.register_processing_time_timer(time)

    def _delete_cleanup(self, time: int) -> None:
        context = self._trigger_context
        if self._is_event_time:
            context.delete_event_time_timer(time)
        else:
            context.delete_processing_time_timer(time)

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        shown = repr(value)
        return MissingTimestampError(
            f"Step {self.context.info.name!r} works in event time ({self.step.assigner!r}), but got a record without"
            f" a timestamp: {shown if len(shown) <= 200 else shown[:200] + '...'}. Call"
            " assign_timestamps_and_watermarks() with a strategy that has a timestamp assigner before the window, or"
            " use windows in processing time."
        )


class _AssignerContext(WindowAssigner.WindowAssignerContext):
    """What a window assigner may ask."""

    def __init__(self, context: OperatorContext, timers: InternalTimers) -> None:
        self._runtime_context = FunctionContext(context)
        self._timers = timers

    def get_current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._timers.current_processing_time()

    def get_runtime_context(self) -> FunctionContext:
        """Return the context of the subtask; its state belongs to the record's key."""
        return self._runtime_context
