"""What the driver has to say to one task, sent by a thread of its own."""

from __future__ import annotations

import logging
import pickle
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.execution.spark.control.connection import ControlConnection

__all__ = ["Outbox"]

_log = logging.getLogger("penstock.control")

_SEND_SECONDS = 30.0
"""How long a task may take nothing of what is sent to it; longer than any pause of a worker that is well."""
_MOST_PENDING = 10_000


class Outbox:
    """A queue with a sender: who puts a message never waits for the task, whatever lock is held.

    A task that takes nothing for a while, or lets too much pile up, is given up: its connection is ended.
    """

    def __init__(self, connection: ControlConnection, name: str, *, send_seconds: float = _SEND_SECONDS) -> None:
        self._connection = connection
        self._name = name
        self._send_seconds = send_seconds
        self._pending: deque[bytes] = deque()
        self._changed = threading.Condition()
        self._is_ending = False
        self._is_given_up = False
        self._thread: threading.Thread | None = None

    def put(self, message: Any) -> bool:
        """Add a message; tell whether it will be sent as far as is known."""
        packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._changed:
            if self._is_ending or self._is_given_up:
                return False
            if len(self._pending) >= _MOST_PENDING:
                self._give_up(f"has {len(self._pending)} messages waiting")
                return False
            self._pending.append(packed)
            self._start()
            self._changed.notify_all()
            return not self._is_given_up

    def finish(self) -> None:
        """Say that nothing more comes; the task hears it after everything that was put before."""
        with self._changed:
            self._is_ending = True
            self._start()
            self._changed.notify_all()

    def _start(self) -> None:
        if self._thread is None:
            try:
                self._connection.limit_sending(self._send_seconds)
            except OSError:  # ended already; whoever reads from it notices too
                self._is_given_up = True
                self._pending.clear()
                return
            self._thread = threading.Thread(target=self._send, name="penstock control sender", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Send nothing more."""
        with self._changed:
            self._is_given_up = True
            self._pending.clear()
            self._changed.notify_all()

    def hang_up(self) -> None:
        """End the connection at once, with whatever is under way."""
        self.close()
        self._connection.hang_up()

    def _send(self) -> None:
        while (packed := self._next()) is not None:
            try:
                self._connection.send_packed(packed)
            except BlockingIOError:
                with self._changed:
                    self._give_up(f"has taken nothing for {self._send_seconds:g} s")
                return
            except OSError:
                self.close()  # whoever reads from it notices too
                return
        if not self._is_given_up:
            self._connection.let_go()

    def _next(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._is_ending or self._is_given_up)
            return self._pending.popleft() if self._pending else None

    def _give_up(self, reason: str) -> None:
        _log.warning("%s %s of what the driver sends; its connection is ended", self._name, reason)
        self._is_given_up = True
        self._pending.clear()
        self._changed.notify_all()
        self._connection.hang_up()
