"""Where a Redis server is, how often and how long its client tries, and the client library itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.address import split_address
from penstock.errors import ProgramError
from penstock.foundation.retrying import check_retries

__all__ = ["RedisConnectionOptions", "import_redis"]


@dataclass(frozen=True, kw_only=True)
class RedisConnectionOptions:
    """How to connect to a Redis server.

    Example:
        >>> RedisConnectionOptions(url="redis://:secret@cache.example:6380/2").place
        'cache.example:6380/2'
    """

    url: str = field(default="redis://localhost:6379/0", repr=False)
    """``redis://user:password@host:port/number``, ``rediss://`` for an encrypted connection, ``unix://path``."""
    connect_timeout: int = 10_000
    """How many milliseconds to wait for a connection."""
    socket_timeout: int | None = 30_000
    """How many milliseconds to wait for an answer; without it, as long as it takes."""
    retries: int = 3
    """How often something is tried again after a lost connection or the like, before the job fails."""
    retry_backoff: int = 1_000
    """How many milliseconds to wait before the first retry; twice as long before each further one, at most 30 s."""

    def __post_init__(self) -> None:
        if split_address(self.url).scheme not in ("redis", "rediss", "unix"):
            message = f"{self.place!r} is no address of a Redis server; write redis://host:6379/0."
            raise ProgramError(message)
        check_retries(retries=self.retries, retry_backoff=self.retry_backoff, connect_timeout=self.connect_timeout)

    @property
    def place(self) -> str:
        """Return what messages call the server: the address without user and password."""
        parts = split_address(self.url)
        return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def import_redis() -> Any:
    """Return the package redis."""
    try:
        import redis
    except ImportError as error:
        message = "Redis needs the package redis: pip install 'penstock[redis]'."
        raise ProgramError(message) from error
    return redis
