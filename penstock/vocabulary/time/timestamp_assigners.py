"""How a record gets its event time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.time.generators import MIN_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_TIMESTAMP", "RecordTimestampAssigner", "TimestampAssigner", "timestamp_assigner_of"]

# What an assigner is told as the present timestamp of a record that has none.
NO_TIMESTAMP = MIN_TIMESTAMP


class TimestampAssigner(ABC):
    """Extracts the event time of a record, in milliseconds since the epoch."""

    @abstractmethod
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the event time of ``value``; ``record_timestamp`` is what it had before, or NO_TIMESTAMP."""

    def set_clock(self, clock: Callable[[], int]) -> None:  # noqa: B027 - few assigners need to know the time
        """Hand over the clock of the runtime, before the first record."""


class RecordTimestampAssigner(TimestampAssigner):
    """Leaves every record the timestamp it has, for example from its source."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        """Return the timestamp that the record has."""
        return record_timestamp


class _CallableTimestampAssigner(TimestampAssigner):
    """Is an assigner made of a callable with the parameters of ``extract_timestamp``."""

    def __init__(self, extract: Callable[[Any, int], int]) -> None:
        self._extract = extract
        # Hides the method below, so that a record costs one call and not two.
        vars(self)["extract_timestamp"] = extract

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._extract(value, record_timestamp)


def timestamp_assigner_of(assigner: TimestampAssigner | Callable[[Any, int], int]) -> TimestampAssigner:
    """Return an assigner for an assigner or for a callable ``(value, record_timestamp) -> timestamp``."""
    if isinstance(assigner, TimestampAssigner):
        return assigner
    if isinstance(assigner, type) or not callable(assigner):
        msg = (
            f"A timestamp assigner must be a TimestampAssigner object or a callable of (value, record_timestamp), "
            f"not {assigner!r}."
        )
        raise TypeError(msg)
    return _CallableTimestampAssigner(assigner)
