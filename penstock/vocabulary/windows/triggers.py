"""Triggers: what decides when a window is evaluated and when its contents are dropped.

A trigger sees every record that enters a window and every timer it has set for that window, and answers with a
``TriggerResult``. It keeps nothing in itself: one trigger object serves all keys and windows of a subtask, and what
it must remember lives in the state its context hands out.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.state.descriptors import ReducingStateDescriptor
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.windows.windows import GlobalWindow, TimeWindow, Window

if TYPE_CHECKING:
    from penstock.vocabulary.state.descriptors import StateDescriptor

__all__ = [
    "CountTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
    "Trigger",
    "TriggerResult",
]

T = TypeVar("T")
W = TypeVar("W")


class TriggerResult(Enum):
    """What happens to a window after its trigger was asked.

    ``CONTINUE`` does nothing, ``FIRE`` evaluates the window and keeps its contents, ``PURGE`` drops the contents
    without evaluating them, ``FIRE_AND_PURGE`` evaluates and then drops. An empty window is never evaluated.
    """

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def __init__(self, fire: bool, purge: bool) -> None:  # noqa: FBT001 - called by Enum with the values above
        self._fire = fire
        self._purge = purge

    def is_fire(self) -> bool:
        """Tell whether the window is evaluated."""
        return self._fire

    def is_purge(self) -> bool:
        """Tell whether the contents of the window are dropped."""
        return self._purge


_CONTINUE = TriggerResult.CONTINUE
_FIRE = TriggerResult.FIRE


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated; subclass it for a rule of your own.

    To be used with session windows a trigger returns True from ``can_merge`` and implements ``on_merge``.
    """

    class TriggerContext(ABC):
        """Time, timers and state of the key and window that a trigger is asked about."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the clock's time."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """Return the metric group of the window step."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """Return the event time that this subtask has reached."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Ask for ``on_processing_time`` when the clock reaches ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Ask for ``on_event_time`` when the watermark reaches ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete the processing-time timer of that time; without such a timer nothing happens."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete the event-time timer of that time; without such a timer nothing happens."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """Return the state of this key and window that the descriptor names."""

    class OnMergeContext(TriggerContext):
        """What a trigger gets when windows have been merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Move the named state of the merged windows into the new one; it must be a mergeable kind of state."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when a record enters the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when a processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Decide what happens when an event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Tell whether the trigger works with windows that merge, as sessions do."""
        return False

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Take note that several windows have become ``window``: merge their state, set the timers anew."""
        msg = (
            f"{type(self).__name__} cannot be used with windows that merge, such as session windows. Use another "
            "trigger, or let it return True from can_merge() and implement on_merge()."
        )
        raise ProgramError(msg)

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Take note that the window goes away: delete the timers and the state that are still there."""


class EventTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the watermark passes the end of the window, and at once for each record that comes later."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """Create the trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Fire if the window has already ended, otherwise waits for its end."""
        last_moment = window.max_timestamp()
        if last_moment <= ctx.get_current_watermark():
            return _FIRE
        ctx.register_event_time_timer(last_moment)
        return _CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window."""
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def can_merge(self) -> bool:
        """Say yes."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the merged window.

        If that has passed, no timer is needed: the record that caused the merge fires the window right after.
        """
        last_moment = window.max_timestamp()
        if last_moment > ctx.get_current_watermark():
            ctx.register_event_time_timer(last_moment)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EventTimeTrigger()"


class ProcessingTimeTrigger(Trigger[Any, TimeWindow]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """Create the trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire."""
        return _FIRE

    def can_merge(self) -> bool:
        """Say yes."""
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the merged window, if that is still to come."""
        last_moment = window.max_timestamp()
        if last_moment > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(last_moment)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "ProcessingTimeTrigger()"


class CountTrigger(Trigger[Any, Window]):
    """Fires whenever ``window_size`` records have entered the window since the last firing.

    Example:
        >>> CountTrigger.of(100)
        CountTrigger(100)
    """

    def __init__(self, window_size: int) -> None:
        if window_size < 1:
            msg = f"CountTrigger cannot fire every {window_size} records; give a number of 1 or more."
            raise ProgramError(msg)
        self.window_size = window_size
        self._count = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """Create a trigger that fires every ``window_size`` records."""
        return CountTrigger(window_size)

    def on_element(self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Count the record and fire when the count is reached."""
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if count.get() >= self.window_size:
            count.clear()
            return _FIRE
        return _CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def can_merge(self) -> bool:
        """Say yes."""
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        """Add the counts of the merged windows up."""
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        """Forget the count."""
        ctx.get_partitioned_state(self._count).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self.window_size})"


class PurgingTrigger(Trigger[T, W]):
    """Drops the contents of the window whenever the trigger inside fires.

    Example:
        >>> PurgingTrigger.of(CountTrigger.of(2))
        PurgingTrigger(CountTrigger(2))
    """

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, W]) -> PurgingTrigger[T, W]:
        """Create a purging trigger from another one."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Turn a firing into a purging one."""
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Turn a firing into a purging one."""
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Turn a firing into a purging one."""
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        """Say what the trigger inside says."""
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Pass the call on."""
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """Pass the call on."""
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class NeverTrigger(Trigger[Any, GlobalWindow]):
    """Never fires; what ``GlobalWindows`` uses unless another trigger is set."""

    def on_element(
        self, element: Any, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_processing_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Do nothing."""
        return _CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing: there is no state to merge."""

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Do nothing: there is neither state nor timer."""

    def __repr__(self) -> str:
        return "NeverTrigger()"


class EndOfStreamTrigger(NeverTrigger):
    """Fires once, when a bounded input has ended."""

    def on_element(
        self, element: Any, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """Wait for the last watermark."""
        ctx.register_event_time_timer(window.max_timestamp())
        return _CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of time."""
        return _FIRE if time == window.max_timestamp() else _CONTINUE

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Delete the timer."""
        ctx.delete_event_time_timer(window.max_timestamp())

    def __repr__(self) -> str:
        return "EndOfStreamTrigger()"
