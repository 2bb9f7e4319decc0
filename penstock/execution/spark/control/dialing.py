"""How a task gets a connection to its driver."""

from __future__ import annotations

import socket

from penstock.execution.spark.control.connection import ControlConnection
from penstock.execution.spark.control.handshake import CHALLENGE_BYTES, PROOF_BYTES, Handshake
from penstock.foundation.clock import monotonic_seconds, pause

__all__ = ["dial"]

_DIAL_SECONDS = 20.0
_TRY_SECONDS = 10.0
_PAUSE_SECONDS = 0.05
_LONGEST_PAUSE_SECONDS = 1.0


def dial(address: tuple[str, int], key: bytes, *, seconds: float = _DIAL_SECONDS) -> ControlConnection:
    """Connect and prove to know the key; raises ``OSError`` where the driver cannot be reached or does not agree.

    A driver that is crowded by strangers may drop a connection before it has been heard: tried again for some seconds.
    """
    deadline = monotonic_seconds() + seconds
    delay = _PAUSE_SECONDS
    while True:
        try:
            return _dial_once(address, key)
        except ConnectionRefusedError:
            raise  # nobody listens there, and nobody will: each attempt of a job has a port of its own
        except OSError:
            if monotonic_seconds() + delay > deadline:
                raise
        pause(delay)
        delay = min(2 * delay, _LONGEST_PAUSE_SECONDS)


def _dial_once(address: tuple[str, int], key: bytes) -> ControlConnection:
    peer = socket.create_connection(address, timeout=_TRY_SECONDS)
    try:
        handshake = Handshake(key)
        peer.sendall(handshake.answer(_read(peer, CHALLENGE_BYTES)))
        handshake.check(_read(peer, PROOF_BYTES))
        keys = handshake.session_keys()
        return ControlConnection(peer, keys.to_driver, keys.to_task)
    except BaseException:
        peer.close()
        raise


def _read(peer: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        chunk = peer.recv(size - len(content))
        if not chunk:
            message = "the driver ended the connection before the job's key was agreed upon"
            raise ConnectionResetError(message)
        content += chunk
    return content
