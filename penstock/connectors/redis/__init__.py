"""Redis: a sink that writes values under keys, where writing again changes nothing."""

from penstock.connectors.redis.connection_options import RedisConnectionOptions
from penstock.connectors.redis.sink import RedisSink, RedisSinkBuilder

__all__ = ["RedisConnectionOptions", "RedisSink", "RedisSinkBuilder"]
