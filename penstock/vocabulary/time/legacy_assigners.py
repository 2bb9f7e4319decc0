"""Flink's older interfaces, which assign timestamps and make watermarks in one object.

``WatermarkStrategy.for_legacy_assigner`` turns each of them into a strategy, so that the runtime knows strategies only.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.foundation.failure_context import NO_RECORD
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.time.generators import MIN_TIMESTAMP, Watermark, WatermarkGenerator, WatermarkOutput
from penstock.vocabulary.time.time_values import whole_millis
from penstock.vocabulary.time.timestamp_assigners import TimestampAssigner

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.time.durations import TimeLength

__all__ = [
    "AscendingTimestampExtractor",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "AssignerWithPunctuatedWatermarks",
    "BoundedOutOfOrdernessTimestampExtractor",
    "IngestionTimeAssigner",
    "LegacyAssigner",
    "LegacyTimestamps",
    "LegacyWatermarks",
    "PeriodicAssigner",
]

T = TypeVar("T")
_logger = logging.getLogger(__name__)


class LegacyAssigner(ABC, Generic[T]):
    """Is the root of the assigners that make timestamps and watermarks in one object."""

    @abstractmethod
    def assign(self, element: T, previous_element_timestamp: int) -> int:
        """Return the event time of the element and keep what the watermark needs to know about it."""

    def set_clock(self, clock: Callable[[], int]) -> None:
        """Hand over the clock of the runtime, before the first record."""


class PeriodicAssigner(LegacyAssigner[T]):
    """Is asked for its watermark at every auto-watermark interval, also when no data comes."""

    @abstractmethod
    def get_current_watermark(self) -> Watermark | int | None:
        """Return the watermark; None or one that is not later than the last has no effect."""


class AssignerWithPeriodicWatermarks(PeriodicAssigner[T]):
    """Extracts timestamps and is asked for its watermark at every auto-watermark interval."""

    @abstractmethod
    def extract_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        """Return the event time of the element; the second parameter is what it had before, or NO_TIMESTAMP."""

    def assign(self, element: T, previous_element_timestamp: int) -> int:
        """Return the extracted timestamp."""
        return self.extract_timestamp(element, previous_element_timestamp)


AssignerWithPeriodicWatermarksWrapper = AssignerWithPeriodicWatermarks


class AssignerWithPunctuatedWatermarks(LegacyAssigner[T]):
    """Extracts timestamps and is asked for a watermark after each element, which goes downstream before it."""

    @abstractmethod
    def extract_timestamp(self, element: T, previous_element_timestamp: int) -> int:
        """Return the event time of the element; the second parameter is what it had before, or NO_TIMESTAMP."""

    @abstractmethod
    def check_and_get_next_watermark(self, last_element: T, extracted_timestamp: int) -> Watermark | int | None:
        """Return the watermark after that element; None or one that is not later than the last has no effect."""

    def assign(self, element: T, previous_element_timestamp: int) -> int:
        """Return the extracted timestamp."""
        return self.extract_timestamp(element, previous_element_timestamp)


class BoundedOutOfOrdernessTimestampExtractor(PeriodicAssigner[T]):
    """Follows the largest timestamp at a fixed distance: watermark = max - bound, without the newer extra -1 ms."""

    def __init__(self, max_out_of_orderness: TimeLength) -> None:
        self._bound = to_millis(max_out_of_orderness)
        if self._bound < 0:
            msg = f"The bound of out-of-orderness must not be negative, but is {max_out_of_orderness!r}."
            raise ProgramError(msg)
        self._max_timestamp = MIN_TIMESTAMP + self._bound

    @abstractmethod
    def extract_timestamp(self, element: T) -> int:
        """Return the event time of the element."""

    def assign(self, element: T, previous_element_timestamp: int) -> int:
        """Return the event time of the element and remember the largest."""
        timestamp = self.extract_timestamp(element)
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "extract_timestamp() returned", self.extract_timestamp, element)
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        return timestamp

    def get_current_watermark(self) -> Watermark:
        """Return the largest timestamp minus the bound."""
        return Watermark(self._max_timestamp - self._bound)

    def get_max_out_of_orderness_in_millis(self) -> int:
        """Return the bound in milliseconds."""
        return self._bound


class AscendingTimestampExtractor(PeriodicAssigner[T]):
    """Follows timestamps that should not decrease: watermark = max - 1 ms; it logs elements out of order."""

    _max_timestamp = MIN_TIMESTAMP

    @abstractmethod
    def extract_ascending_timestamp(self, element: T) -> int:
        """Return the event time of the element, not smaller than that of the element before."""

    def assign(self, element: T, previous_element_timestamp: int) -> int:
        """Return the event time of the element and remember the largest."""
        timestamp = self.extract_ascending_timestamp(element)
        if type(timestamp) is not int:
            what, function = "extract_ascending_timestamp() returned", self.extract_ascending_timestamp
            timestamp = whole_millis(timestamp, what, function, element)
        if timestamp >= self._max_timestamp:
            self._max_timestamp = timestamp
        else:
            _logger.warning("Timestamp %d follows %d: timestamps should ascend.", timestamp, self._max_timestamp)
        return timestamp

    def get_current_watermark(self) -> Watermark:
        """Return the largest timestamp minus 1 ms."""
        return Watermark(max(self._max_timestamp - 1, MIN_TIMESTAMP))


class IngestionTimeAssigner(PeriodicAssigner[Any]):
    """Gives each element the time at which it arrives; time stands still while the clock runs backwards."""

    def __init__(self) -> None:
        self._clock: Callable[[], int] | None = None
        self._latest = MIN_TIMESTAMP

    def set_clock(self, clock: Callable[[], int]) -> None:
        """Take the clock that gives the arrival times."""
        self._clock = clock

    def assign(self, element: Any, previous_element_timestamp: int) -> int:
        """Return the present time."""
        return self._now()

    def get_current_watermark(self) -> Watermark:
        """Return the present time minus 1 ms."""
        return Watermark(self._now() - 1)

    def _now(self) -> int:
        if self._clock is None:
            msg = "The ingestion time assigner has no clock yet: whoever runs it calls set_clock first."
            raise ProgramError(msg)
        self._latest = max(self._latest, self._clock())
        return self._latest


class LegacyTimestamps(TimestampAssigner):
    """Is the timestamp half of a legacy assigner."""

    def __init__(self, assigner: LegacyAssigner[Any]) -> None:
        self._assigner = assigner
        self.origin = getattr(assigner, "extract_timestamp", assigner.assign)

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp that the assigner gives."""
        return self._assigner.assign(value, record_timestamp)

    def set_clock(self, clock: Callable[[], int]) -> None:
        """Pass the clock on."""
        self._assigner.set_clock(clock)


class LegacyWatermarks(WatermarkGenerator[Any]):
    """Is the watermark half of a legacy assigner; it works on the same object as the timestamp half."""

    def __init__(self, assigner: LegacyAssigner[Any]) -> None:
        self._periodic = assigner if isinstance(assigner, PeriodicAssigner) else None
        self._punctuated = assigner if isinstance(assigner, AssignerWithPunctuatedWatermarks) else None

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Ask a punctuated assigner."""
        if self._punctuated is not None:
            ask = self._punctuated.check_and_get_next_watermark
            _emit(ask(event, event_timestamp), output, ask, event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Ask a periodic assigner."""
        if self._periodic is not None:
            ask = self._periodic.get_current_watermark
            _emit(ask(), output, ask)


def _emit(
    watermark: Watermark | int | None, output: WatermarkOutput, function: Callable[..., Any], record: Any = NO_RECORD
) -> None:
    if watermark is not None:
        time = watermark.timestamp if isinstance(watermark, Watermark) else watermark
        output.emit_watermark(Watermark(whole_millis(time, f"{function.__name__}() returned", function, record)))
