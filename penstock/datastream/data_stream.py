"""Streams, under the names and at the place PyFlink gives them."""

from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from penstock.api.collect import CloseableIterator
from penstock.api.connected_streams import ConnectedStreams
from penstock.api.data_stream import DataStream
from penstock.api.data_stream_sink import DataStreamSink
from penstock.api.keyed_stream import KeyedStream
from penstock.api.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
