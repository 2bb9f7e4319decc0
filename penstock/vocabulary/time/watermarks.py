"""Watermarks, the marks by which event time advances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["MAX_WATERMARK", "MIN_TIMESTAMP", "Watermark"]

# Flink's Long.MIN and Long.MAX: the time before the first watermark and the time after the end of the input.
MIN_TIMESTAMP = -(2**63)
MAX_WATERMARK = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class Watermark:
    """Says that no record with this timestamp or an earlier one will follow."""

    timestamp: int

    MAX_WATERMARK: ClassVar[Watermark]
    UNINITIALIZED: ClassVar[Watermark]

    def get_timestamp(self) -> int:
        """Returns the timestamp in milliseconds."""
        return self.timestamp


Watermark.MAX_WATERMARK = Watermark(MAX_WATERMARK)
Watermark.UNINITIALIZED = Watermark(MIN_TIMESTAMP)
