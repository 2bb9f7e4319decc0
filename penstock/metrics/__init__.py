"""Metrics of a running function: what `pyflink.metrics` has, under the same names."""

from penstock.vocabulary.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
