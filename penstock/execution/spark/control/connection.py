"""A proven connection of the control channel: messages in frames of limited size, each with a tag."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import pickle
import socket
import stat
import struct
from typing import Any

__all__ = ["MOST_FRAME_BYTES", "ControlConnection"]

MOST_FRAME_BYTES = 2 << 30
_TAG_BYTES = 16
_HEADER = struct.Struct(f">Q{_TAG_BYTES}s")
_SEQUENCE = struct.Struct(">QQ")
_CHUNK_BYTES = 1 << 20
_TIMEOUT = struct.Struct("ll")


class ControlConnection:
    """Sends and receives messages; one thread may send while another one receives.

    The tag covers the number of the frame too: a frame that was changed, left out or sent again by somebody in between
    ends the connection before anything of it is unpickled.
    """

    def __init__(self, peer: socket.socket, send_key: bytes, receive_key: bytes) -> None:
        peer.setblocking(True)  # noqa: FBT003 - the socket's own signature
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peer = peer
        self._send_key = send_key
        self._receive_key = receive_key
        self._sent = 0
        self._received = 0

    def limit_sending(self, seconds: float) -> None:
        """Let a send fail when the other side takes nothing for some seconds."""
        whole = int(seconds)
        timeout = _TIMEOUT.pack(whole, int((seconds - whole) * 1_000_000))
        self._peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, timeout)

    def send(self, message: Any) -> None:
        """Pickle and send a message."""
        self.send_packed(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))

    def send_packed(self, packed: bytes) -> None:
        """Send a message that is pickled already."""
        if len(packed) > MOST_FRAME_BYTES:
            message = f"a message of {len(packed)} bytes is more than the {MOST_FRAME_BYTES} the control channel takes"
            raise ValueError(message)
        header = _HEADER.pack(len(packed), _tag(self._send_key, self._sent, packed))
        self._sent += 1
        if len(packed) < _CHUNK_BYTES:
            self._peer.sendall(header + packed)
        else:
            self._peer.sendall(header)
            self._peer.sendall(packed)

    def receive(self) -> Any:
        """Return the next message; raises ``EOFError`` at the end and ``OSError`` where the connection is broken."""
        size, tag = _HEADER.unpack(self._read(_HEADER.size))
        if size > MOST_FRAME_BYTES:
            message = f"a frame of {size} bytes on the control channel"
            raise ConnectionError(message)
        packed = self._read(size)
        if not hmac.compare_digest(tag, _tag(self._receive_key, self._received, packed)):
            message = "a frame with a wrong tag on the control channel"
            raise ConnectionError(message)
        self._received += 1
        return pickle.loads(packed)

    def hang_up(self) -> None:
        """End both directions at once; a thread that waits for a message of the other side is told that none comes."""
        self._shut_down(socket.SHUT_RDWR)

    def let_go(self) -> None:
        """Say that nothing more will be sent; what the other side still says is heard."""
        self._shut_down(socket.SHUT_WR)

    def has_descriptor(self) -> bool:
        """Tell whether the descriptor is still this connection's, and not closed by somebody else."""
        try:
            return stat.S_ISSOCK(os.fstat(self._peer.fileno()).st_mode)
        except OSError:
            return False

    def close(self) -> None:
        """Give the descriptor back."""
        self._peer.close()

    def _shut_down(self, how: int) -> None:
        # A file descriptor that is closed while a thread reads from it stays open until the read returns: shut it down.
        with contextlib.suppress(OSError):
            self._peer.shutdown(how)

    def _read(self, size: int) -> bytearray:
        # A size is only believed as far as bytes come: memory grows with what was sent, not with what was announced.
        content = bytearray()
        while len(content) < size:
            chunk = self._peer.recv(min(size - len(content), _CHUNK_BYTES))
            if not chunk:
                raise EOFError
            content += chunk
        return content


def _tag(key: bytes, number: int, packed: bytes | bytearray) -> bytes:
    digest = hashlib.blake2b(_SEQUENCE.pack(number, len(packed)), digest_size=_TAG_BYTES, key=key)
    digest.update(packed)
    return digest.digest()
