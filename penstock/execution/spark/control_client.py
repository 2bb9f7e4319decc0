"""A task's end of the control channel."""

from __future__ import annotations

import os
import socket
import threading
from multiprocessing.connection import Client, Connection
from typing import TYPE_CHECKING, Any

from penstock.execution.spark.messages import Collected, Printed, Register, TaskKey

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ControlClient"]


class ControlClient:
    """Tells the driver what happens and takes its commands; ``on_message`` is called from a thread of its own."""

    def __init__(
        self, address: tuple[str, int], key: bytes, task: TaskKey, attempt: int, on_message: Callable[[Any], None]
    ) -> None:
        self._address = address
        self._key = key
        self._task = task
        self._attempt = attempt
        self._on_message = on_message
        self._lock = threading.Lock()
        self._control = self._connect("control")
        self._data: Connection | None = None
        self._reader = threading.Thread(target=self._read, name="penstock control", daemon=True)
        self._reader.start()

    def _connect(self, purpose: str) -> Connection:
        connection = Client(self._address, authkey=self._key)
        connection.send(Register(self._task, self._attempt, purpose, os.getpid(), socket.gethostname()))
        return connection

    def send(self, message: Any) -> None:
        """Send a control message."""
        with self._lock:
            self._control.send(message)

    def print_lines(self, lines: list[str]) -> None:
        """Send lines for the driver's standard output."""
        self._send_data(Printed(lines))

    def collect(self, collection: str, values: list[Any]) -> None:
        """Send records to the program; waits while the program does not take them."""
        self._send_data(Collected(collection, values))

    def _send_data(self, message: Any) -> None:
        if self._data is None:
            self._data = self._connect("data")
        self._data.send(message)

    def close(self) -> None:
        """Close both connections; the driver reads what is under way first."""
        if self._data is not None:
            self._data.close()
        with self._lock:
            self._control.close()

    def _read(self) -> None:
        try:
            while True:
                self._on_message(self._control.recv())
        except (EOFError, OSError, TypeError):
            return  # the connection is closed; TypeError: closed while it was being read
