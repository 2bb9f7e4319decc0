"""How fast a generated source may go."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from penstock.errors import ProgramError

__all__ = ["RateLimiter", "RateLimiterStrategy"]

_LONGEST_ARREARS_MILLIS = 1000
"""What a subtask that was held up makes up for; the rest of its records is late for good."""


class RateLimiter(ABC):
    """Says, in one subtask, how many records may be emitted now."""

    @abstractmethod
    def permits(self, now: int) -> int:
        """Return how many more records may be emitted at a time in milliseconds."""

    @abstractmethod
    def take(self, count: int) -> None:
        """Take note that records were emitted."""

    def wait_millis(self, now: int) -> int:
        """Return after how long asking again makes sense."""
        return 1000

    def checkpoint_complete(self) -> None:  # noqa: B027 - most do not go by checkpoints
        """Take note that a checkpoint is complete."""


@dataclass(frozen=True)
class RateLimiterStrategy:
    """A limit for a whole source; its splits share it evenly."""

    records_per_second: float | None = None
    records_per_checkpoint: int | None = None

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Return the strategy that limits nothing."""
        return RateLimiterStrategy()

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Return the strategy that lets so many records per second pass."""
        if not records_per_second > 0:
            message = f"RateLimiterStrategy.per_second({records_per_second}): the rate must be positive."
            raise ProgramError(message)
        return RateLimiterStrategy(records_per_second=float(records_per_second))

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Return the strategy that lets so many records pass between two complete checkpoints."""
        if records_per_checkpoint <= 0:
            message = f"RateLimiterStrategy.per_checkpoint({records_per_checkpoint}): the number must be positive."
            raise ProgramError(message)
        return RateLimiterStrategy(records_per_checkpoint=records_per_checkpoint)

    def create_rate_limiter(self, number: int, shares: int) -> RateLimiter | None:
        """Return the limiter of one of so many equal shares; ``None`` if nothing is limited."""
        if self.records_per_second is not None:
            return _PerSecond(self.records_per_second / shares)
        if self.records_per_checkpoint is not None:
            count = self.records_per_checkpoint
            return _PerCheckpoint(count * (number + 1) // shares - count * number // shares)
        return None


class _PerSecond(RateLimiter):
    """Record i is due i / rate seconds after the first one."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._start: float | None = None
        self._emitted = 0

    def permits(self, now: int) -> int:
        if self._start is None:
            self._start = now
        behind = now - self._due(self._emitted)
        if behind > _LONGEST_ARREARS_MILLIS:
            self._start += behind - _LONGEST_ARREARS_MILLIS
        return max(0, math.floor((now - self._start) * self._rate / 1000) + 1 - self._emitted)

    def take(self, count: int) -> None:
        self._emitted += count

    def wait_millis(self, now: int) -> int:
        return max(1, math.ceil(self._due(self._emitted) - now))

    def _due(self, number: int) -> float:
        return (self._start or 0) + number * 1000 / self._rate


class _PerCheckpoint(RateLimiter):
    def __init__(self, count: int) -> None:
        self._count = self._left = count

    def permits(self, now: int) -> int:
        return self._left

    def take(self, count: int) -> None:
        self._left -= count

    def checkpoint_complete(self) -> None:
        self._left = self._count
