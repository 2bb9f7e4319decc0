"""The windows that group records: stretches of time, numbered windows, and the one that holds everything.

Windows are keys of state and of timers and are looked up once per record and more. They are therefore tuples
underneath: immutable, hashed, compared and ordered by the interpreter without running a line of Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from penstock.vocabulary.time.generators import MAX_WATERMARK

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CountWindow", "GlobalWindow", "MergeCallback", "TaggedUnion", "TimeWindow", "Window"]

W = TypeVar("W")


class Window(ABC):
    """A finite bucket of records, with a last moment after which nothing more belongs to it.

    A window of your own must be hashable and comparable with ``==``; it is used as a key.
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest timestamp, in milliseconds, that still belongs to the window."""


class MergeCallback(ABC, Generic[W]):
    """Takes note which windows become one."""

    @abstractmethod
    def merge(self, to_be_merged: Iterable[W], merge_result: W) -> None:
        """Take note that the windows ``to_be_merged`` are replaced by ``merge_result``."""


class _Span(NamedTuple):
    start: int
    end: int


class TimeWindow(_Span, Window):
    """The stretch of time from ``start`` (inclusive) to ``end`` (exclusive), in milliseconds.

    Example:
        >>> window = TimeWindow(0, 5000)
        >>> window.max_timestamp()
        4999
        >>> window.intersects(TimeWindow(5000, 9000))
        True
    """

    __slots__ = ()

    def max_timestamp(self) -> int:
        """Return ``end - 1``, the last millisecond inside the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Tell whether the two windows overlap or touch.

        Touching counts, so that two records exactly one session gap apart are in one session.
        """
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the aligned window that contains ``timestamp``.

        Aligned starts are ``offset + k * window_size`` for every integer ``k``, negative ones included.

        Example:
            >>> TimeWindow.get_window_start_with_offset(7000, 1000, 5000)
            6000
            >>> TimeWindow.get_window_start_with_offset(-1, 0, 5000)
            -5000
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(
        windows: Iterable[TimeWindow],
        callback: MergeCallback[TimeWindow],
    ) -> None:
        """Report every group of overlapping or touching windows to ``callback``, with the window that covers it.

        Windows that stand alone are not reported. Groups come in the order of time.
        """
        groups: list[list[TimeWindow]] = []
        reach = 0
        for window in sorted(set(windows)):
            if groups and window.start <= reach:
                groups[-1].append(window)
                reach = max(reach, window.end)
            else:
                groups.append([window])
                reach = window.end
        for group in groups:
            if len(group) > 1:
                callback.merge(group, TimeWindow(group[0].start, max(window.end for window in group)))


class _Numbered(NamedTuple):
    id: int


class CountWindow(_Numbered, Window):
    """A window known by its number, as the count assigners make them.

    Example:
        >>> CountWindow(3)
        CountWindow(id=3)
    """

    __slots__ = ()

    def max_timestamp(self) -> int:
        """Return the end of time: counting is not bound to the clock."""
        return MAX_WATERMARK


class GlobalWindow(Window):
    """The one window that holds all records of a key.

    Example:
        >>> GlobalWindow.get() is GlobalWindow()
        True
    """

    __slots__ = ()

    _instance: GlobalWindow | None = None

    def __new__(cls) -> GlobalWindow:
        """Return the single instance, also after unpickling."""
        instance = cls._instance
        if instance is None:
            instance = cls._instance = super().__new__(cls)
        return instance

    @staticmethod
    def get() -> GlobalWindow:
        """Return the global window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """Return the end of time: the window never ends by itself."""
        return MAX_WATERMARK

    def __lt__(self, other: Any) -> bool:
        """Order the window among its peers, where it is never the smaller one, so that it may sit in a heap."""
        return False if isinstance(other, GlobalWindow) else NotImplemented

    def __repr__(self) -> str:
        return "GlobalWindow"


class TaggedUnion(NamedTuple):
    """A record of one of two streams, as triggers, evictors, dynamic gaps and late side outputs of joins see it."""

    input: int
    """0 for the first stream, 1 for the second."""
    value: Any
    """The record."""

    def is_one(self) -> bool:
        """Return whether the record came from the first stream."""
        return self.input == 0

    def is_two(self) -> bool:
        """Return whether the record came from the second stream."""
        return self.input == 1

    def get_one(self) -> Any:
        """Return the record of the first stream, None if it came from the second."""
        return self.value if self.input == 0 else None

    def get_two(self) -> Any:
        """Return the record of the second stream, None if it came from the first."""
        return self.value if self.input == 1 else None
