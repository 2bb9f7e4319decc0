"""Timestamps and watermarks, at the place Java Flink gives them."""

from penstock.vocabulary.time.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import NO_TIMESTAMP, RecordTimestampAssigner, TimestampAssigner

__all__ = [
    "NO_TIMESTAMP",
    "AscendingTimestampsWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarksGenerator",
    "RecordTimestampAssigner",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]
