"""The operators of ``ProcessFunction`` and ``KeyedProcessFunction``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import noting
from penstock.runtime.calls.context_access import ContextAccess
from penstock.runtime.calls.functions import ListCollector, takes_collector
from penstock.runtime.calls.record_calls import call_for_timers, gather_all
from penstock.runtime.calls.sliced_calls import SlicedCallsOperator
from penstock.runtime.exchange.key_functions import keys_of
from penstock.runtime.interpreter_tricks.last_yield import returning
from penstock.runtime.time.timer_service import KeyedTimerService, UnkeyedTimerService
from penstock.runtime.time.timers import InternalTimers, one_by_one
from penstock.vocabulary.functions.process import KeyedProcessFunction
from penstock.vocabulary.settings.modes import TimeDomain

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.calls.results import PendingResults
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.time.timers import Bucket
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["KeyedProcessOperator", "ProcessOperator", "RecordContext", "TimerContext", "with_collector"]


class RecordContext(ContextAccess, KeyedProcessFunction.Context):
    """What a process function sees while it handles a record."""

    __slots__ = ("results",)

    results: PendingResults
    """What the function has emitted so far."""

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output, behind what was emitted before it."""
        self.results.emit_aside(output_tag, value, self.time)


class TimerContext(RecordContext, KeyedProcessFunction.OnTimerContext):
    """What a process function sees while a timer fires."""

    __slots__ = ("domain",)

    domain: TimeDomain

    def time_domain(self) -> TimeDomain:
        """Return whether the timer is one of event time or of processing time."""
        return self.domain


class ProcessOperator(SlicedCallsOperator):
    """A process function on a stream without keys."""

    _call: Callable[..., Any]

    def open(self) -> None:
        """Prepare the context and resolve the function."""
        info = self.context.info
        self._service = UnkeyedTimerService(self.context.clock, info.name)
        self._record = RecordContext(self.output, self._service, self.context.keys)
        self._record.results = self.results
        super().open()
        self._call = returning(with_collector(self.function.process_element, 2, self.results))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through the function."""
        self.put_through(self._call, values, timestamps, self._record, None)

    def on_watermark(self, timestamp: int) -> None:
        """Remember event time for the function's context."""
        self._service.watermark = timestamp
        self.output.emit_watermark(timestamp)


class KeyedProcessOperator(SlicedCallsOperator):
    """A process function on a keyed stream: with state, timers and the current key."""

    timers: InternalTimers
    _call: Callable[..., Any]
    _call_timer: Callable[..., Any]

    def __init__(self, function: Any, key: Callable[[Any], Any]) -> None:
        super().__init__(function)
        self._keys_of = keys_of(key)

    def open(self) -> None:
        """Prepare timers and contexts and resolve the function."""
        context = self.context
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=self._on_event_time,
            on_processing_time=noting(self, one_by_one(self._on_processing_time)),
        )
        self._make_contexts(KeyedTimerService(self.timers))
        self._record.results = self._timer.results = self.results
        super().open()
        self._resolve()
        self._call_timer = returning(with_collector(self.function.on_timer, 2, self.results))

    def _make_contexts(self, service: KeyedTimerService) -> None:
        """Make what the function sees."""
        self._record = RecordContext(self.output, service, self.context.keys)
        self._timer = TimerContext(self.output, service, self.context.keys)

    def _resolve(self) -> None:
        """Find what is called for a record."""
        self._call = returning(with_collector(self.function.process_element, 2, self.results))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through the function, with its key current."""
        self.put_through(self._call, values, timestamps, self._record, self._keys_of(values))

    def on_watermark(self, timestamp: int) -> None:
        """Fire event-time timers; their results go out before the watermark."""
        self.results.begin(has_timestamps=True)
        try:
            self.timers.advance_watermark(timestamp)
        finally:
            self.results.emit()
        self.output.emit_watermark(timestamp)

    def end_key(self) -> None:
        """Fire all timers of the key; those of event time first."""
        self.results.begin(has_timestamps=True)
        try:
            self.timers.end_event_time()
        finally:
            self.results.emit()
        self.timers.end_processing_time()
        self.timers.begin_key()

    def _on_event_time(self, timestamp: int, bucket: Bucket) -> None:
        context, results = self._timer, self.results
        context.domain = TimeDomain.EVENT_TIME
        assert results.times is not None
        call_for_timers(
            self._call_timer,
            timestamp,
            bucket,
            context,
            self.context.keys,
            results.values,
            results.times,
            protects=self.protects,
        )
        if results.are_many:
            results.emit()

    def _on_processing_time(self, timestamp: int, key: Any, _: Any) -> None:
        if self.unfinished:
            self.unfinished.append(partial(self._on_due, timestamp, key))
        else:
            self._on_due(timestamp, key)

    def _on_due(self, timestamp: int, key: Any) -> None:
        self.context.keys.key = key
        context, results = self._timer, self.results
        context.time = timestamp
        context.domain = TimeDomain.PROCESSING_TIME
        results.begin(has_timestamps=False)
        try:
            found = self._call_timer(timestamp, context)
            if found is not None:
                gather_all(found, None, results.values, None, protects=self.protects)
        finally:
            results.emit()


def with_collector(
    call: Callable[..., Any], arguments: int, pending: PendingResults | None = None
) -> Callable[..., Any]:
    """Return the function itself, or, if it takes a collector as in Java, one that returns what was collected."""
    return ListCollector.wrap(call, pending) if takes_collector(call, arguments) else call
