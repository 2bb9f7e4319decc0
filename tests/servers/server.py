"""A server process on loopback that keeps its port and its data while it is stopped, killed and started again."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path

__all__ = ["Server", "free_port"]

SECONDS_TO_START = 60


class Server(ABC):
    """One server. ``start``, ``stop`` and ``kill`` may come from any thread, and again and again."""

    name: str

    def __init__(self) -> None:
        self.port = free_port()
        self.directory = Path(tempfile.mkdtemp(prefix=f"penstock-{self.name}-"))
        self.log = self.directory / "log"
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.RLock()
        self._guard = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("guard.py"), self.directory],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line."""

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Return the environment of the process."""

    @abstractmethod
    def answers(self) -> bool:
        """Tell whether the server does its work."""

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Return environment variables that tell a program where the server is."""

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    def start(self) -> None:
        """Start the server, if it does not run, and wait until it answers."""
        with self._lock:
            if self.is_running:
                return
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    self.command(),
                    cwd=self.directory,
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is for the tests, which stop the server when they are done with it
                )
            self._tell_guard(self._process.pid)
            deadline = time.monotonic() + SECONDS_TO_START
            while not self.answers():
                assert self.is_running, f"{self.name} ended: {self.complaints()}"
                assert time.monotonic() < deadline, f"{self.name} does not answer: {self.complaints()}"
                time.sleep(0.05)

    def stop(self) -> None:
        """Shut the server down in an orderly way."""
        with self._lock:
            if self._process is not None:
                self._process.terminate()
                try:
                    self._process.wait(30)
                except subprocess.TimeoutExpired:
                    self._process.kill()
                self._ended()

    def kill(self) -> None:
        """Kill the server, with no chance to write anything more."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._ended()

    def close(self) -> None:
        """End the server for good and remove its data."""
        with self._lock:
            self.kill()
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            self._guard.wait(30)

    def complaints(self) -> str:
        """Return the end of the log."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else "it has written no log"

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait(30)
        self._process = None
        self._tell_guard(0)

    def _tell_guard(self, process: int) -> None:
        assert self._guard.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._guard.stdin.write(f"{process}\n".encode())
            self._guard.stdin.flush()


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
