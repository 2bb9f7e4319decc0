"""The driver's end of the control channel.

One TCP connection per task for control, a second one for printed and collected records where a task has some.
Connections prove that they know the job's random key, which travels inside the pickled job only.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.execution.spark.control.connection import ControlConnection
from penstock.execution.spark.control.messages import Register, TaskKey
from penstock.execution.spark.control.outbox import Outbox
from penstock.execution.spark.control.reception import Reception
from penstock.foundation.clock import monotonic_seconds

if TYPE_CHECKING:
    import socket

    from penstock.execution.spark.control.handshake import SessionKeys

__all__ = ["ControlServer"]

_OnMessage = Callable[[Register, Any], None]
_OnClosed = Callable[[Register], None]


class ControlServer:
    """Accepts the tasks of a job and passes on what they say.

    ``on_message`` and ``on_closed`` are called from one thread per connection. Nothing that is sent waits for a task.
    """

    def __init__(
        self, host: str, on_message: _OnMessage, on_closed: _OnClosed, *, advertised: str | None = None
    ) -> None:
        self.key = secrets.token_bytes(32)
        self._advertised = advertised or host
        self._on_message = on_message
        self._on_closed = on_closed
        self._lock = threading.Lock()
        self._tasks: dict[TaskKey, Outbox] = {}
        self._readers: dict[threading.Thread, ControlConnection] = {}
        self._reception = Reception(host, self.key, self._admit)

    @property
    def address(self) -> tuple[str, int]:
        """Return where tasks connect to."""
        return self._advertised, self._reception.port

    def send(self, task: TaskKey, message: Any) -> bool:
        """Have a message sent to a task; tell whether it is connected."""
        with self._lock:
            outbox = self._tasks.get(task)
        return outbox is not None and outbox.put(message)

    def send_all(self, message: Any) -> None:
        """Send a message to every connected task."""
        for task in self.connected():
            self.send(task, message)

    @property
    def readers(self) -> int:
        """Return how many connections of tasks are being read."""
        with self._lock:
            return len(self._readers)

    def connected(self) -> list[TaskKey]:
        """Return the tasks that are connected."""
        with self._lock:
            return list(self._tasks)

    def hang_up(self, task: TaskKey) -> None:
        """End the connection of a task that is taken for dead: should it come back, it finds itself let go."""
        with self._lock:
            outbox = self._tasks.get(task)
        if outbox is not None:
            outbox.hang_up()

    def let_go(self) -> None:
        """Tell every task that nobody waits for it any longer."""
        with self._lock:
            outboxes = list(self._tasks.values())
        for outbox in outboxes:
            outbox.finish()

    def drain(self, seconds: float | None) -> None:
        """Wait until the connection of every task has been read to its end, at most for some seconds."""
        deadline = None if seconds is None else monotonic_seconds() + seconds
        with self._lock:
            readers = list(self._readers)
        for reader in readers:
            reader.join(None if deadline is None else max(0.0, deadline - monotonic_seconds()))

    def close(self) -> None:
        """Stop accepting and end all connections."""
        self._reception.close()
        with self._lock:
            connections = list(self._readers.values())
        for connection in connections:
            connection.hang_up()

    def _admit(self, peer: socket.socket, keys: SessionKeys) -> None:
        connection = ControlConnection(peer, keys.to_task, keys.to_driver)
        reader = threading.Thread(target=self._serve, args=(connection,), name="penstock control reader", daemon=True)
        with self._lock:
            self._readers[reader] = connection
        try:
            reader.start()
        except RuntimeError:
            with self._lock:
                del self._readers[reader]
            raise

    def _serve(self, connection: ControlConnection) -> None:
        try:
            self._listen(connection, connection.receive())
        except (EOFError, OSError):
            pass  # the peer went away
        finally:
            with self._lock:
                del self._readers[threading.current_thread()]
            connection.hang_up()  # a sender that still waits for the task's side is told
            connection.close()

    def _listen(self, connection: ControlConnection, sender: Register) -> None:
        stage, index = sender.task
        outbox = Outbox(connection, f"subtask {index + 1} of stage {stage} (process {sender.process} on {sender.host})")
        if sender.purpose == "control":
            with self._lock:
                self._tasks[sender.task] = outbox
        try:
            self._on_message(sender, sender)
            while True:
                self._on_message(sender, connection.receive())
        finally:
            with self._lock:
                if self._tasks.get(sender.task) is outbox:
                    del self._tasks[sender.task]
            outbox.close()
            self._on_closed(sender)
