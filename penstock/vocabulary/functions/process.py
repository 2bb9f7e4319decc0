"""Functions that see time, set timers and write side outputs.

Results are yielded: a plain value goes to the main output, a pair ``tag, value`` to the side output of that tag.
``ctx.output(tag, value)`` writes to a side output too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from penstock.vocabulary.functions.contexts import TimerService
    from penstock.vocabulary.functions.output_tag import Outputs, OutputTag
    from penstock.vocabulary.settings.modes import TimeDomain

__all__ = [
    "CoProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessContext",
    "ProcessFunction",
    "ProcessJoinFunction",
]

X = TypeVar("X")
KEY = TypeVar("KEY")
IN = TypeVar("IN")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
IN_contra = TypeVar("IN_contra", contravariant=True)  # a function of more will do
OUT_co = TypeVar("OUT_co", covariant=True)


class ProcessContext(ABC):
    """Is what the contexts of all process functions on streams have in common."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """Return the event time of the record, or the time of the firing timer; None if the record has none."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Return access to time and, on keyed streams, to timers."""

    @abstractmethod
    def output(self, output_tag: OutputTag[X], value: X) -> None:
        """Send ``value`` to the side output of that tag."""


class ProcessFunction(Function, Generic[IN_contra, OUT_co]):
    """Turns each record into any number of records and sees its time."""

    class Context(ProcessContext):
        """Tells about the record being processed."""

    class OnTimerContext(Context):
        """Tells about the timer that fires; timers need a keyed stream."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is one of event time or of processing time."""

    @abstractmethod
    def process_element(self, value: IN_contra, ctx: ProcessFunction.Context) -> Outputs[OUT_co]:
        """Yield the results for one record."""

    def on_timer(self, timestamp: int, ctx: ProcessFunction.OnTimerContext) -> Outputs[OUT_co]:
        """Yield the results for a timer; ``timestamp`` is the time it was set for."""
        return ()


class KeyedProcessFunction(Function, Generic[KEY, IN_contra, OUT_co]):
    """Processes the records of a keyed stream with keyed state and timers."""

    class Context(ProcessContext):
        """Tells about the record being processed."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""

    class OnTimerContext(Context):
        """Tells about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is one of event time or of processing time."""

    @abstractmethod
    def process_element(self, value: IN_contra, ctx: KeyedProcessFunction.Context) -> Outputs[OUT_co]:
        """Yield the results for one record."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Outputs[OUT_co]:
        """Yield the results for a timer; ``timestamp`` is the time it was set for."""
        return ()


class CoProcessFunction(Function, Generic[IN1, IN2, OUT]):
    """Processes the records of two connected streams."""

    class Context(ProcessContext):
        """Tells about the record being processed."""

    class OnTimerContext(Context):
        """Tells about the timer that fires; timers need keyed streams."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is one of event time or of processing time."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: CoProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: CoProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a record of the second stream."""

    def on_timer(self, timestamp: int, ctx: CoProcessFunction.OnTimerContext) -> Outputs[OUT]:
        """Yield the results for a timer; ``timestamp`` is the time it was set for."""
        return ()


class KeyedCoProcessFunction(Function, Generic[KEY, IN1, IN2, OUT]):
    """Processes the records of two connected keyed streams, which share state and timers per key."""

    class Context(ProcessContext):
        """Tells about the record being processed."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""

    class OnTimerContext(Context):
        """Tells about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is one of event time or of processing time."""

    @abstractmethod
    def process_element1(self, value: IN1, ctx: KeyedCoProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: IN2, ctx: KeyedCoProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a record of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Outputs[OUT]:
        """Yield the results for a timer; ``timestamp`` is the time it was set for."""
        return ()


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Processes each pair of records that an interval join finds."""

    class Context(ABC):
        """Tells about the pair being processed."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """Return the event time of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """Return the event time of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """Return the event time of the results, the later one of the pair."""

        @abstractmethod
        def output(self, output_tag: OutputTag[X], value: X) -> None:
            """Send ``value`` to the side output of that tag."""

    @abstractmethod
    def process_element(self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context) -> Outputs[OUT]:
        """Yield the results for one pair."""
