"""Streams divided by names, where Java Flink had them."""

from penstock.api.split_stream import SplitStream

__all__ = ["SplitStream"]
