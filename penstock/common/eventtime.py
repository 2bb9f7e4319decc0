"""Timestamps and watermarks, at the place Java Flink gives them."""

from penstock.vocabulary.time.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import NO_TIMESTAMP, RecordTimestampAssigner, TimestampAssigner
from penstock.vocabulary.time.watermarks import Watermark

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
