"""PyFlink's count windows, by name: windows numbered in the order of a key's records.

They evaluate full windows only. ``KeyedStream.count_window`` follows Java's rule instead, which for sliding windows
evaluates after every ``slide`` records whatever the last ``size`` of them are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.state.descriptors import ValueStateDescriptor
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.windows.assigners import WindowAssigner, check_overlap
from penstock.vocabulary.windows.serializers import CountWindowSerializer
from penstock.vocabulary.windows.triggers import CountTrigger, PurgingTrigger
from penstock.vocabulary.windows.windows import CountWindow

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.vocabulary.types.serializer import TypeSerializer
    from penstock.vocabulary.windows.triggers import Trigger

__all__ = ["CountSlidingWindowAssigner", "CountTumblingWindowAssigner"]


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Numbers the records of each key."""

    def __init__(self, window_size: int, window_slide: int, state_name: str) -> None:
        if window_size < 1 or window_slide < 1:
            msg = (
                f"{type(self).__name__} needs a size and a slide of at least one record, but got size {window_size} "
                f"and slide {window_slide}."
            )
            raise ProgramError(msg)
        check_overlap(self, window_size, window_slide, "records")
        self.window_size = window_size
        self.window_slide = window_slide
        self._count: ValueStateDescriptor[int] = ValueStateDescriptor(state_name, Types.LONG())

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """Return the windows that contain the number of this record, the latest first."""
        state = context.get_runtime_context().get_state(self._count)
        position = state.value() or 0
        state.update(position + 1)
        latest = position // self.window_slide
        too_early = max((position - self.window_size) // self.window_slide, -1)
        return [CountWindow(number) for number in range(latest, too_early, -1)]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires when the window is full.

        It also drops the records: a full window gets no more of them, and nothing else would ever remove it.
        """
        return PurgingTrigger(CountTrigger(self.window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """Return the serializer of count windows."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """Say no."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Puts every ``window_size`` records of a key into a window of their own.

    Example:
        >>> CountTumblingWindowAssigner.of(3)
        CountTumblingWindowAssigner(3)
    """

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, window_size, "tumble-count-assigner")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Create windows of ``window_size`` records."""
        return CountTumblingWindowAssigner(window_size)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Starts a window of ``window_size`` records after every ``window_slide`` records of a key.

    Example:
        >>> CountSlidingWindowAssigner.of(3, 2)
        CountSlidingWindowAssigner(3, 2)
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, window_slide, "slide-count-assigner")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Create windows of ``window_size`` records, one per ``window_slide`` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"
