"""The operators of ``ProcessFunction`` and ``KeyedProcessFunction``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.runtime.functions import ListCollector, takes_collector
from penstock.runtime.key_functions import keys_of
from penstock.runtime.stateless import FunctionOperator
from penstock.runtime.tagged import emit_results
from penstock.runtime.timer_service import KeyedTimerService, UnkeyedTimerService
from penstock.runtime.timers import InternalTimers
from penstock.vocabulary.process_functions import KeyedProcessFunction
from penstock.vocabulary.runtime_mode import TimeDomain

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.elements import Timestamps, Values
    from penstock.runtime.output import Output
    from penstock.statestore.backend import KeyContext
    from penstock.vocabulary.output_tag import OutputTag
    from penstock.vocabulary.timer_service import TimerService

__all__ = ["KeyedProcessOperator", "ProcessOperator", "RecordContext", "TimerContext", "with_collector"]


class RecordContext(KeyedProcessFunction.Context):
    """What a process function sees while it handles a record; one object, renewed for each record."""

    __slots__ = ("_keys", "_output", "_service", "time")

    def __init__(self, output: Output, service: TimerService, keys: KeyContext) -> None:
        self._output = output
        self._service = service
        self._keys = keys
        self.time: int | None = None

    def timestamp(self) -> int | None:
        """Return the event time of the record or of the firing timer."""
        return self.time

    def timer_service(self) -> TimerService:
        """Return access to time and timers."""
        return self._service

    def get_current_key(self) -> Any:
        """Return the key of the record or timer."""
        return self._keys.key

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output."""
        time = self.time
        self._output.side(output_tag.tag_id)([value], None if time is None else [time])


class TimerContext(RecordContext, KeyedProcessFunction.OnTimerContext):
    """What a process function sees while a timer fires."""

    __slots__ = ("domain",)

    domain: TimeDomain

    def time_domain(self) -> TimeDomain:
        """Return whether the timer is one of event time or of processing time."""
        return self.domain


class ProcessOperator(FunctionOperator):
    """A process function on a stream without keys."""

    _call: Callable[..., Any]

    def open(self) -> None:
        """Prepare the context and resolve the function."""
        info = self.context.info
        self._service = UnkeyedTimerService(self.context.clock, info.name)
        self._record = RecordContext(self.output, self._service, self.context.keys)
        super().open()
        self._call = with_collector(self.function.process_element, 2)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through the function."""
        call, context = self._call, self._record
        results: Values = []
        add = results.append  # extend() would make room for eight results of every generator, and take it back
        times: Timestamps = None
        if timestamps is None:
            context.time = None
            for value in values:
                found = call(value, context)
                if found is not None:
                    for result in found:
                        add(result)
        else:
            times = []
            add_time = times.append
            for value, timestamp in zip(values, timestamps, strict=True):
                context.time = timestamp
                found = call(value, context)
                if found is not None:
                    for result in found:
                        add(result)
                        add_time(timestamp)
        if results:
            emit_results(self.output, results, times)

    def process_watermark(self, timestamp: int) -> None:
        """Remember event time for the function's context."""
        self._service.watermark = timestamp
        self.output.emit_watermark(timestamp)


class KeyedProcessOperator(FunctionOperator):
    """A process function on a keyed stream: with state, timers and the current key."""

    _call: Callable[..., Any]
    _call_timer: Callable[..., Any]

    def __init__(self, function: Any, key: Callable[[Any], Any]) -> None:
        super().__init__(function)
        self._key: Callable[[Any], Any] = key
        self._keys_of = keys_of(key)

    def open(self) -> None:
        """Prepare timers and contexts and resolve the function."""
        context = self.context
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=self._on_event_time,
            on_processing_time=self._on_processing_time,
        )
        self._fired: Values = []
        self._fired_times: list[int] = []
        self._make_contexts(KeyedTimerService(self.timers))
        super().open()
        self._resolve()
        self._call_timer = with_collector(self.function.on_timer, 2)

    def _make_contexts(self, service: KeyedTimerService) -> None:
        """Make what the function sees."""
        self._record = RecordContext(self.output, service, self.context.keys)
        self._timer = TimerContext(self.output, service, self.context.keys)

    def _resolve(self) -> None:
        """Find what is called for a record."""
        self._call = with_collector(self.function.process_element, 2)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put each record through the function, with its key current."""
        call, context, keys = self._call, self._record, self.context.keys
        results: Values = []
        add = results.append
        times: Timestamps = None
        if timestamps is None:
            context.time = None
            for value, keys.key in zip(values, self._keys_of(values), strict=True):
                found = call(value, context)
                if found is not None:
                    for result in found:
                        add(result)
        else:
            times = []
            add_time = times.append
            for value, keys.key, context.time in zip(values, self._keys_of(values), timestamps, strict=True):
                found = call(value, context)
                if found is not None:
                    timestamp = context.time
                    for result in found:
                        add(result)
                        add_time(timestamp)
        if results:
            emit_results(self.output, results, times)

    def process_watermark(self, timestamp: int) -> None:
        """Fire event-time timers; their results go out before the watermark."""
        self.timers.advance_watermark(timestamp)
        if self._fired:
            fired, times = self._fired, self._fired_times
            self._fired, self._fired_times = [], []
            emit_results(self.output, fired, times)
        self.output.emit_watermark(timestamp)

    def _on_event_time(self, timestamp: int, key: Any, _: Any) -> None:
        self.context.keys.key = key
        context = self._timer
        context.time = timestamp
        context.domain = TimeDomain.EVENT_TIME
        found = self._call_timer(timestamp, context)
        if found is not None:
            for result in found:
                self._fired.append(result)
                self._fired_times.append(timestamp)

    def _on_processing_time(self, timestamp: int, key: Any, _: Any) -> None:
        self.context.keys.key = key
        context = self._timer
        context.time = timestamp
        context.domain = TimeDomain.PROCESSING_TIME
        found = self._call_timer(timestamp, context)
        results = [] if found is None else list(found)
        if results:
            emit_results(self.output, results, None)


def with_collector(call: Callable[..., Any], arguments: int) -> Callable[..., Any]:
    """Return the function itself, or, if it takes a collector as in Java, one that returns what was collected."""
    return ListCollector.wrap(call) if takes_collector(call, arguments) else call
