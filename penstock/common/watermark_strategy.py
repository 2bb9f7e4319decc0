"""How a stream gets its timestamps and watermarks."""

from penstock.vocabulary.timestamp_assigners import TimestampAssigner
from penstock.vocabulary.watermark_strategy import WatermarkStrategy

__all__ = ["TimestampAssigner", "WatermarkStrategy"]
