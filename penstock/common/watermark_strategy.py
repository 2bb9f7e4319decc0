"""How a stream gets its timestamps and watermarks."""

from penstock.vocabulary.legacy_assigners import AssignerWithPeriodicWatermarksWrapper
from penstock.vocabulary.timestamp_assigners import TimestampAssigner
from penstock.vocabulary.watermark_strategy import WatermarkStrategy

__all__ = ["AssignerWithPeriodicWatermarksWrapper", "TimestampAssigner", "WatermarkStrategy"]
