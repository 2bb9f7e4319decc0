"""Access to time and timers inside process functions."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """Tells the time and keeps timers for the current key; all times are milliseconds since the epoch.

    There is at most one timer per key, time domain and timestamp. Registering needs a keyed stream.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """Returns the clock's time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """Returns the event time that this subtask has reached."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Sets a timer that fires when the clock reaches ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Sets a timer that fires when the watermark reaches ``timestamp``."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Deletes the processing-time timer of that time; without such a timer nothing happens."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Deletes the event-time timer of that time; without such a timer nothing happens."""
