"""Lengths of time and points in time."""

from penstock.vocabulary.time.durations import Duration, Instant, Time, TimeUnit

__all__ = ["Duration", "Instant", "Time", "TimeUnit"]
