"""Joins and co-groups, where Java Flink has them."""

from penstock.api.joined_streams import CoGroupedStreams, JoinedStreams
from penstock.vocabulary.windows.windows import TaggedUnion

__all__ = ["CoGroupedStreams", "JoinedStreams", "TaggedUnion"]
