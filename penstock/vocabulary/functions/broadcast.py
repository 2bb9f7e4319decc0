"""Functions that join a stream with the broadcast state of another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.functions.contexts import TimerService
    from penstock.vocabulary.functions.output_tag import Outputs, OutputTag
    from penstock.vocabulary.settings.modes import TimeDomain
    from penstock.vocabulary.state.descriptors import MapStateDescriptor, StateDescriptor
    from penstock.vocabulary.state.handles import BroadcastState, ReadOnlyBroadcastState

__all__ = ["BaseBroadcastProcessFunction", "BroadcastProcessFunction", "KeyedBroadcastProcessFunction"]

X = TypeVar("X")
K = TypeVar("K")
V = TypeVar("V")
KEY = TypeVar("KEY")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class BaseBroadcastProcessFunction(Function):
    """Is the root of the two broadcast functions and holds what their contexts share."""

    class BaseContext(ABC):
        """Tells about the record being processed."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """Return the event time of the record, None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock's time."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the event time that this subtask has reached."""

        @abstractmethod
        def output(self, output_tag: OutputTag[X], value: X) -> None:
            """Send ``value`` to the side output of that tag."""

    class Context(BaseContext):
        """Tells about a record of the broadcast stream."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
            """Return the broadcast state for reading and writing."""

    class ReadOnlyContext(BaseContext):
        """Tells about a record of the other stream."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
            """Return the broadcast state for reading."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Joins a stream that is not keyed with broadcast state."""

    class Context(BaseBroadcastProcessFunction.Context):
        """Tells about a record of the broadcast stream and lets it change the broadcast state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """Tells about a record of the stream that is not broadcast."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Outputs[OUT]:
        """Yield the results for a record of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a broadcast record, which every subtask sees."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Joins a keyed stream, with keyed state and timers, with broadcast state."""

    class Context(BaseBroadcastProcessFunction.Context):
        """Tells about a record of the broadcast stream and lets it change the broadcast state."""

        @abstractmethod
        def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
            """Call ``function(key, state)`` for every key of this subtask that has the state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """Tells about a record of the keyed stream."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return access to time and to the timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""

    class OnTimerContext(ReadOnlyContext):
        """Tells about the timer that fires."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is one of event time or of processing time."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Outputs[OUT]:
        """Yield the results for a record of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Outputs[OUT]:
        """Yield the results for a broadcast record, which every subtask sees."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Outputs[OUT]:
        """Yield the results for a timer; ``timestamp`` is the time it was set for."""
        return ()
