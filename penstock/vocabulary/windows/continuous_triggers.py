"""Triggers that fire more than once in a window's life: at intervals, on change, or after a timeout."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.windows.delta_function import DeltaFunction, as_delta, checked_delta
from penstock.vocabulary.windows.triggers import Trigger, TriggerResult
from penstock.vocabulary.windows.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.state.handles import ReducingState
    from penstock.vocabulary.time.durations import TimeLength
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "DeltaTrigger",
    "Min",
    "ProcessingTimeoutTrigger",
]

T = TypeVar("T")
W = TypeVar("W")

_CONTINUE = TriggerResult.CONTINUE
_FIRE = TriggerResult.FIRE


class Min(ReduceFunction[int]):
    """Keeps the smaller of two numbers: of several merged windows, the next firing is the earliest."""

    def reduce(self, value1: int, value2: int) -> int:
        """Return the smaller number."""
        return min(value1, value2)


class _IntervalTrigger(Trigger[Any, Window]):
    """Remembers, per key and window, the time of the next firing; subclasses say by which clock."""

    def __init__(self, interval: TimeLength) -> None:
        self.interval = to_millis(interval)
        if self.interval <= 0:
            msg = f"{type(self).__name__} needs an interval of at least 1 millisecond, but got {interval!r}."
            raise ProgramError(msg)
        self._fire_time = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    @abstractmethod
    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Set the timer one interval after ``time``, or at the end of the window if that is earlier."""

    @staticmethod
    @abstractmethod
    def _register_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        """Set a timer of the trigger's clock."""

    @staticmethod
    @abstractmethod
    def _delete_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        """Delete a timer of the trigger's clock."""

    def can_merge(self) -> bool:
        """Say yes."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Take over the earliest firing of the merged windows."""
        ctx.merge_partitioned_state(self._fire_time)
        next_fire_time = ctx.get_partitioned_state(self._fire_time).get()
        if next_fire_time is not None:
            self._register_timer(next_fire_time, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer and forget the next firing."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        next_fire_time = fire_time.get()
        if next_fire_time is not None:
            self._delete_timer(next_fire_time, ctx)
            fire_time.clear()

    def _on_interval(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire if this is the time that was set, and set the next."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return _CONTINUE
        fire_time.clear()
        self.register_next_fire_timestamp(time, window, ctx, fire_time)
        return _FIRE

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_IntervalTrigger):
    """Fires whenever the watermark passes a multiple of ``interval``, and at the end of the window.

    One jump of the watermark over several multiples fires once for each: every firing sets the timer of the next.
    At the end of a bounded input that is every interval that is left of the window.

    Example:
        >>> ContinuousEventTimeTrigger.of(10_000)
        ContinuousEventTimeTrigger(10000)
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousEventTimeTrigger:
        """Create a trigger that fires every ``interval`` of event time."""
        return ContinuousEventTimeTrigger(interval)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Set the timers for the end of the window and the next multiple, or fire if the window has ended."""
        last_moment = window.max_timestamp()
        if last_moment <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(last_moment)
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() is None:
            self.register_next_fire_timestamp(timestamp - timestamp % self.interval, window, ctx, fire_time)
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the time that was set and set the next, or fire for the last time."""
        if time == window.max_timestamp():
            return _FIRE
        return self._on_interval(time, window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the next firing and delete its timer, but not that of the window's end.

        A trigger around this one may only want to start it anew: the window goes on and has to end.
        """
        fire_time = ctx.get_partitioned_state(self._fire_time)
        next_fire_time = fire_time.get()
        if next_fire_time is not None:
            if next_fire_time != window.max_timestamp():
                self._delete_timer(next_fire_time, ctx)
            fire_time.clear()

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Set the timer one interval after ``time``, or at the end of the window if that is earlier."""
        next_fire_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire_time)
        self._register_timer(next_fire_time, ctx)

    @staticmethod
    def _register_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    @staticmethod
    def _delete_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_IntervalTrigger):
    """Fires whenever the clock passes a multiple of ``interval``, and at the end of the window.

    Example:
        >>> ContinuousProcessingTimeTrigger.of(10_000)
        ContinuousProcessingTimeTrigger(10000)
    """

    @staticmethod
    def of(interval: TimeLength) -> ContinuousProcessingTimeTrigger:
        """Create a trigger that fires every ``interval`` of the clock."""
        return ContinuousProcessingTimeTrigger(interval)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Set the timer for the next multiple if none is set."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, fire_time)
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the time that was set and set the next, unless the clock has passed the end of the window."""
        fire_time = ctx.get_partitioned_state(self._fire_time)
        if fire_time.get() != time:
            return _CONTINUE
        fire_time.clear()
        if time < window.max_timestamp():
            now = ctx.get_current_processing_time()
            # Where the clock was set back since, counting on from the time that was set would wait for it to come back.
            base = time if now >= time else now - now % self.interval
            self.register_next_fire_timestamp(base, window, ctx, fire_time)
        # A window in event time lives on, with an end that lies behind the clock: each record fires once more.
        return _FIRE

    def register_next_fire_timestamp(
        self, time: int, window: Window, ctx: Trigger.TriggerContext, fire_timestamp_state: ReducingState[int]
    ) -> None:
        """Set the timer one interval after ``time``, or at the end of the window if that is earlier."""
        next_fire_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire_time)
        self._register_timer(next_fire_time, ctx)

    @staticmethod
    def _register_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    @staticmethod
    def _delete_timer(time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


class DeltaTrigger(Trigger[Any, Window]):
    """Fires when a record is further than ``threshold`` from the one that fired last.

    The first record of a window only sets the point to measure from.

    Example:
        >>> DeltaTrigger.of(5.0, lambda older, newer: newer - older).threshold
        5.0
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        type_info: TypeInformation | None = None,
    ) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self._delta = as_delta(delta_function)
        self._last_element: ValueStateDescriptor[Any] = ValueStateDescriptor(
            "last-element", type_info or Types.PICKLED_BYTE_ARRAY()
        )

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        type_info: TypeInformation | None = None,
    ) -> DeltaTrigger:
        """Create a trigger that fires on changes larger than ``threshold``; ``type_info`` is that of the records."""
        return DeltaTrigger(threshold, delta_function, type_info)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Measure the distance and fire if it is too large."""
        state = ctx.get_partitioned_state(self._last_element)
        last = state.value()
        if last is None:
            state.update(element)
            return _CONTINUE
        if checked_delta(self._delta(last, element), self._delta, element) > self.threshold:
            state.update(element)
            return _FIRE
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the point to measure from."""
        ctx.get_partitioned_state(self._last_element).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self.delta_function!r}, {self.threshold})"


class ProcessingTimeoutTrigger(Trigger[T, W]):
    """Fires when the trigger inside fires, or when ``timeout`` has passed on the clock since a record came.

    The timeout runs from the first record after the last firing, or from the latest record if
    ``reset_timer_on_new_record`` is set. With ``should_clear_on_timeout`` the trigger inside starts anew after a
    timeout; otherwise it goes on from where it was, and no new timeout runs before it has fired itself.

    Example:
        >>> from penstock.vocabulary.windows.triggers import CountTrigger
        >>> ProcessingTimeoutTrigger.of(CountTrigger.of(100), 5000)
        ProcessingTimeoutTrigger(CountTrigger(100), 5000)
    """

    def __init__(
        self,
        nested_trigger: Trigger[T, W],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,  # noqa: FBT001, FBT002 - Flink's signature
        should_clear_on_timeout: bool = True,  # noqa: FBT001, FBT002 - Flink's signature
    ) -> None:
        self.nested_trigger = nested_trigger
        self.timeout = to_millis(timeout)
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout
        self._timeout_time: ValueStateDescriptor[int] = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[T, W],
        timeout: TimeLength,
        reset_timer_on_new_record: bool = False,  # noqa: FBT001, FBT002 - Flink's signature
        should_clear_on_timeout: bool = True,  # noqa: FBT001, FBT002 - Flink's signature
    ) -> ProcessingTimeoutTrigger[T, W]:
        """Create a trigger that adds a timeout to another one."""
        return ProcessingTimeoutTrigger(nested_trigger, timeout, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Ask the trigger inside; if that does not fire, start or renew the timeout."""
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._timeout_time)
        running = state.value()
        if running is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(running)
            running = None
        if running is None:
            timeout_time = ctx.get_current_processing_time() + self.timeout
            state.update(timeout_time)
            ctx.register_processing_time_timer(timeout_time)
        return result

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire, because a timer of the window ended, and purge if the trigger inside wants it."""
        return self._fire(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire, because the timeout or a timer of the window ended, and purge if the trigger inside wants it."""
        return self._fire(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def _fire(self, nested_result: TriggerResult, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if nested_result.is_purge() else _FIRE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Stop the timeout and clear the trigger inside."""
        state = ctx.get_partitioned_state(self._timeout_time)
        running = state.value()
        if running is not None:
            ctx.delete_processing_time_timer(running)
            state.clear()
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self.nested_trigger!r}, {self.timeout})"
