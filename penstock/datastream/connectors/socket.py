"""Text from a socket."""

from penstock.connectors.socket_text import SocketTextSource

__all__ = ["SocketTextSource"]
