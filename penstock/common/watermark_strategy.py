"""How a stream gets its timestamps and watermarks."""

from penstock.vocabulary.time.legacy_assigners import AssignerWithPeriodicWatermarksWrapper
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import TimestampAssigner

__all__ = ["AssignerWithPeriodicWatermarksWrapper", "TimestampAssigner", "WatermarkStrategy"]
