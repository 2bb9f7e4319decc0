"""A network between the driver and its workers that can be cut: what is sent is neither delivered nor refused."""

from __future__ import annotations

import contextlib
import socket
import threading

__all__ = ["CutNetwork"]


class CutNetwork:
    """Forwards connections to an address until it is cut; connections of before stay open and silent for ever."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()
        return host, port

    def cut(self) -> None:
        self._is_whole.clear()

    def close(self) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._is_whole.wait()
                target.sendall(data)
            self._is_whole.wait()
            target.shutdown(socket.SHUT_WR)
