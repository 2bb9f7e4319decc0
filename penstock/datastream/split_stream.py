"""Streams divided by names, where Java Flink had them."""

from penstock.api.data_stream import SplitStream

__all__ = ["SplitStream"]
