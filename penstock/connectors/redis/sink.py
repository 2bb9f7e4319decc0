"""The sink for Redis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.sinks.protocol import Delivery, Sink

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.redis.connection_options import RedisConnectionOptions
    from penstock.connectors.redis.sink_builder import RedisSinkBuilder
    from penstock.vocabulary.sinks.protocol import SinkWriter, WriterContext

__all__ = ["RedisSink", "RedisSinkSettings"]


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
        from penstock.connectors.redis.sink_builder import RedisSinkBuilder

        return RedisSinkBuilder()

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Start writing."""
        from penstock.connectors.redis.writer import RedisWriter  # only running sinks need it

        return RedisWriter(self.settings, context)
