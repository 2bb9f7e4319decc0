"""Records for trying things out: what users do, goods on offer and orders for them, random but the same every time.

Each kind is a function for a ``DataGeneratorSource``. The record with a number depends on the number and the seed
alone, so a restarted job, and a run of the program tomorrow, see the same records.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import NamedTuple

from penstock.connectors.data_generator import GeneratorFunction

__all__ = ["GoodsOffer", "GoodsOffers", "GoodsOrder", "RandomOrders", "RandomUserEvents", "UserEvent"]


class UserEvent(NamedTuple):
    """Something that a user has done with a product."""

    user_id: str
    event_time: int
    event_type: str
    product_id: int


class RandomUserEvents(GeneratorFunction[UserEvent]):
    """Events of the users ``user_1`` to ``user_4`` of types ``type_0`` to ``type_2`` for products 0 to 3.

    One every 500 ms of event time; ``RateLimiterStrategy.per_second(2)`` lets them come in real time.
    """

    def __init__(self, seed: int = 0, *, first_time: int = 0) -> None:
        self._seed = seed
        self._first_time = first_time

    def map(self, value: int) -> UserEvent:
        """Return the event with this number."""
        choice = random.Random(f"{self._seed}/{value}")
        return UserEvent(
            f"user_{choice.randint(1, 4)}",
            self._first_time + 500 * value,
            f"type_{choice.randint(0, 2)}",
            choice.randint(0, 3),
        )


class GoodsOffer(NamedTuple):
    """Goods at a price."""

    goods_id: str
    name: str
    price: Decimal
    offered_at: int


_GOODS = [
    ("1", "小米12", "4890"),
    ("2", "iphone12", "12000"),
    ("3", "MacBookPro", "15000"),
    ("4", "Thinkpad X1", "9800"),
    ("5", "MeiZu One", "3200"),
    ("6", "Mate 40", "6500"),
]


class GoodsOffers(GeneratorFunction[GoodsOffer]):
    """All six goods, every second of event time; ``RateLimiterStrategy.per_second(6)`` lets them come in real time."""

    def __init__(self, *, first_time: int = 0) -> None:
        self._first_time = first_time

    def map(self, value: int) -> GoodsOffer:
        """Return the offer with this number."""
        second, number = divmod(value, len(_GOODS))
        goods_id, name, price = _GOODS[number]
        return GoodsOffer(goods_id, name, Decimal(price), self._first_time + 1000 * second)


class GoodsOrder(NamedTuple):
    """An order of some pieces."""

    item_id: str
    goods_id: str
    pieces: int
    ordered_at: int


class RandomOrders(GeneratorFunction[GoodsOrder]):
    """Every second of event time, one order of random goods and one of goods "111", which nobody offers.

    ``RateLimiterStrategy.per_second(2)`` lets them come in real time.
    """

    def __init__(self, seed: int = 0, *, first_time: int = 0) -> None:
        self._seed = seed
        self._first_time = first_time

    def map(self, value: int) -> GoodsOrder:
        """Return the order with this number."""
        second, is_unknown = divmod(value, 2)
        choice = random.Random(f"{self._seed}/{value}")
        goods_id = "111" if is_unknown else choice.choice(_GOODS)[0]
        return GoodsOrder(f"item-{value}", goods_id, choice.randint(1, 9), self._first_time + 1000 * second)
