"""Evictors: what takes records out of a window around its evaluation.

An evictor sees the records of a firing window as a list, in the order in which they arrived, and removes from
that list what it does not want: before the window function runs, after it, or both. What is removed is gone from
the window. A window with an evictor keeps every record, even under ``reduce`` and ``aggregate``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.windows.delta_function import DeltaFunction, as_delta, checked_delta
from penstock.vocabulary.windows.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["CountEvictor", "DeltaEvictor", "Evictor", "TimeEvictor", "TimestampedValue"]

T = TypeVar("T")
W = TypeVar("W")


@dataclass(slots=True)
class TimestampedValue(Generic[T]):
    """A record in a window, with its timestamp in milliseconds or None if it has none."""

    value: T
    timestamp: int | None = None

    def get_value(self) -> T:
        """Return the record."""
        return self.value

    def get_timestamp(self) -> int | None:
        """Return the timestamp."""
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Tell whether the record has a timestamp."""
        return self.timestamp is not None


class Evictor(ABC, Generic[T, W]):
    """Removes records from a window before or after the window function runs."""

    class EvictorContext(ABC):
        """What an evictor may ask while it works."""

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
    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove from ``elements`` what the window function must not see."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, ctx: Evictor.EvictorContext
    ) -> None:
        """Remove from ``elements`` what the next firing must not see."""


class _OneSidedEvictor(Evictor[Any, Window]):
    """Runs one rule either before or after the window function."""

    def __init__(self, *, do_evict_after: bool) -> None:
        self.do_evict_after = do_evict_after

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[Any]], size: int) -> None: ...

    def evict_before(
        self, elements: list[TimestampedValue[Any]], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Apply the rule unless it is meant for after the window function."""
        if not self.do_evict_after:
            self._evict(elements, size)

    def evict_after(
        self, elements: list[TimestampedValue[Any]], size: int, window: Window, ctx: Evictor.EvictorContext
    ) -> None:
        """Apply the rule if it is meant for after the window function."""
        if self.do_evict_after:
            self._evict(elements, size)


class CountEvictor(_OneSidedEvictor):
    """Keeps the last ``max_count`` records.

    Example:
        >>> CountEvictor.of(3)
        CountEvictor(3)
    """

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002 - Flink's signature
        super().__init__(do_evict_after=do_evict_after)
        if max_count < 0:
            msg = f"CountEvictor cannot keep {max_count} records; give a number of 0 or more."
            raise ProgramError(msg)
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:  # noqa: FBT001, FBT002 - Flink's signature
        """Create an evictor that keeps the last ``max_count`` records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]], size: int) -> None:
        if size > self.max_count:
            del elements[: size - self.max_count]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"


class TimeEvictor(_OneSidedEvictor):
    """Keeps the records younger than the window's latest timestamp minus ``window_size``.

    Records without timestamps are all kept.

    Example:
        >>> TimeEvictor.of(10_000)
        TimeEvictor(10000)
    """

    def __init__(self, window_size: TimeLength, do_evict_after: bool = False) -> None:  # noqa: FBT001, FBT002 - Flink's signature
        super().__init__(do_evict_after=do_evict_after)
        self.window_size = to_millis(window_size)

    @staticmethod
    def of(window_size: TimeLength, do_evict_after: bool = False) -> TimeEvictor:  # noqa: FBT001, FBT002 - Flink's signature
        """Create an evictor that keeps what is at most ``window_size`` old, by event time."""
        return TimeEvictor(window_size, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]], size: int) -> None:
        timestamps = [element.timestamp for element in elements if element.timestamp is not None]
        if len(timestamps) < len(elements) or not timestamps:
            return
        cutoff = max(timestamps) - self.window_size
        elements[:] = [element for element, stamp in zip(elements, timestamps, strict=True) if stamp > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"


class DeltaEvictor(_OneSidedEvictor):
    """Removes the records whose distance to the last one is ``threshold`` or more.

    Example:
        >>> DeltaEvictor.of(5.0, lambda older, newer: abs(newer - older)).threshold
        5.0
    """

    def __init__(
        self,
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        do_evict_after: bool = False,  # noqa: FBT001, FBT002 - Flink's signature
    ) -> None:
        super().__init__(do_evict_after=do_evict_after)
        self.threshold = threshold
        self.delta_function = delta_function
        self._delta = as_delta(delta_function)

    @staticmethod
    def of(
        threshold: float,
        delta_function: DeltaFunction[Any] | Callable[[Any, Any], float],
        do_evict_after: bool = False,  # noqa: FBT001, FBT002 - Flink's signature
    ) -> DeltaEvictor:
        """Create an evictor that keeps records nearer than ``threshold`` to the last one."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]], size: int) -> None:
        if not elements:
            return
        last = elements[-1].value
        delta, threshold = self._delta, self.threshold
        elements[:] = [each for each in elements if checked_delta(delta(each.value, last), delta, last) < threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.delta_function!r}, {self.threshold})"
