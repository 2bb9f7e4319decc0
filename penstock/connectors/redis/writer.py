"""Writes to Redis in batches: what, where and when, and the writer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.batching_writer import BatchingWriter
from penstock.connectors.redis.connection_options import import_redis
from penstock.errors import ExternalSystemError, ProgramError
from penstock.foundation.clock import pause
from penstock.foundation.retrying import retry

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.redis.connection_options import RedisConnectionOptions
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["RedisSinkSettings", "RedisWriter"]


@dataclass(frozen=True, kw_only=True)
class RedisSinkSettings:
    """What is written, where, and when."""

    connection: RedisConnectionOptions
    key: Callable[[Any], Any]
    value: Callable[[Any], Any] | None = None
    fields: Callable[[Any], Any] | None = None
    hash_name: str | None = None
    expiry: int | None = None
    batch_size: int = 1000
    batch_interval: int = 0


class RedisWriter(BatchingWriter):
    """Sends the commands of a batch together; a batch whose connection is lost is sent again as a whole."""

    def __init__(
        self, settings: RedisSinkSettings, context: WriterContext, wait: Callable[[float], None] = pause
    ) -> None:
        super().__init__(context, settings.batch_size, settings.batch_interval)
        self._settings = settings
        self._wait = wait
        self._client: Any = None
        self._add = self._addition()

    def _prepared(self, elements: list[Any]) -> list[Any]:
        return elements

    def send(self, *, must_end: bool) -> None:
        """Send a command for each record, in their order."""
        if not self._items:
            return
        connection = self._settings.connection
        try:
            retry(
                self._send_commands,
                retries=connection.retries,
                backoff=connection.retry_backoff,
                may_pass=_may_pass,
                on_failure=self.close,
                wait=self._wait,
                place=f"The Redis server at {connection.place}",
            )
        except import_redis().exceptions.DataError as error:
            message = f"Redis takes text, bytes and numbers as keys and values: {error}"
            raise ProgramError(message) from error
        except import_redis().RedisError as error:
            message = f"The Redis server at {connection.place} refuses a record: {error}."
            raise ExternalSystemError(message) from error
        self._items = []

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            with contextlib.suppress(Exception):  # it may be broken, which is why it is closed
                self._client.close()
            self._client = None

    def _send_commands(self) -> None:
        if self._client is None:
            self._client = self._connect()
        # One round trip for all commands; each of them stands for itself, so no transaction is needed.
        with self._client.pipeline(transaction=False) as pipeline:
            add = self._add
            for record in self._items:
                add(pipeline, record)
            pipeline.execute()

    def _connect(self) -> Any:
        options = self._settings.connection
        redis = import_redis()
        return redis.Redis.from_url(
            options.url,
            socket_connect_timeout=options.connect_timeout / 1000,
            socket_timeout=None if options.socket_timeout is None else options.socket_timeout / 1000,
            retry=redis.retry.Retry(redis.backoff.NoBackoff(), 0),  # this writer tries again itself
        )

    def _addition(self) -> Callable[[Any, Any], None]:
        settings = self._settings
        if settings.fields is not None:
            return self._add_fields
        return self._add_value if settings.hash_name is None else self._add_to_hash

    def _add_value(self, pipeline: Any, record: Any) -> None:
        settings = self._settings
        assert settings.value is not None
        key, value = settings.key(record), settings.value(record)
        if value is None:
            pipeline.delete(key)
        else:
            pipeline.set(key, value, px=settings.expiry)

    def _add_to_hash(self, pipeline: Any, record: Any) -> None:
        settings = self._settings
        assert settings.value is not None
        key, value = settings.key(record), settings.value(record)
        if value is None:
            pipeline.hdel(settings.hash_name, key)
        else:
            pipeline.hset(settings.hash_name, key, value)

    def _add_fields(self, pipeline: Any, record: Any) -> None:
        settings = self._settings
        assert settings.fields is not None
        key, fields = settings.key(record), settings.fields(record)
        if fields is None:
            pipeline.delete(key)
            return
        pipeline.hset(key, mapping=fields)
        if settings.expiry is not None:
            pipeline.pexpire(key, settings.expiry)


def _may_pass(error: Exception) -> bool:
    exceptions = import_redis().exceptions
    passing = (exceptions.ConnectionError, exceptions.TimeoutError, exceptions.ReadOnlyError)
    staying = (exceptions.AuthenticationError, exceptions.AuthorizationError)
    return isinstance(error, passing) and not isinstance(error, staying)
