"""Window assigners: what decides which windows a record belongs to.

Time windows are aligned: they start at ``offset + k * size`` (tumbling) or ``offset + k * slide`` (sliding) for
every integer ``k``, counted in milliseconds from the epoch. The lengths are public as plain integers (``size``,
``slide``, ``offset``), so that an operator may compute the start of a window without asking for the window itself.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from penstock.errors import MissingTimestampError, ProgramError
from penstock.vocabulary.time.durations import to_millis
from penstock.vocabulary.time.generators import MIN_TIMESTAMP
from penstock.vocabulary.windows.serializers import GlobalWindowSerializer, TimeWindowSerializer
from penstock.vocabulary.windows.triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from penstock.vocabulary.windows.windows import GlobalWindow, MergeCallback, TimeWindow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.vocabulary.functions.contexts import RuntimeContext
    from penstock.vocabulary.time.durations import TimeLength
    from penstock.vocabulary.types.serializer import TypeSerializer
    from penstock.vocabulary.windows.triggers import Trigger

__all__ = [
    "GlobalWindows",
    "MergingWindowAssigner",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowAssigner",
    "check_overlap",
    "default_trigger",
    "missing_timestamp",
]

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")

_MAX_WINDOWS = 10_000_000
"""How many windows one record may be in."""


def missing_timestamp(assigner: WindowAssigner[Any, Any], element: object) -> MissingTimestampError:
    """Return the error for a record without a timestamp in an event-time window."""
    shown = repr(element)
    if len(shown) > 200:
        shown = f"{shown[:200]}..."
    return MissingTimestampError(
        f"{assigner!r} got a record without a timestamp: {shown}. Windows in event time need one: call "
        "stream.assign_timestamps_and_watermarks(WatermarkStrategy...with_timestamp_assigner(...)) before the window, "
        "or use windows in processing time."
    )


class WindowAssigner(ABC, Generic[T, W]):
    """Puts a record into zero, one or more windows; subclass it for windows of your own."""

    class WindowAssignerContext(ABC):
        """What an assigner may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """Return the clock's time."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Return the context of the subtask, whose state belongs to the key of the record."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """Return the windows of a record."""

    @abstractmethod
    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that is used unless the program sets another one."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """Return what writes the windows of this assigner to bytes."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Tell whether the windows follow the records' timestamps rather than the clock."""


def default_trigger(assigner: WindowAssigner[Any, Any], env: Any = None) -> Trigger[Any, Any]:
    """Return the trigger that an assigner brings; one that the program wrote may ask for the environment or not."""
    get_default_trigger: Any = assigner.get_default_trigger
    parameters = inspect.signature(get_default_trigger).parameters.values()
    takes_environment = any(
        parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) for parameter in parameters
    )
    trigger: Trigger[Any, Any] = get_default_trigger(env) if takes_environment else get_default_trigger()
    return trigger


