"""How good an output is when records are written again."""

from __future__ import annotations

import enum

__all__ = ["Delivery"]


class Delivery(enum.Enum):
    """What a sink does with records that are written again after a failure."""

    AT_MOST_ONCE = "at most once"
    """It may lose records that were not flushed when a checkpoint was taken."""
    AT_LEAST_ONCE = "at least once"
    """It has them twice."""
    IDEMPOTENT = "idempotent"
    """Writing a record again changes nothing."""
    WRITE_AHEAD = "write-ahead log"
    """It writes when a checkpoint is complete; a failure in the middle of that repeats a part."""
    TRANSACTIONAL = "two-phase commit"
    """It makes records visible together with the checkpoint, once."""
