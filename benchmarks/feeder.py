"""A line server for systems whose latency source cannot be written in Python: it sends each record when it is due."""

from __future__ import annotations

import socket
import threading

from benchmarks.pacing import Schedule
from benchmarks.program import Assignment


class Feeder(threading.Thread):
    """Serves one connection with the lines ``<number> <creation time>`` at the rate of the latency jobs."""

    def __init__(self, assignment: Assignment) -> None:
        """Listens on a free port of this machine."""
        super().__init__(name="feeder", daemon=True)
        self._schedule = Schedule(parallelism=1, settle=assignment.settle, seconds=assignment.seconds)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._server.getsockname()
        self.served = threading.Event()

    def run(self) -> None:
        """Sends all lines to the first client, then closes."""
        connection, _ = self._server.accept()
        with self._server, connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number, created in self._schedule:
                connection.sendall(b"%d %d\n" % (number, created))
        self.served.set()


class NumberFeeder(threading.Thread):
    """Serves one connection with the numbers from 0, and keeps it open for a while when all have been sent."""

    def __init__(self, numbers: int, linger: float) -> None:
        """Listens on a free port of this machine."""
        super().__init__(name="number feeder", daemon=True)
        self._numbers, self._linger = numbers, linger
        self._server = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._server.getsockname()

    def run(self) -> None:
        """Sends all numbers to the first client, waits, then closes."""
        connection, _ = self._server.accept()
        with self._server, connection:
            for low in range(0, self._numbers, 1_000):
                lines = range(low, min(low + 1_000, self._numbers))
                connection.sendall("".join(f"{number}\n" for number in lines).encode())
            threading.Event().wait(self._linger)
