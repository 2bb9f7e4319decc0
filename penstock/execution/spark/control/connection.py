"""How a connection of the control channel ends, which a plain ``close`` does not do while another thread reads it."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["hang_up", "let_go"]


def hang_up(connection: Connection) -> None:
    """End both directions at once; a thread that waits for a message of the other side is told that none comes."""
    _shut_down(connection, socket.SHUT_RDWR)


def let_go(connection: Connection) -> None:
    """Say that nothing more will be sent; what the other side still says is heard."""
    _shut_down(connection, socket.SHUT_WR)


def _shut_down(connection: Connection, how: int) -> None:
    # A file descriptor that is closed while a thread reads from it stays open until the read returns: shut it down.
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        peer.shutdown(how)
