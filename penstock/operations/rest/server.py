"""The driver's web server: bound at once, so that its address is known, and started in a thread of its own."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import logging
import socket
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.operations.access_token import AccessToken
    from penstock.operations.rest.served_jobs import ServedJobs
    from penstock.operations.settings import OperationsSettings

__all__ = ["RestServer", "is_web_installed"]

_log = logging.getLogger("penstock.rest")
_MOST_CONNECTIONS = 100
_MOST_HEADER_BYTES = 1 << 14


def is_web_installed() -> bool:
    """Tell whether the packages of ``penstock[web]`` are there."""
    return all(importlib.util.find_spec(name) is not None for name in ("starlette", "uvicorn"))


class RestServer:
    """Serves the jobs of this driver; connections wait until its thread has loaded what it needs.

    Raises:
        OSError: No port is free, or the address is not one of this machine.
    """

    def __init__(self, jobs: ServedJobs, token: AccessToken, settings: OperationsSettings, version: str) -> None:
        self._jobs = jobs
        self._token = token
        self._settings = settings
        self._version = version
        self._socket = _bind(settings)
        self._server: Any = None
        self._is_closed = False
        port = self._socket.getsockname()[1]
        scheme = "http" if settings.certificate is None else "https"
        name = f"[{settings.address}]" if ":" in settings.address else settings.address
        self.address = f"{scheme}://{name}:{port}"
        self._thread = threading.Thread(target=self._serve, name="penstock rest", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the server."""
        self._is_closed = True
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(10)
        with contextlib.suppress(OSError):
            self._socket.close()

    def _serve(self) -> None:
        try:
            # Here, not above: they take a while, and the job need not wait for them.
            import uvicorn

            from penstock.operations.rest.application import rest_application

            names = {self._settings.address, self._settings.bind_address, socket.gethostname(), socket.getfqdn()}
            config = uvicorn.Config(
                rest_application(self._jobs, self._token, names, self._version),
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                limit_concurrency=_MOST_CONNECTIONS,
                h11_max_incomplete_event_size=_MOST_HEADER_BYTES,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=1,
                ssl_certfile=self._settings.certificate,
                ssl_keyfile=self._settings.key,
            )
            self._server = uvicorn.Server(config)
            if not self._is_closed:
                self._server.run(sockets=[self._socket])
        except Exception:
            _log.exception("the REST interface at %s has ended", self.address)


def _bind(settings: OperationsSettings) -> socket.socket:
    host = settings.bind_address
    family, _, _, _, place = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    for port in settings.all_ports:
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((place[0], port, *place[2:]))
            bound.listen(128)
        except OSError as error:
            bound.close()
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                continue
            raise
        return bound
    message = f"no port of rest.bind-port (rest.port) is free on {host}"
    raise OSError(errno.EADDRINUSE, message)
