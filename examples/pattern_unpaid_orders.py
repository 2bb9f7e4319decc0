"""Finds orders that are not paid within 15 minutes, by a pattern; `unpaid_orders.py` does it with timers.

python examples/pattern_unpaid_orders.py

A match is a paid order. A half match whose time is over is an unpaid one, which goes to a side output.
"""

from __future__ import annotations

from penstock import DataStream, Duration, OutputTag, StreamExecutionEnvironment, WatermarkStrategy
from penstock.cep import CEP, Pattern

Event = tuple[str, str, int]

MINUTE = 60_000
UNPAID = OutputTag("unpaid")

EVENTS: list[Event] = [
    ("order 1", "created", 0),
    ("order 2", "created", 1 * MINUTE),
    ("order 3", "created", 3 * MINUTE),
    ("order 1", "paid", 14 * MINUTE + 59_000),
    ("order 4", "created", 16 * MINUTE),
    ("order 3", "paid", 15 * MINUTE),
    ("order 4", "paid", 18 * MINUTE),
]


def build(env: StreamExecutionEnvironment) -> DataStream[str]:
    """Build the job."""
    pattern: Pattern[Event] = (
        Pattern.begin("created")
        .where(lambda event: event[1] == "created")
        .followed_by("paid")
        .where(lambda event: event[1] == "paid")
        .within(Duration.of_minutes(15))
    )
    in_order = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    in_time = in_order.with_timestamp_assigner(lambda event, _: event[2])
    arrivals: DataStream[Event] = env.from_collection(EVENTS)
    events = arrivals.assign_timestamps_and_watermarks(in_time).set_parallelism(1)
    paid = CEP.pattern(events.key_by(lambda event: event[0]), pattern).select(
        UNPAID,
        lambda match, time: f"{match['created'][0][0]} is not paid by minute {time // MINUTE}",
        lambda match: f"{match['paid'][0][0]} is paid",
    )
    return paid.union(paid.get_side_output(UNPAID))


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    build(env).print()
    env.execute("unpaid orders by a pattern")


if __name__ == "__main__":
    main()
