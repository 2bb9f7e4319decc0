"""Finds orders that are not paid within 15 minutes.

python examples/unpaid_orders.py

Time is the time written in the events, so the program runs in seconds and gives the same answer for old data.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock import (
    Duration,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)

MINUTE = 60_000
DEADLINE = 15 * MINUTE

# order, what happened, when: in the order of arrival, which is not quite the order of time
EVENTS = [
    ("order 1", "created", 0),
    ("order 2", "created", 1 * MINUTE),
    ("order 3", "created", 3 * MINUTE),
    ("order 1", "paid", 14 * MINUTE + 59_000),
    ("order 4", "created", 16 * MINUTE),
    ("order 3", "paid", 15 * MINUTE),
    ("order 4", "paid", 18 * MINUTE),
]


class UnpaidOrders(KeyedProcessFunction[str, tuple[str, str, int], str]):
    """Sets a timer for every new order; the payment deletes it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: when the order must be paid."""
        self.deadline: ValueState[int] = runtime_context.get_state(ValueStateDescriptor("deadline"))

    def process_element(self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Start or stop the timer."""
        order, event, at = value
        if event == "created":
            self.deadline.update(at + DEADLINE)
            ctx.timer_service().register_event_time_timer(at + DEADLINE)
        elif deadline := self.deadline.value():  # None after the deadline: the timer has fired already
            ctx.timer_service().delete_event_time_timer(deadline)
            self.deadline.clear()
            yield f"{order} is paid"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        """Report the order: the deadline has passed and no payment has deleted the timer."""
        self.deadline.clear()
        yield f"{ctx.get_current_key()} is not paid by minute {timestamp // MINUTE}"


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    in_time = in_order.with_timestamp_assigner(lambda event, _: event[2])
    # One subtask, as the source has: with more, the payment of an order could overtake the order itself.
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(in_time).set_parallelism(1)
    events.key_by(lambda event: event[0]).process(UnpaidOrders()).print()
    env.execute("unpaid orders")


if __name__ == "__main__":
    main()
