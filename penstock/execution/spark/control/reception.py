"""Where connections to the driver wait until they have proved that they know the job's key."""

from __future__ import annotations

import contextlib
import errno
import logging
import selectors
import socket
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.execution.spark.control.handshake import ANSWER_BYTES, Handshake, SessionKeys
from penstock.foundation.clock import monotonic_seconds

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Reception"]

_log = logging.getLogger("penstock.control")

_PROOF_SECONDS = 10.0
"""How long a connection may take to prove itself."""
_MOST_WAITING = 128
"""How many may be at it at the same time; one more, and the one that has taken longest has to go. A task needs
milliseconds and comes again, so that strangers who hold connections open keep no task out."""
_REPORT_SECONDS = 10.0
"""How often the log may say that connections were refused."""
_NO_ROOM = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REST_SECONDS = 0.1


@dataclass
class _Newcomer:
    peer: socket.socket
    handshake: Handshake
    deadline: float
    answer: bytearray = field(default_factory=bytearray)


class Reception:
    """One thread for all connections that have not proved themselves: strangers get no thread and little memory.

    ``on_admitted`` is called from that thread with each connection that has.
    """

    def __init__(
        self,
        host: str,
        key: bytes,
        on_admitted: Callable[[socket.socket, SessionKeys], None],
        *,
        proof_seconds: float = _PROOF_SECONDS,
        most_waiting: int = _MOST_WAITING,
    ) -> None:
        self._key = key
        self._on_admitted = on_admitted
        self._proof_seconds = proof_seconds
        self._most_waiting = most_waiting
        self._listener = socket.create_server((host, 0), backlog=256)
        self._listener.setblocking(False)  # noqa: FBT003 - the socket's own signature
        self._bell, self._bell_rope = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._waiting: dict[socket.socket, _Newcomer] = {}
        """In the order in which they came, which is the order of their deadlines too."""
        self._refused = 0
        self._next_report = 0.0
        self._thread = threading.Thread(target=self._run, name="penstock control", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port that is listened at."""
        return int(self._listener.getsockname()[1])

    @property
    def waiting(self) -> int:
        """Return how many connections have not proved themselves yet."""
        return len(self._waiting)

    def close(self) -> None:
        """Stop listening and drop everybody who has not proved anything."""
        self._bell_rope.send(b"!")
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            ready = [key.fileobj for key, _ in self._selector.select(self._seconds_to_wait())]
            for peer in ready:
                if peer is self._bell:
                    is_open = False
                elif peer is self._listener:
                    self._accept()
                elif (newcomer := self._waiting.get(_as_socket(peer))) is not None:
                    self._hear(newcomer)
            self._drop_overdue()
            self._report()
        for newcomer in list(self._waiting.values()):
            self._drop(newcomer)
        self._selector.close()
        for own in (self._listener, self._bell, self._bell_rope):
            own.close()

    def _seconds_to_wait(self) -> float | None:
        first = next(iter(self._waiting.values()), None)
        due = [] if first is None else [first.deadline]
        if self._refused:
            due.append(self._next_report)
        return max(0.0, min(due) - monotonic_seconds()) if due else None

    def _accept(self) -> None:
        try:
            peer, _ = self._listener.accept()
        except OSError as error:
            if error.errno in _NO_ROOM:
                self._make_room()
            return  # else a peer that went away before it was let in
        peer.setblocking(False)  # noqa: FBT003 - the socket's own signature
        newcomer = _Newcomer(peer, Handshake(self._key), monotonic_seconds() + self._proof_seconds)
        self._waiting[peer] = newcomer
        self._selector.register(peer, selectors.EVENT_READ)
        try:
            peer.sendall(newcomer.handshake.challenge())
        except OSError:
            self._drop(newcomer)
        if len(self._waiting) > self._most_waiting:
            self._refuse(next(iter(self._waiting.values())))

    def _make_room(self) -> None:
        """Drop the oldest one where the process has no descriptors left, or wait for others to give some back."""
        if self._waiting:
            self._refuse(next(iter(self._waiting.values())))
        else:
            self._bell.settimeout(_REST_SECONDS)
            with contextlib.suppress(OSError):
                self._bell.recv(1, socket.MSG_PEEK)

    def _hear(self, newcomer: _Newcomer) -> None:
        try:
            said = newcomer.peer.recv(ANSWER_BYTES - len(newcomer.answer))
        except BlockingIOError:
            return
        except OSError:
            said = b""
        newcomer.answer += said
        if not said:
            self._drop(newcomer)
        elif len(newcomer.answer) == ANSWER_BYTES:
            self._judge(newcomer)

    def _judge(self, newcomer: _Newcomer) -> None:
        proof = newcomer.handshake.accept(bytes(newcomer.answer))
        if proof is None:
            self._refuse(newcomer)
            return
        del self._waiting[newcomer.peer]
        self._selector.unregister(newcomer.peer)
        try:
            newcomer.peer.sendall(proof)
            self._on_admitted(newcomer.peer, newcomer.handshake.session_keys())
        except OSError:
            newcomer.peer.close()  # it went away
        except RuntimeError as error:
            _log.error("a connection to a task cannot be served: %s", error)
            newcomer.peer.close()

    def _drop_overdue(self) -> None:
        now = monotonic_seconds()
        while (first := next(iter(self._waiting.values()), None)) is not None and first.deadline <= now:
            self._refuse(first)

    def _refuse(self, newcomer: _Newcomer) -> None:
        self._refused += 1
        self._drop(newcomer)

    def _drop(self, newcomer: _Newcomer) -> None:
        if self._waiting.pop(newcomer.peer, None) is not None:
            self._selector.unregister(newcomer.peer)
            newcomer.peer.close()

    def _report(self) -> None:
        now = monotonic_seconds()
        if self._refused and now >= self._next_report:
            _log.warning("refused %d connections that did not prove to know the job's key", self._refused)
            self._refused = 0
            self._next_report = now + _REPORT_SECONDS


def _as_socket(peer: Any) -> socket.socket:
    assert isinstance(peer, socket.socket)
    return peer
