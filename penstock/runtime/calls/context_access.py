"""What a process function asks its context for, record by record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.native import native

if TYPE_CHECKING:
    from penstock.runtime.task.output import Output
    from penstock.statestore.backend import KeyContext
    from penstock.vocabulary.functions.contexts import TimerService

__all__ = ["ContextAccess"]

if TYPE_CHECKING or native is None:

    class ContextAccess:
        """The time, the timers and the key of a record; one object, renewed for each record."""

        __slots__ = ("_keys", "_output", "_service", "time")

        def __init__(self, output: Output, service: TimerService, keys: KeyContext) -> None:
            self._output = output
            self._service = service
            self._keys = keys
            self.time: int | None = None

        def timestamp(self) -> int | None:
            """Return the event time of the record or of the firing timer."""
            return self.time

        def timer_service(self) -> TimerService:
            """Return access to time and timers."""
            return self._service

        def get_current_key(self) -> Any:
            """Return the key of the record or timer."""
            return self._keys.key
else:
    ContextAccess = native.ContextAccess
