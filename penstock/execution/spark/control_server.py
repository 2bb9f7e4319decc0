"""The driver's end of the control channel.

One TCP connection per task for control, a second one for printed and collected records where a task has some.
Connections prove that they
know the job's random key, which travels inside the pickled job only.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener
from typing import Any

from penstock.execution.spark.messages import Cancel, Register, TaskKey

__all__ = ["ControlServer"]

_log = logging.getLogger("penstock.control")

OnMessage = Callable[[Register, Any], None]
OnClosed = Callable[[Register], None]


class ControlServer:
    """Accepts the tasks of a job and passes on what they say.

    ``on_message`` and ``on_closed`` are called from one thread per connection.
    """

    def __init__(self, host: str, on_message: OnMessage, on_closed: OnClosed) -> None:
        self.key = secrets.token_bytes(32)
        self._listener = Listener((host, 0), backlog=256, authkey=self.key)
        self._on_message = on_message
        self._on_closed = on_closed
        self._lock = threading.Lock()
        self._connections: dict[TaskKey, Connection] = {}
        self._readers: list[threading.Thread] = []
        self._is_closed = False
        self._acceptor = threading.Thread(target=self._accept, name="penstock control", daemon=True)
        self._acceptor.start()

    @property
    def address(self) -> tuple[str, int]:
        """Return where tasks connect to."""
        host, port = self._listener.address
        return str(host), int(port)

    def send(self, task: TaskKey, message: Any) -> bool:
        """Send a message to a task; tell whether it could be sent."""
        with self._lock:
            connection = self._connections.get(task)
            if connection is None:
                return False
            try:
                connection.send(message)
            except OSError:
                return False
            return True

    def cancel_all(self) -> None:
        """Tell every connected task to stop."""
        with self._lock:
            tasks = list(self._connections)
        for task in tasks:
            self.send(task, Cancel())

    def connected(self) -> list[TaskKey]:
        """Return the tasks that are connected."""
        with self._lock:
            return list(self._connections)

    def drain(self, seconds: float) -> bool:
        """Wait until every connection has been read to its end; tell whether that happened in time."""
        for reader in list(self._readers):
            reader.join(seconds)
            if reader.is_alive():
                return False
        return True

    def close(self) -> None:
        """Stop accepting and close all connections."""
        self._is_closed = True
        self._listener.close()
        with self._lock:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                connection = self._listener.accept()
            except AuthenticationError:
                _log.warning("refused a connection that does not know the job's key")
                continue
            except (OSError, EOFError):
                continue  # a peer that went away, or our own close
            reader = threading.Thread(
                target=self._read, args=(connection,), name="penstock control reader", daemon=True
            )
            self._readers.append(reader)
            reader.start()

    def _read(self, connection: Connection) -> None:
        registration: Register | None = None
        try:
            registration = connection.recv()
            if registration.purpose == "control":
                with self._lock:
                    self._connections[registration.task] = connection
            self._on_message(registration, registration)
            while True:
                self._on_message(registration, connection.recv())
        except (EOFError, OSError):
            pass
        finally:
            if registration is not None:
                with self._lock:
                    if self._connections.get(registration.task) is connection:
                        del self._connections[registration.task]
                self._on_closed(registration)
            connection.close()
