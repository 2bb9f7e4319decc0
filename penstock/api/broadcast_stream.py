"""A stream that every subtask of another one keeps in state: rules, configuration, dimension data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.connected_streams import add_two_input_step, check_same_environment
from penstock.api.keyed_stream import KeyedStream
from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import BroadcastProcessStep
from penstock.vocabulary.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.vocabulary.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.api.data_stream import DataStream

__all__ = ["BroadcastConnectedStream", "BroadcastStream"]

T = TypeVar("T")


class BroadcastStream(Generic[T]):
    """A stream with the broadcast states that its records fill; ``connect`` it to another stream."""

    def __init__(
        self, input_stream: DataStream[T], broadcast_state_descriptors: Sequence[MapStateDescriptor[Any, Any]]
    ) -> None:
        names = set()
        for descriptor in broadcast_state_descriptors:
            check_function(descriptor, MapStateDescriptor, "broadcast", allow_callable=False)
            if descriptor.name in names:
                message = f"broadcast() got two descriptors of the name {descriptor.name!r}; each needs its own."
                raise ProgramError(message, location())
            names.add(descriptor.name)
        self.input_stream = input_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)


class BroadcastConnectedStream(Generic[T]):
    """A stream, keyed or not, connected to a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream[T],
        broadcast_stream: BroadcastStream[Any],
        broadcast_state_descriptors: Sequence[MapStateDescriptor[Any, Any]],
    ) -> None:
        check_same_environment("connect", non_broadcast_stream, broadcast_stream.input_stream)
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)

    def process(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Put the records of both streams through a broadcast process function, a keyed one for a keyed stream."""
        stream = self.non_broadcast_stream
        is_keyed = isinstance(stream, KeyedStream)
        if isinstance(func, BroadcastProcessFunction) and is_keyed:
            message = "A keyed stream needs a KeyedBroadcastProcessFunction, not a BroadcastProcessFunction."
            raise ProgramError(message, location())
        if isinstance(func, KeyedBroadcastProcessFunction) and not is_keyed:
            message = (
                "A KeyedBroadcastProcessFunction needs a keyed stream: call key_by() before connect(), or use a"
                " BroadcastProcessFunction."
            )
            raise ProgramError(message, location())
        kind = KeyedBroadcastProcessFunction if is_keyed else BroadcastProcessFunction
        check_function(func, kind, "process", allow_callable=False)
        step = BroadcastProcessStep(function=func, key=stream._key(), descriptors=self.broadcast_state_descriptors)
        name = step_name("Keyed Broadcast Process" if is_keyed else "Broadcast Process", func)
        return add_two_input_step(stream, self.broadcast_stream.input_stream, name, step, output_type)
