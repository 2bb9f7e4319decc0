"""Watermarks, and the running part of a watermark strategy: it watches timestamps and says how far event time is.

A generator is made once per source split or subtask. The runtime drops watermarks that do not advance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.time.durations import TimeLength

__all__ = [
    "MAX_WATERMARK",
    "MIN_TIMESTAMP",
    "AscendingTimestampsWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "MaxTimestampGenerator",
    "NoWatermarksGenerator",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
]

# Flink's Long.MIN and Long.MAX: the time before the first watermark and the time after the end of the input.
MIN_TIMESTAMP = -(2**63)
MAX_WATERMARK = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """Says that no record with this timestamp or an earlier one will follow."""

    timestamp: int

    MAX_WATERMARK: ClassVar[Watermark]
    UNINITIALIZED: ClassVar[Watermark]

    def get_timestamp(self) -> int:
        """Return the timestamp in milliseconds."""
        return self.timestamp


Watermark.MAX_WATERMARK = Watermark(MAX_WATERMARK)
Watermark.UNINITIALIZED = Watermark(MIN_TIMESTAMP)


T = TypeVar("T")


class WatermarkOutput(ABC):
    """Takes what a generator says about time."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Advance event time to the watermark; a watermark that is not later than the last one has no effect."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Say that downstream time need not wait for this input until it is active again."""

    @abstractmethod
    def mark_active(self) -> None:
        """Say that this input counts again."""


class WatermarkGenerator(ABC, Generic[T]):
    """Derives watermarks from records, from the passing of time, or from both."""

    # Whether the generator must see every record. Those that only need timestamps get them by ``observe``.
    per_record: ClassVar[bool] = True

    @abstractmethod
    def on_event(self, event: T, event_timestamp: int, output: WatermarkOutput) -> None:
        """See a record that has just gone downstream; may emit a watermark."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Run at every auto-watermark interval, also without data; may emit a watermark."""

    def set_clock(self, clock: Callable[[], int]) -> None:
        """Hand over the clock of the runtime, before the first record."""


class MaxTimestampGenerator(WatermarkGenerator[Any]):
    """Is a generator for which the largest timestamp of a run of records says as much as all of them."""

    per_record: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Go back to one call per record for a subclass that has its own ``on_event``."""
        super().__init_subclass__(**kwargs)
        if cls.on_event is not MaxTimestampGenerator.on_event:
            cls.per_record = True

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Observe the timestamp of the record."""
        self.observe(event_timestamp)

    @abstractmethod
    def observe(self, max_timestamp: int) -> None:
        """Take in the largest timestamp of one or more records."""


class BoundedOutOfOrdernessWatermarks(MaxTimestampGenerator):
    """Follows the largest timestamp at a fixed distance: watermark = max - bound - 1 ms."""

    def __init__(self, max_out_of_orderness: TimeLength) -> None:
        self._bound = to_millis(max_out_of_orderness)
        if self._bound < 0:
            msg = f"The bound of out-of-orderness must not be negative, but is {max_out_of_orderness!r}."
            raise ProgramError(msg)
        # So that the watermark before the first record is exactly the smallest timestamp.
        self._max_timestamp = MIN_TIMESTAMP + self._bound + 1

    def observe(self, max_timestamp: int) -> None:
        """Remember the timestamp if it is the largest so far."""
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit the watermark."""
        output.emit_watermark(Watermark(self._max_timestamp - self._bound - 1))


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """Follows timestamps that never decrease: watermark = max - 1 ms."""

    def __init__(self) -> None:
        super().__init__(0)


class NoWatermarksGenerator(MaxTimestampGenerator):
    """Never emits a watermark, for programs in processing time and sources that emit their own."""

    def observe(self, max_timestamp: int) -> None:
        """Ignore the timestamp."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emit nothing."""
