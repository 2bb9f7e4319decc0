"""Interval joins, where Java Flink has them."""

from penstock.api.interval_join import IntervalJoin, IntervalJoined

__all__ = ["IntervalJoin", "IntervalJoined"]
