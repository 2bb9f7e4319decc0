"""The sink for Redis."""

from penstock.connectors.redis import RedisConnectionOptions, RedisSink, RedisSinkBuilder

__all__ = ["RedisConnectionOptions", "RedisSink", "RedisSinkBuilder"]
