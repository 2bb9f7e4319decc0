"""Counters, meters, distributions and the groups they live in."""

from penstock.vocabulary.metrics import Counter, Distribution, Gauge, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup"]
