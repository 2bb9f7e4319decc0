"""The driver's end of the control channel.

One TCP connection per task for control, a second one for printed and collected records where a task has some.
Connections prove that they know the job's random key, which travels inside the pickled job only.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from penstock.execution.spark.control.connection import hang_up, let_go
from penstock.execution.spark.control.messages import Register, TaskKey
from penstock.foundation.clock import monotonic_seconds

__all__ = ["ControlServer"]

_log = logging.getLogger("penstock.control")

_OnMessage = Callable[[Register, Any], None]
_OnClosed = Callable[[Register], None]


class ControlServer:
    """Accepts the tasks of a job and passes on what they say.

    ``on_message`` and ``on_closed`` are called from one thread per connection.
    """

    def __init__(
        self, host: str, on_message: _OnMessage, on_closed: _OnClosed, *, advertised: str | None = None
    ) -> None:
        self.key = secrets.token_bytes(32)
        # Without the key here: the proof takes several messages, and one slow peer must not hold up the others.
        self._listener = Listener((host, 0), backlog=256)
        self._advertised = advertised or host
        self._on_message = on_message
        self._on_closed = on_closed
        self._lock = threading.Lock()
        self._tasks: dict[TaskKey, Connection] = {}
        self._connections: set[Connection] = set()
        self._readers: list[threading.Thread] = []
        self._is_closed = False
        self._acceptor = threading.Thread(target=self._accept, name="penstock control", daemon=True)
        self._acceptor.start()

    @property
    def address(self) -> tuple[str, int]:
        """Return where tasks connect to."""
        return self._advertised, int(self._listener.address[1])

    def send(self, task: TaskKey, message: Any) -> bool:
        """Send a message to a task; tell whether it could be sent."""
        with self._lock:
            connection = self._tasks.get(task)
            if connection is None:
                return False
            try:
                connection.send(message)
            except OSError:
                return False
            return True

    def send_all(self, message: Any) -> None:
        """Send a message to every connected task."""
        for task in self.connected():
            self.send(task, message)

    def connected(self) -> list[TaskKey]:
        """Return the tasks that are connected."""
        with self._lock:
            return list(self._tasks)

    def let_go(self) -> None:
        """Tell every task that nobody waits for it any longer."""
        with self._lock:
            for connection in self._tasks.values():
                let_go(connection)

    def drain(self, seconds: float | None) -> None:
        """Wait until every connection has been read to its end, at most for some seconds."""
        deadline = None if seconds is None else monotonic_seconds() + seconds
        for reader in list(self._readers):
            reader.join(None if deadline is None else max(0.0, deadline - monotonic_seconds()))

    def close(self) -> None:
        """Stop accepting and end all connections."""
        self._is_closed = True
        with contextlib.suppress(OSError), socket.create_connection(self._listener.address, timeout=1):
            pass  # wakes the accepting thread, which a closed listener would not
        self._acceptor.join()
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                hang_up(connection)

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:
                connection = None  # a peer that went away before it was let in
            if self._is_closed:
                if connection is not None:
                    connection.close()
                return
            if connection is not None:
                reader = threading.Thread(
                    target=self._serve, args=(connection,), name="penstock control reader", daemon=True
                )
                self._readers.append(reader)
                reader.start()

    def _serve(self, connection: Connection) -> None:
        with self._lock:
            self._connections.add(connection)
        try:
            deliver_challenge(connection, self.key)
            answer_challenge(connection, self.key)
            self._listen(connection, connection.recv())
        except AuthenticationError:
            _log.warning("refused a connection that does not know the job's key")
        except (EOFError, OSError):
            pass  # the peer went away
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()

    def _listen(self, connection: Connection, sender: Register) -> None:
        if sender.purpose == "control":
            with self._lock:
                self._tasks[sender.task] = connection
        try:
            self._on_message(sender, sender)
            while True:
                self._on_message(sender, connection.recv())
        finally:
            with self._lock:
                if self._tasks.get(sender.task) is connection:
                    del self._tasks[sender.task]
            self._on_closed(sender)
