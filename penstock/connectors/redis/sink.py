"""The sink for Redis, and its builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.redis.connection_options import RedisConnectionOptions
from penstock.connectors.redis.writer import RedisSinkSettings, RedisWriter
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery, Sink
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.vocabulary.sinks.protocol import SinkWriter, WriterContext
    from penstock.vocabulary.time.durations import TimeLength

__all__ = [
    "RedisSink",
    "RedisSinkBuilder",
]


class RedisSink(Sink[Any]):
    """Writes a value, or the fields of a hash, under the key of each record; made by ``RedisSink.builder()``.

    What a key holds afterwards depends on its last record alone, so records that are written again change nothing. Keys
    and values must follow from the record: a key with the present time in it is another one each time.
    """

    delivery = Delivery.IDEMPOTENT

    def __init__(self, settings: RedisSinkSettings) -> None:
        self.settings = settings

    @staticmethod
    def builder() -> RedisSinkBuilder:
        """Start to describe a sink."""
        return RedisSinkBuilder()

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Start writing."""
        return RedisWriter(self.settings, context)


class RedisSinkBuilder:
    """Collects what a ``RedisSink`` needs: a connection, a key, and a value or fields.

    Example:
        >>> sink = (
        ...     RedisSink.builder()
        ...     .set_url("redis://localhost:6379/0")
        ...     .set_key(lambda count: f"count:{count[0]}")
        ...     .set_value(lambda count: count[1])
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._connection = RedisConnectionOptions()
        self._key: Callable[[Any], Any] | None = None
        self._value: Callable[[Any], Any] | None = None
        self._fields: Callable[[Any], Any] | None = None
        self._hash_name: str | None = None
        self._expiry: int | None = None
        self._batch_size = 1000
        self._batch_interval = 0

    def set_connection_options(self, options: RedisConnectionOptions) -> Self:
        """Say where the server is; on this machine, if nothing is said."""
        self._connection = options
        return self

    def set_url(self, url: str, **options: Any) -> Self:
        """Say where the server is, by its address and options of ``RedisConnectionOptions``."""
        return self.set_connection_options(RedisConnectionOptions(url=url, **options))

    def set_key(self, key: Callable[[Any], str | bytes | int]) -> Self:
        """Set the function that gives the key of a record."""
        self._key = key
        return self

    def set_value(self, value: Callable[[Any], str | bytes | int | float | None]) -> Self:
        """Set the function that gives the value of a record (``SET``); the value None removes the key."""
        self._value = value
        return self

    def set_fields(self, fields: Callable[[Any], Mapping[str, Any] | None]) -> Self:
        """Set the function that gives fields of the hash under the key (``HSET``); None removes the key."""
        self._fields = fields
        return self

    def set_hash_name(self, name: str) -> Self:
        """Write the values into one hash: keys are its fields (``HSET``), the value None removes one."""
        self._hash_name = name
        return self

    def set_expiry(self, expiry: TimeLength) -> Self:
        """Let a key go this long after it was written last."""
        self._expiry = to_millis(expiry)
        return self

    def set_batch_size(self, records: int) -> Self:
        """Say how many records are sent at a time."""
        self._batch_size = records
        return self

    def set_batch_interval(self, interval: TimeLength) -> Self:
        """Say how long a record waits for others; without it, until there are enough or a checkpoint is taken."""
        self._batch_interval = to_millis(interval)
        return self

    def build(self) -> RedisSink:
        """Return the sink."""
        problem = self._problem()
        if problem is not None:
            raise ProgramError(problem)
        assert self._key is not None
        settings = RedisSinkSettings(
            connection=self._connection,
            key=self._key,
            value=self._value,
            fields=self._fields,
            hash_name=self._hash_name,
            expiry=self._expiry,
            batch_size=self._batch_size,
            batch_interval=self._batch_interval,
        )
        return RedisSink(settings)

    def _problem(self) -> str | None:
        if self._key is None:
            return "Under which key is a record written? Call set_key."
        if (self._value is None) == (self._fields is None):
            return "What is written under a key? Call either set_value or set_fields."
        if self._hash_name is not None and self._fields is not None:
            return "In a hash for all records, a record is one field: call set_value, not set_fields."
        if self._hash_name is not None and self._expiry is not None:
            return "Fields of a hash do not expire: leave out set_expiry or set_hash_name."
        if self._expiry is not None and self._expiry <= 0:
            return f"The expiry must be positive: {self._expiry} ms."
        if self._batch_size < 1 or self._batch_interval < 0:
            return (
                f"A batch has at least one record and waits for no negative time: {self._batch_size} records, "
                f"{self._batch_interval} ms."
            )
        return None
