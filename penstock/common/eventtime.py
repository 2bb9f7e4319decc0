"""Timestamps and watermarks, at the place Java Flink gives them."""

from penstock.vocabulary.timestamp_assigners import NO_TIMESTAMP, RecordTimestampAssigner, TimestampAssigner
from penstock.vocabulary.watermark_generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.vocabulary.watermark_strategy import WatermarkStrategy
from penstock.vocabulary.watermarks import Watermark

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
