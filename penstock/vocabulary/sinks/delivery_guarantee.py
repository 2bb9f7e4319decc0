"""How often a sink may show a record."""

from __future__ import annotations

import enum

__all__ = ["DeliveryGuarantee"]


class DeliveryGuarantee(enum.Enum):
    """What a program asks of a sink; the job as a whole is as good as its weakest part."""

    EXACTLY_ONCE = "exactly-once"
    """Records become visible with the checkpoint they belong to, once."""
    AT_LEAST_ONCE = "at-least-once"
    """Records are flushed before each checkpoint; after a failure some come again."""
    NONE = "none"
    """Records are not waited for: a failure may lose or repeat some."""
