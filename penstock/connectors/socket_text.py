"""The source of lines that come over a socket: for trying things out, because nothing can be read again."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import ExternalSystemError, MalformedRecordError, ProgramError
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

__all__ = ["SocketTextSource"]

_RETRY_SECONDS = 0.5
_CONNECT_SECONDS = 30.0
_BLOCK_BYTES = 64 * 1024
_BUFFERED_LINES = 8192
"""With so many lines waiting, no more are taken from the socket: that is back-pressure."""
_JOIN_SECONDS = 2.0


class SocketTextSource(Source[str]):
    r"""Reads text from a server, cut at a delimiter; ``\r\n`` counts as ``\n``.

    The stream ends when the server closes the connection and there are no attempts to connect again left. Not
    replayable: what was read and not yet processed when the job fails is lost.

    Args:
        host: The server.
        port: Its port.
        delimiter: What stands between two records.
        max_retry: How many times to connect again when the connection has ended; -1: for ever.
    """

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED
    is_parallel = False
    is_replayable = False

    def __init__(self, host: str, port: int, delimiter: str = "\n", max_retry: int = 0) -> None:
        if not 0 < port < 65536:
            message = f"socket_text_stream(): there is no port {port}."
            raise ProgramError(message)
        if not delimiter:
            message = "socket_text_stream(): the delimiter must not be empty."
            raise ProgramError(message)
        if max_retry < -1:
            message = f"socket_text_stream(): max_retry is a number of attempts, or -1 for ever, not {max_retry}."
            raise ProgramError(message)
        self.host = host
        self.port = port
        self.delimiter = delimiter
        self.max_retry = max_retry

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return the one connection."""
        return [SourceSplit(f"{self.host}:{self.port}")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[str]:
        """Start reading; a position only counts what was read before."""
        return _SocketReader(self, split.id, position or 0, context)


class _SocketReader(SplitReader[str]):
    """Takes the lines that a thread has received."""

    def __init__(self, source: SocketTextSource, name: str, count: int, context: ReaderContext) -> None:
        self._source = source
        self._name = name
        self._count = count
        self._wake_up = context.wake_up
        self._delimiter = source.delimiter.encode()
        self._lock = threading.Condition()
        self._lines: list[bytes] = []
        self._error: OSError | None = None
        self._is_ended = False
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def read(self, limit: int) -> tuple[list[str], list[int] | None] | None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"socket {self._name}", daemon=True)
            self._thread.start()
        with self._lock:
            lines, self._lines = self._lines[:limit], self._lines[limit:]
            is_ended, error = self._is_ended, self._error
            self._lock.notify_all()
        if not lines and error is not None:
            message = (
                f"The socket {self._name} cannot be read: {error}. See whether the server runs and can be reached from "
                "the machines of the cluster."
            )
            raise ExternalSystemError(message) from error
        if not lines and is_ended:
            return None
        return self._decoded(lines), None

    def _decoded(self, lines: list[bytes]) -> list[str]:
        records: list[str] = []
        try:
            for line in lines:
                records.append(line.decode())
        except UnicodeDecodeError as error:
            number = len(records)
            problem = f"it is not UTF-8 ({error.reason})"
            raise MalformedRecordError(
                self._name, f"record {self._count + number + 1}", lines[number], problem
            ) from error
        self._count += len(records)
        return records

    def position(self) -> int:
        return self._count

    def close(self) -> None:
        self._stopped.set()
        with self._lock:
            self._lock.notify_all()
        if self._socket is not None:
            from socket import SHUT_RDWR

            with contextlib.suppress(OSError):  # it is closed already
                self._socket.shutdown(SHUT_RDWR)
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        attempts = 0
        try:
            while not self._stopped.is_set():
                self._receive()
                attempts += 1
                if self._source.max_retry != -1 and attempts > self._source.max_retry:
                    break
                self._stopped.wait(_RETRY_SECONDS)
        except OSError as error:
            self._error = None if self._stopped.is_set() else error
        with self._lock:
            self._is_ended = True
        self._wake_up()

    def _receive(self) -> None:
        """Receive until the server closes the connection; what is left then is a record too."""
        from socket import create_connection  # takes a while, and few programs need it

        with create_connection((self._source.host, self._source.port), _CONNECT_SECONDS) as self._socket:
            self._socket.settimeout(None)
            rest = b""
            while not self._stopped.is_set() and (block := self._socket.recv(_BLOCK_BYTES)):
                *lines, rest = (rest + block).split(self._delimiter)
                self._put(lines)
            if rest and not self._stopped.is_set():
                self._put([rest])

    def _put(self, lines: list[bytes]) -> None:
        if not lines:
            return
        if self._delimiter == b"\n":
            lines = [line.removesuffix(b"\r") for line in lines]
        with self._lock:
            self._lock.wait_for(lambda: len(self._lines) < _BUFFERED_LINES or self._stopped.is_set())
            self._lines += lines
        self._wake_up()
