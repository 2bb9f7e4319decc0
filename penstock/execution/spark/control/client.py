"""A task's end of the control channel."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import JobFailedError
from penstock.execution.spark.control.dialing import dial
from penstock.execution.spark.control.messages import Cancel, Collected, Failed, Printed, Register, TaskKey
from penstock.runtime.exchange.codec import encode
from penstock.runtime.exchange.elements import RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.execution.spark.control.connection import ControlConnection

__all__ = ["ControlClient"]

_end_process = os._exit  # as it is before functions of the program come

_MOST_BLOCK_BYTES = 64 << 20
_LAST_SECONDS = 2.0
"""How long a task may go on after the driver has let go of it, or has died."""


class ControlClient:
    """Tells the driver what happens and takes its commands; ``on_message`` is called from a thread of its own.

    The end of the connection is a command too: the driver does not wait for this task any longer. A task that sits in a
    function of the program and does not hear it is ended with its process, so that nothing is left running.
    """

    def __init__(
        self, address: tuple[str, int], key: bytes, task: TaskKey, attempt: int, on_message: Callable[[Any], None]
    ) -> None:
        self._address = address
        self._key = key
        self._task = task
        self._attempt = attempt
        self._on_message = on_message
        self._lock = threading.Lock()
        self._is_released = threading.Event()
        self._is_closed = threading.Event()
        self._has_lost_descriptor = False
        self._data: ControlConnection | None = None
        self._control = self._connect("control")
        self._reader = threading.Thread(target=self._read, name="penstock control", daemon=True)
        self._reader.start()

    def _connect(self, purpose: str) -> ControlConnection:
        connection = dial(self._address, self._key)
        connection.send(Register(self._task, self._attempt, purpose, os.getpid(), socket.gethostname()))
        return connection

    def send(self, message: Any) -> None:
        """Send a control message; a driver that is gone needs none."""
        with self._lock:
            try:
                self._control.send(message)
            except BlockingIOError:
                self._control.hang_up()  # nobody has read for long, and half a message is under way
            except OSError:
                self._report_lost_descriptor()

    def print_lines(self, lines: list[str]) -> None:
        """Send lines for the driver's standard output."""
        self._send_data(Printed(lines))

    def collect(self, collection: str, values: list[Any]) -> None:
        """Send records to the program; waits while the program does not take them."""
        block = encode([(RECORDS, values, None)])
        if len(block) < _MOST_BLOCK_BYTES or len(values) == 1:
            self._send_data(Collected(collection, block))
            return
        for value in values:
            self._send_data(Collected(collection, encode([(RECORDS, [value], None)])))

    def _send_data(self, message: Any) -> None:
        if self._data is None:
            self._data = self._connect("data")
        self._data.send(message)

    def wait_for_release(self, seconds: float | None) -> None:
        """Wait until the driver has let go of this task, which it also does by dying."""
        self._is_released.wait(seconds)

    def hang_up(self) -> None:
        """End the connection as if the driver had: the task stops, if need be with its process."""
        self._control.hang_up()

    def close(self) -> None:
        """Close both connections; the driver reads what is under way first."""
        with self._lock:
            self._report_lost_descriptor()
        self._is_closed.set()
        if self._data is not None:
            self._data.close()
        self._control.hang_up()
        self._reader.join()
        self._control.close()

    def limit_sending(self, seconds: float) -> None:
        """End the connection where the driver reads nothing for some seconds of what is sent to it."""
        self._control.limit_sending(seconds)

    def _report_lost_descriptor(self) -> None:
        """Say over another connection that somebody in this process has closed the descriptor of this one, once."""
        if self._has_lost_descriptor or self._is_closed.is_set() or self._control.has_descriptor():
            return
        self._has_lost_descriptor = True
        message = (
            f"A function of the program closed descriptors of its worker that are not its own (process {os.getpid()} on"
            f" {socket.gethostname()}), as os.close() and os.closerange() can: the connection to the driver is gone."
            " Close only what the program has opened."
        )
        with contextlib.suppress(OSError):
            connection = self._connect("control")
            connection.send(Failed(JobFailedError(message), ""))

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._on_message(self._control.receive())
        with self._lock:
            self._report_lost_descriptor()
        self._is_released.set()
        if not self._is_closed.is_set():
            self._on_message(Cancel())
            if not self._is_closed.wait(_LAST_SECONDS):
                _end_process(1)