def check_overlap(assigner: WindowAssigner[Any, Any], size: int, slide: int, unit: str) -> None:
    """Refuse windows that overlap so much that one record would be in more of them than memory holds."""
    count = -(-size // slide)
    if count > _MAX_WINDOWS:
        msg = (
            f"{type(assigner).__name__} with a size of {size} {unit} and a slide of {slide} {unit} would put each "
            f"record into {count:,} windows, more than {_MAX_WINDOWS:,}. Give a longer slide or a shorter size."
        )
        raise ProgramError(msg)


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows can grow together, as sessions do."""

    MergeCallback: TypeAlias = MergeCallback

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Find the windows that belong together and report each group to ``callback``."""


class _TumblingWindows(WindowAssigner[Any, TimeWindow]):
    """Cuts time into windows of one size, side by side."""

    def __init__(self, size: TimeLength, offset: TimeLength = 0) -> None:
        self.size = to_millis(size)
        self.offset = to_millis(offset)
        if abs(self.offset) >= self.size:
            msg = (
                f"{type(self).__name__} needs abs(offset) < size, but size is {self.size} ms and offset is "
                f"{self.offset} ms. Give a positive size and an offset that is shorter."
            )
            raise ProgramError(msg)
        # Records come roughly in order of time, so most of them fall into the window of the one before.
        self._latest = TimeWindow(self.offset, self.offset + self.size)

    def _windows_at(self, time: int) -> list[TimeWindow]:
        window = self._latest
        start = time - (time - self.offset) % self.size
        if start != window.start:
            window = self._latest = TimeWindow(start, start + self.size)
        return [window]

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return the serializer of time windows."""
        return TimeWindowSerializer()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"


class TumblingEventTimeWindows(_TumblingWindows):
    """Windows of one size, side by side, by the records' timestamps.

    Example:
        >>> TumblingEventTimeWindows.of(5000).assign_windows("record", 7000, None)
        [TimeWindow(start=5000, end=10000)]
    """

    @staticmethod
    def of(size: TimeLength, offset: TimeLength | None = None) -> TumblingEventTimeWindows:
        """Create windows of ``size`` that start ``offset`` after the multiples of ``size``.

        Days in China's time, for example, are ``of(Time.days(1), Time.hours(-8))``.
        """
        return TumblingEventTimeWindows(size, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext | None
    ) -> Collection[TimeWindow]:
        """Return the window that contains the timestamp."""
        if timestamp is None or timestamp <= MIN_TIMESTAMP:
            raise missing_timestamp(self, element)
        return self._windows_at(timestamp)

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Say yes."""
        return True


class TumblingProcessingTimeWindows(_TumblingWindows):
    """Windows of one size, side by side, by the clock."""

    @staticmethod
    def of(size: TimeLength, offset: TimeLength | None = None) -> TumblingProcessingTimeWindows:
        """Create windows of ``size`` that start ``offset`` after the multiples of ``size``."""
        return TumblingProcessingTimeWindows(size, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the window that contains the clock's time."""
        return self._windows_at(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Say no."""
        return False


class _SlidingWindows(WindowAssigner[Any, TimeWindow]):
    """Starts a window of one size every ``slide``."""

    def __init__(self, size: TimeLength, slide: TimeLength, offset: TimeLength = 0) -> None:
        self.size = to_millis(size)
        self.slide = to_millis(slide)
        self.offset = to_millis(offset)
        if abs(self.offset) >= self.slide or self.size <= 0:
            msg = (
                f"{type(self).__name__} needs abs(offset) < slide and size > 0, but size is {self.size} ms, slide is "
                f"{self.slide} ms and offset is {self.offset} ms. Give a positive size and slide and an offset that "
                "is shorter than the slide."
            )
            raise ProgramError(msg)
        check_overlap(self, self.size, self.slide, "ms")
        # Only then have all moments between two starts the same windows.
        self._cacheable = self.size % self.slide == 0
        self._latest: list[TimeWindow] = []

    def _windows_at(self, time: int) -> list[TimeWindow]:
        size = self.size
        last_start = time - (time - self.offset) % self.slide
        latest = self._latest
        if latest and latest[0].start == last_start:
            return latest.copy()
        windows = [TimeWindow(start, start + size) for start in range(last_start, time - size, -self.slide)]
        if self._cacheable:
            self._latest = windows.copy()
        return windows

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """Return the serializer of time windows."""
        return TimeWindowSerializer()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"


class SlidingEventTimeWindows(_SlidingWindows):
    """Windows of one size that start every ``slide``, by the records' timestamps.

    With a slide shorter than the size windows overlap and a record is in several; with a longer one there are gaps
    and a record may be in none.

    Example:
        >>> SlidingEventTimeWindows.of(10_000, 5000).assign_windows("record", 7000, None)
        [TimeWindow(start=5000, end=15000), TimeWindow(start=0, end=10000)]
    """

    @staticmethod
    def of(size: TimeLength, slide: TimeLength, offset: TimeLength | None = None) -> SlidingEventTimeWindows:
        """Create windows of ``size`` that start ``offset`` after the multiples of ``slide``."""
        return SlidingEventTimeWindows(size, slide, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext | None
    ) -> Collection[TimeWindow]:
        """Return the windows that contain the timestamp, the latest first."""
        if timestamp is None or timestamp <= MIN_TIMESTAMP:
            raise missing_timestamp(self, element)
        return self._windows_at(timestamp)

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """Say yes."""
        return True


class SlidingProcessingTimeWindows(_SlidingWindows):
    """Windows of one size that start every ``slide``, by the clock."""

    @staticmethod
    def of(size: TimeLength, slide: TimeLength, offset: TimeLength | None = None) -> SlidingProcessingTimeWindows:
        """Create windows of ``size`` that start ``offset`` after the multiples of ``slide``."""
        return SlidingProcessingTimeWindows(size, slide, 0 if offset is None else offset)

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """Return the windows that contain the clock's time, the latest first."""
        return self._windows_at(context.get_current_processing_time())

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that fires at the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """Say no."""
        return False


class GlobalWindows(WindowAssigner[Any, GlobalWindow]):
    """Puts all records of a key into one window, which needs a trigger to be of use.

    Example:
        >>> GlobalWindows.create().assign_windows("record", 7000, None)
        [GlobalWindow]
    """

    def __init__(self) -> None:
        self._trigger: Trigger[Any, Any] = NeverTrigger()

    @staticmethod
    def create() -> GlobalWindows:
        """Create the assigner; set a trigger, for the one it brings never fires."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """Create the assigner with a trigger that fires when a bounded input has ended."""
        assigner = GlobalWindows()
        assigner._trigger = EndOfStreamTrigger()
        return assigner

    def assign_windows(
        self, element: Any, timestamp: int | None, context: WindowAssigner.WindowAssignerContext | None
    ) -> Collection[GlobalWindow]:
        """Return the global window."""
        return [GlobalWindow.get()]

    def get_default_trigger(self, env: Any = None) -> Trigger[Any, Any]:
        """Return the trigger that was chosen when the assigner was created."""
        return self._trigger

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        """Return the serializer of the global window."""
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        """Say no."""
        return False

    def __repr__(self) -> str:
        return f"GlobalWindows(trigger={self._trigger!r})"
