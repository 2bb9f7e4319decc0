"""Joins goods with the orders for them, in windows of five seconds and by the distance of their times.

python examples/goods_orders.py

Prices are exact decimals. The first join pairs goods and orders of the same window; the second one pairs goods with
orders from two seconds before to one second after them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from penstock import (
    DataStream,
    JoinFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)


class Goods(NamedTuple):
    """An offer."""

    goods_id: str
    name: str
    price: Decimal
    at: int


class Order(NamedTuple):
    """An order of some pieces."""

    item_id: str
    goods_id: str
    pieces: int
    at: int


class Sale(NamedTuple):
    """What an order comes to."""

    goods_id: str
    name: str
    pieces: int
    total: Decimal


SECOND = 1_000
GOODS = [
    Goods("1", "小米12", Decimal("4890"), 10 * SECOND),
    Goods("2", "iphone12", Decimal("12000"), 10 * SECOND),
    Goods("3", "MacBookPro", Decimal("15000"), 11 * SECOND),
    Goods("4", "Thinkpad X1", Decimal("9800"), 12 * SECOND),
    Goods("5", "MeiZu One", Decimal("3200"), 13 * SECOND),
    Goods("6", "Mate 40", Decimal("6500"), 14 * SECOND),
]
ORDERS = [
    Order("item-1", "2", 1, 8 * SECOND),
    Order("item-2", "1", 3, 11 * SECOND),
    Order("item-3", "111", 5, 12 * SECOND),
    Order("item-4", "6", 2, 16 * SECOND),
]


class Total(JoinFunction[Goods, Order, Sale]):
    """Multiplies price and pieces."""

    def join(self, first: Goods, second: Order) -> Sale:
        """Make a sale of goods and an order for them."""
        return Sale(first.goods_id, first.name, second.pieces, first.price * second.pieces)


class TotalNearby(ProcessJoinFunction[Goods, Order, Sale]):
    """Multiplies price and pieces."""

    def process_element(self, left: Goods, right: Order, ctx: ProcessJoinFunction.Context) -> Iterator[Sale]:
        """Make a sale of goods and an order for them."""
        yield Sale(left.goods_id, left.name, right.pieces, left.price * right.pieces)


def sales(env: StreamExecutionEnvironment) -> tuple[DataStream[Sale], DataStream[Sale]]:
    """Return the sales of windows and those of intervals."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event.at)
    goods = env.from_collection(GOODS).assign_timestamps_and_watermarks(strategy)
    orders = env.from_collection(ORDERS).assign_timestamps_and_watermarks(strategy)
    in_window = (
        goods.join(orders)
        .where("goods_id")
        .equal_to("goods_id")
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .apply(Total())
    )
    nearby = (
        goods.key_by("goods_id")
        .interval_join(orders.key_by("goods_id"))
        .between(Time.seconds(-2), Time.seconds(1))
        .process(TotalNearby())
    )
    return in_window, nearby


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    in_window, nearby = sales(env)
    in_window.map(lambda sale: f"{sale.name} x {sale.pieces} = {sale.total}").print("in a window")
    nearby.map(lambda sale: f"{sale.name} x {sale.pieces} = {sale.total}").print("nearby")
    env.execute("goods and orders")


if __name__ == "__main__":
    main()
