"""Generated records, at the place Java Flink gives them."""

from penstock.connectors.data_generator import DataGeneratorSource, GeneratorFunction
from penstock.connectors.random_records import (
    GoodsOffer,
    GoodsOffers,
    GoodsOrder,
    RandomOrders,
    RandomUserEvents,
    UserEvent,
)
from penstock.connectors.rate_limiter import RateLimiter, RateLimiterStrategy

__all__ = [
    "DataGeneratorSource",
    "GeneratorFunction",
    "GoodsOffer",
    "GoodsOffers",
    "GoodsOrder",
    "RandomOrders",
    "RandomUserEvents",
    "RateLimiter",
    "RateLimiterStrategy",
    "UserEvent",
]
