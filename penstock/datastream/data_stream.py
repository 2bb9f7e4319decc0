"""Streams, under the names and at the place PyFlink gives them."""

from penstock.api.collect import CloseableIterator
from penstock.api.data_stream import DataStream
from penstock.api.data_stream_sink import DataStreamSink
from penstock.api.keyed_stream import KeyedStream
from penstock.api.windowed_stream import AllWindowedStream, WindowedStream

__all__ = ["AllWindowedStream", "CloseableIterator", "DataStream", "DataStreamSink", "KeyedStream", "WindowedStream"]
