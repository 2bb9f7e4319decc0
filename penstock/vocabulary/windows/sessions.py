"""Session windows: records that follow each other closely enough belong together.

Every record opens a window as long as the gap; windows that overlap or touch are merged. A session thus starts with
its first record and ends one gap after its last one, and records exactly one gap apart are in the same session.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.time.generators import MIN_TIMESTAMP
from penstock.vocabulary.windows.assigners import MergingWindowAssigner, WindowAssigner, missing_timestamp
from penstock.vocabulary.windows.serializers import TimeWindowSerializer
from penstock.vocabulary.windows.triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.vocabulary.windows.windows import TimeWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from penstock.vocabulary.time.durations import TimeLength
    from penstock.vocabulary.types.serializer import TypeSerializer
    from penstock.vocabulary.windows.triggers import Trigger

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
]


class SessionWindowTimeGapExtractor(ABC):
    """Tells, record by record, how long a pause ends the session."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """Return the gap after this record in milliseconds."""


class _Sessions(MergingWindowAssigner[Any, TimeWindow]):
    """Opens one window per record and merges what touches."""

    @abstractmethod
    def _gap_after(self, element: Any) -> int: ...

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Report every group of windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return the serializer of time windows."""
        return TimeWindowSerializer()


class _EventTimeSessions(_Sessions):
    """Sessions by the records' timestamps."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext | None
    ) -> Collection[TimeWindow]:
        """Return the window from the record's timestamp to one gap later."""
        if timestamp is None or timestamp <= MIN_TIMESTAMP:
            raise missing_timestamp(self, element)
        return [TimeWindow(timestamp, timestamp + self._gap_after(element))]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the session."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Say yes."""
        return True


class _ProcessingTimeSessions(_Sessions):
    """Sessions by the clock."""

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the window from the clock's time to one gap later."""
        now = context.get_current_processing_time()
        return [TimeWindow(now, now + self._gap_after(element))]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the session."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Say no."""
        return False


class _FixedGap(_Sessions):
    """Sessions with one gap for all records."""

    def __init__(self, session_gap: TimeLength) -> None:
        self.session_gap = to_millis(session_gap)
        if self.session_gap <= 0:
            msg = f"{type(self).__name__} needs a gap of at least 1 millisecond, but got {session_gap!r}."
            raise ProgramError(msg)

    def _gap_after(self, element: Any) -> int:
        return self.session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"


class _DynamicGap(_Sessions):
    """Sessions with a gap that each record brings."""

    def __init__(
        self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength]
    ) -> None:
        extractor = session_window_time_gap_extractor
        # Programs are seldom type-checked, hence the check of what the type promises.
        given: object = extractor
        if not isinstance(given, SessionWindowTimeGapExtractor) and not callable(given):
            msg = (
                f"{type(self).__name__} needs a SessionWindowTimeGapExtractor or a callable from a record to its gap. "
                f"Given: {type(given).__name__}."
            )
            raise TypeError(msg)
        self.session_window_time_gap_extractor = extractor
        self._extract: Callable[[Any], TimeLength] = (
            extractor.extract if isinstance(extractor, SessionWindowTimeGapExtractor) else extractor
        )

    def _gap_after(self, element: Any) -> int:
        given = self._extract(element)
        try:
            gap = to_millis(given)
        except (TypeError, ValueError) as error:
            problem = f"The gap extractor returned {shown(given)}, which is no length of time: {error}"
            raise UnusableValueError(problem, self._extract, element) from error
        if gap <= 0:
            problem = f"The gap extractor returned {shown(given)}, but a gap must be positive."
            raise UnusableValueError(problem, self._extract, element)
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_window_time_gap_extractor!r})"


class EventTimeSessionWindows(_FixedGap, _EventTimeSessions):
    """Sessions by the records' timestamps, ended by a pause longer than the gap.

    Example:
        >>> EventTimeSessionWindows.with_gap(2000).assign_windows("record", 1000, None)
        [TimeWindow(start=1000, end=3000)]
    """

    @staticmethod
    def with_gap(size: TimeLength) -> EventTimeSessionWindows:
        """Create sessions with one gap for all records."""
        return EventTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicEventTimeSessionWindows:
        """Create sessions with a gap that is taken from each record."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGap, _ProcessingTimeSessions):
    """Sessions by the clock, ended by a pause longer than the gap.

    Example:
        >>> ProcessingTimeSessionWindows.with_gap(2000)
        ProcessingTimeSessionWindows(2000)
    """

    @staticmethod
    def with_gap(size: TimeLength) -> ProcessingTimeSessionWindows:
        """Create sessions with one gap for all records."""
        return ProcessingTimeSessionWindows(size)

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicProcessingTimeSessionWindows:
        """Create sessions with a gap that is taken from each record."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap, _EventTimeSessions):
    """Sessions by the records' timestamps, with a gap that each record brings.

    Example:
        >>> assigner = DynamicEventTimeSessionWindows.with_dynamic_gap(lambda record: record["gap"])
        >>> assigner.assign_windows({"gap": 500}, 1000, None)
        [TimeWindow(start=1000, end=1500)]
    """

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicEventTimeSessionWindows:
        """Create sessions with a gap that is taken from each record."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap, _ProcessingTimeSessions):
    """Sessions by the clock, with a gap that each record brings."""

    @staticmethod
    def with_dynamic_gap(
        extractor: SessionWindowTimeGapExtractor | Callable[[Any], TimeLength],
    ) -> DynamicProcessingTimeSessionWindows:
        """Create sessions with a gap that is taken from each record."""
        return DynamicProcessingTimeSessionWindows(extractor)
