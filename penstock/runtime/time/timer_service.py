"""The timer service that process functions see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import StateAccessError
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.vocabulary.functions.contexts import TimerService

if TYPE_CHECKING:
    from penstock.foundation.clock import Clock
    from penstock.runtime.time.timers import InternalTimers

__all__ = ["KeyedTimerService", "UnkeyedTimerService"]


class KeyedTimerService(TimerService):
    """Time and timers of the current key."""

    def __init__(self, timers: InternalTimers) -> None:
        self._timers = timers
        # Bound once: these are called per record.
        self.current_processing_time = timers.current_processing_time  # type: ignore[method-assign]
        self.register_event_time_timer = timers.register_event_time_timer  # type: ignore[method-assign]
        self.register_processing_time_timer = timers.register_processing_time_timer  # type: ignore[method-assign]
        self.delete_event_time_timer = timers.delete_event_time_timer  # type: ignore[method-assign]
        self.delete_processing_time_timer = timers.delete_processing_time_timer  # type: ignore[method-assign]

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self._timers.current_watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Set a timer for when the clock reaches ``timestamp``."""
        self._timers.register_processing_time_timer(timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        """Set a timer for when the watermark reaches ``timestamp``."""
        self._timers.register_event_time_timer(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Delete a timer; one that does not exist is no error."""
        self._timers.delete_processing_time_timer(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Delete a timer; one that does not exist is no error."""
        self._timers.delete_event_time_timer(timestamp)


class UnkeyedTimerService(TimerService):
    """Time without timers: those need a keyed stream."""

    def __init__(self, clock: Clock, step: str) -> None:
        self._clock = clock
        self._step = step
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._clock.now()

    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self.watermark

    def _refuse(self) -> StateAccessError:
        message = (
            f"Timers need a key, but the input of step {self._step!r} is not keyed. Call key_by() before process()."
        )
        return StateAccessError(message)

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Refuse: there is no key."""
        raise self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        """Refuse: there is no key."""
        raise self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Refuse: there is no key."""
        raise self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Refuse: there is no key."""
        raise self._refuse()
