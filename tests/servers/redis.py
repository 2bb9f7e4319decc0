"""A Redis server that is empty when a test begins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from tests.servers.debian import Installed, serve
from tests.servers.server import Server

__all__ = ["RedisServer", "redis_server", "redis_store"]

HOST = "127.0.0.1"


class RedisServer(Server):
    """Redis that appends every change to a file, so that it comes back with its data after ``kill -9``."""

    name = "redis"

    def __init__(self, program: Installed) -> None:
        super().__init__()
        self.program = program

    def command(self) -> list[str]:
        settings = {
            "port": str(self.port),
            "bind": HOST,
            "dir": str(self.directory),
            "appendonly": "yes",
            "appendfsync": "no",
            "save": "",
            "daemonize": "no",
        }
        return [str(self.program.program), *(part for key, value in settings.items() for part in (f"--{key}", value))]

    def environment(self) -> dict[str, str]:
        return self.program.environment()

    def answers(self) -> bool:
        try:
            with self.connect() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def connect(self) -> Any:
        """Return a client of the test's own."""
        return redis.Redis(host=HOST, port=self.port, decode_responses=True, socket_timeout=10)

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    def settings(self) -> dict[str, str]:
        return {"SHOP_CACHE": self.url}


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """The one Redis server of the run."""
    yield from serve(RedisServer, "redis-server", "redis-server")


@pytest.fixture
def redis_store(redis_server: RedisServer) -> RedisServer:
    """The server, with nothing in it."""
    redis_server.start()
    with redis_server.connect() as client:
        client.flushall()
    return redis_server
