"""Matches orders with the receipts of the payment service, whichever comes first.

python examples/order_receipts.py

Both streams are divided by the transaction, so an order and its receipt meet in one subtask and share its state. What
has found no partner when its time is over goes to a side output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock import (
    KeyedCoProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)

PATIENCE = 60_000
UNMATCHED: OutputTag[str] = OutputTag("unmatched")

Order = tuple[int, str, str, int]
Receipt = tuple[str, str, int]

# order, what happened, transaction, when
ORDERS: list[Order] = [(1, "pay", "t1", 1_000), (2, "pay", "t2", 2_000), (3, "pay", "t3", 3_000)]
# transaction, channel, when
RECEIPTS: list[Receipt] = [("t2", "wechat", 1_500), ("t1", "alipay", 5_000), ("t9", "wechat", 6_000)]


class Match(KeyedCoProcessFunction[str, Order, Receipt, str]):
    """Keeps what came first until the other one comes, or until its time is over."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state of a transaction."""
        self.order: ValueState[Order] = runtime_context.get_state(ValueStateDescriptor("order"))
        self.receipt: ValueState[Receipt] = runtime_context.get_state(ValueStateDescriptor("receipt"))

    def process_element1(self, value: Order, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        """Take an order."""
        receipt = self.receipt.value()
        if receipt is None:
            self.order.update(value)
            ctx.timer_service().register_event_time_timer(value[3] + PATIENCE)
        else:
            yield f"order {value[0]} paid by {receipt[1]}"
            self.receipt.clear()

    def process_element2(self, value: Receipt, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        """Take a receipt."""
        order = self.order.value()
        if order is None:
            self.receipt.update(value)
            ctx.timer_service().register_event_time_timer(value[2] + PATIENCE)
        else:
            yield f"order {order[0]} paid by {value[1]}"
            self.order.clear()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        """Report what is still alone; a pair has cleared its state long ago."""
        for what, state in (("order", self.order), ("receipt", self.receipt)):
            if state.value() is not None:
                yield UNMATCHED, f"{what} of {ctx.get_current_key()} alone"
                state.clear()


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event[-1])
    orders = env.from_collection(ORDERS).assign_timestamps_and_watermarks(strategy)
    receipts = env.from_collection(RECEIPTS).assign_timestamps_and_watermarks(strategy)
    matched = orders.connect(receipts).key_by(lambda order: order[2], lambda receipt: receipt[0]).process(Match())
    matched.print("matched")
    matched.get_side_output(UNMATCHED).print("unmatched")
    env.execute("order receipts")


if __name__ == "__main__":
    main()
