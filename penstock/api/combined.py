"""How a stream is combined with a second one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from penstock.api.partitioned import Partitioned
from penstock.api.program import location
from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import JoinKind

if TYPE_CHECKING:
    from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.api.connected_streams import ConnectedStreams
    from penstock.api.data_stream import DataStream
    from penstock.api.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.vocabulary.state.descriptors import MapStateDescriptor

__all__ = ["Combined"]


class Combined(Partitioned):
    """Connects streams and joins them. The methods are those of a ``DataStream``."""

    @overload
    def connect(self, ds: DataStream[Any]) -> ConnectedStreams[Any, Any]: ...

    @overload
    def connect(self, ds: BroadcastStream[Any]) -> BroadcastConnectedStream[Any]: ...

    def connect(self, ds: Any) -> Any:
        """Process this stream and another one, of any type, in one step; or this one with a broadcast stream."""
        from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from penstock.api.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self._stream(), ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self._stream(), ds)

    @overload
    def broadcast(self) -> DataStream[Any]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any],
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[Any]: ...

    def broadcast(self, broadcast_state_descriptor: Any = None, *other_broadcast_state_descriptors: Any) -> Any:
        """Send a copy of each record to every subtask; with descriptors, to fill broadcast state there."""
        from penstock.api.broadcast_stream import BroadcastStream

        copies = super().broadcast()
        if broadcast_state_descriptor is None:
            if other_broadcast_state_descriptors:
                message = "broadcast() got None as its first descriptor."
                raise ProgramError(message, location())
            return copies
        return BroadcastStream(copies, (broadcast_state_descriptor, *other_broadcast_state_descriptors))

    def join(self, other_stream: DataStream[Any]) -> JoinedStreams[Any, Any]:
        """Pair the records of two streams by key, in windows or by arrival; records without a partner are dropped."""
        return self._joined(other_stream, JoinKind.INNER)

    def left_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[Any, Any]:
        """Pair the records of two streams by key; records of this stream without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.LEFT)

    def right_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[Any, Any]:
        """Pair the records of two streams by key; records of the other one without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.RIGHT)

    def full_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[Any, Any]:
        """Pair the records of two streams by key; records of either one without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.FULL)

    def co_group(self, other_stream: DataStream[Any]) -> CoGroupedStreams[Any, Any]:
        """Hand all records of both streams that have the same key and window to one function."""
        from penstock.api.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self._stream(), other_stream)

    def _joined(self, other_stream: DataStream[Any], kind: JoinKind) -> JoinedStreams[Any, Any]:
        from penstock.api.joined_streams import JoinedStreams

        return JoinedStreams(self._stream(), other_stream, kind)

    def _stream(self) -> Any:
        return self
