"""Shows the most viewed item of the last hour, every five minutes.

python examples/hot_items.py

Two steps: sliding windows count the views of each item, then the counts that belong to one window are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock import (
    AggregateFunction,
    KeyedProcessFunction,
    ListState,
    ListStateDescriptor,
    ProcessWindowFunction,
    RuntimeContext,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    Time,
    TimeWindow,
    WatermarkStrategy,
)

MINUTE = 60_000
VIEWS = [("A", 1 * MINUTE), ("A", 2 * MINUTE), ("B", 3 * MINUTE), ("B", 6 * MINUTE), ("B", 7 * MINUTE)]


class ItemCount(NamedTuple):
    """How often an item was viewed in the hour that ended at ``window_end``."""

    window_end: int
    item: str
    views: int


class Count(AggregateFunction[tuple[str, int], int, int]):
    """Counts; a window keeps only this number."""

    def create_accumulator(self) -> int:
        """Start at nothing."""
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        """Add a view."""
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        """Return the count."""
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        """Combine two parts of a window."""
        return acc_a + acc_b


class AddWindowEnd(ProcessWindowFunction[int, ItemCount, str, TimeWindow]):
    """Says which window and item a count belongs to."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterator[ItemCount]:
        """Emit the one count of the window."""
        for views in elements:
            yield ItemCount(context.window().end, key, views)


class MostViewed(KeyedProcessFunction[int, ItemCount, str]):
    """Waits until all counts of a window have come, then picks the largest."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: the counts of one window."""
        self.counts: ListState[ItemCount] = runtime_context.get_list_state(ListStateDescriptor("counts"))

    def process_element(self, value: ItemCount, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Keep the count; the timer is the same for all counts of the window, so it fires once."""
        self.counts.add(value)
        ctx.timer_service().register_event_time_timer(value.window_end)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        """Compare: event time has passed the end of the window, so no other count will come."""
        best = max(self.counts.get(), key=lambda count: count.views)
        self.counts.clear()
        yield f"minute {timestamp // MINUTE}: {best.item} with {best.views} views"


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    in_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda view, _: view[1])
    (
        env.from_collection(VIEWS)
        .assign_timestamps_and_watermarks(in_time)
        .key_by(lambda view: view[0])
        .window(SlidingEventTimeWindows.of(Time.hours(1), Time.minutes(5)))
        .aggregate(Count(), AddWindowEnd())
        .key_by(lambda count: count.window_end)
        .process(MostViewed())
        .print()
    )
    env.execute("hot items")


if __name__ == "__main__":
    main()
