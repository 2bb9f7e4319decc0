"""Finds water levels that rise for a second, by a pattern and by a process function.

python examples/pattern_rising_level.py

The pattern asks whether each reading is higher than the one before, so its condition looks at what it has taken. Of all
rises that end at a reading, the longest comes out; a process function is the simpler tool here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    ValueState,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.cep import CEP, AfterMatchSkipStrategy, IterativeCondition, Pattern

Reading = tuple[str, int, int]
"""A sensor, a time in milliseconds, a level."""

READINGS: list[Reading] = [
    ("s1", 0, 10),
    ("s1", 400, 12),
    ("s1", 800, 15),
    ("s1", 1200, 17),
    ("s1", 1600, 3),
    ("s1", 2000, 4),
]
SECOND = 1000


def is_higher(reading: Reading, ctx: IterativeCondition.Context) -> bool:
    """Compare with the reading before."""
    before: list[Any] = [*ctx.get_events_for_pattern("first"), *ctx.get_events_for_pattern("higher")]
    return bool(before[-1][2] < reading[2])


def ends_a_second(match: dict[str, list[Reading]]) -> Iterable[str]:
    """Tell of rises that took a second."""
    first, last = match["first"][0], match["higher"][-1]
    if last[1] - first[1] >= SECOND:
        yield f"{first[0]} rises from {first[2]} to {last[2]}"


def by_pattern(readings: DataStream[Reading]) -> DataStream[str]:
    """Find them by a pattern."""
    pattern: Pattern[Reading] = (
        Pattern.begin("first", AfterMatchSkipStrategy.no_skip())
        .next("higher")
        .where(is_higher)
        .one_or_more()
        .consecutive()
        .within(2 * SECOND)
    )
    return CEP.pattern(readings.key_by(lambda reading: reading[0]), pattern).flat_select(ends_a_second)


class Rising(KeyedProcessFunction[str, Reading, str]):
    """Remembers where the rise began and the last level: the twin of the pattern."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Declare the state: the first reading of the rise, and the last one."""
        self.rise: ValueState[tuple[Reading, Reading]] = runtime_context.get_state(ValueStateDescriptor("rise"))

    def process_element(self, value: Reading, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        """Go on with the rise, or begin anew."""
        rise = self.rise.value()
        first = rise[0] if rise is not None and value[2] > rise[1][2] else value
        if value[1] - first[1] >= SECOND:
            yield f"{value[0]} rises from {first[2]} to {value[2]}"
        self.rise.update((first, value))


def main() -> None:
    """Build the job and run it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    in_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda reading, _: reading[1])
    arrivals: DataStream[Reading] = env.from_collection(READINGS)
    readings = arrivals.assign_timestamps_and_watermarks(in_time)
    by_pattern(readings).print("pattern")
    readings.key_by(lambda reading: reading[0]).process(Rising()).print("process function")
    env.execute("rising levels")


if __name__ == "__main__":
    main()
