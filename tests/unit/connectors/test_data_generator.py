"""Generated records: numbers without gap, the same after a failure, not faster than allowed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Boundedness, ProgramError, Time, TumblingEventTimeWindows, WatermarkStrategy
from penstock.connectors.data_generator import DataGeneratorSource, GeneratorFunction
from penstock.connectors.random_records import GoodsOffers, RandomOrders, RandomUserEvents
from penstock.connectors.rate_limiter import RateLimiterStrategy
from penstock.foundation.clock import ManualClock
from penstock.vocabulary.sources.protocol import ReaderContext
from tests.unit.local_jobs import collect, environment, local_run, results


def drained(source: DataGeneratorSource[Any], parallelism: int, limit: int = 7) -> list[list[Any]]:
    found = []
    for split in source.create_splits(parallelism):
        reader = source.open_split(split, None, ReaderContext(0, parallelism))
        records: list[Any] = []
        while (read := reader.read(limit)) is not None:
            records += read[0]
        found.append(records)
    return found


@given(count=st.integers(0, 50), parallelism=st.integers(1, 6))
def test_every_number_is_used_once_and_in_order_per_subtask(count: int, parallelism: int) -> None:
    records = drained(DataGeneratorSource(lambda number: number, count), parallelism)
    assert sorted(number for part in records for number in part) == list(range(count))
    assert [part == sorted(part) for part in records] == [True] * parallelism


@given(stop=st.integers(0, 20), limit=st.integers(1, 5))
def test_generating_goes_on_with_the_next_number(stop: int, limit: int) -> None:
    source = DataGeneratorSource(lambda number: number * number, 20)
    split = source.create_splits(2)[1]
    reader = source.open_split(split, None, ReaderContext(1, 2))
    read: list[int] = []
    while len(read) < stop and (records := reader.read(limit)) is not None:
        read += records[0]
    again = source.open_split(split, reader.position(), ReaderContext(1, 2))
    while (records := again.read(limit)) is not None:
        read += records[0]
    assert read == [number * number for number in range(1, 20, 2)]


class Squares(GeneratorFunction[int]):
    opened = closed = 0

    def open(self, reader_context: ReaderContext) -> None:
        self.opened += 1

    def map(self, value: int) -> int:
        assert self.opened == 1
        return value * value

    def close(self) -> None:
        self.closed += 1


def test_a_generator_function_has_a_life_cycle() -> None:
    function = Squares()
    source = DataGeneratorSource(function, 3)
    reader = source.open_split(source.create_splits(1)[0], None, ReaderContext(0, 1))
    assert reader.read(10) == ([0, 1, 4], None)
    reader.close()
    assert function.closed == 1


def test_without_a_count_there_is_no_end() -> None:
    assert DataGeneratorSource(str).boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert DataGeneratorSource(str, 5).boundedness is Boundedness.BOUNDED


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ProgramError, match="function of a number"):
        DataGeneratorSource("x")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="negative"):
        DataGeneratorSource(str, -1)
    with pytest.raises(TypeError, match="RateLimiterStrategy"):
        DataGeneratorSource(str, 1, 10)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="positive"):
        RateLimiterStrategy.per_second(0)
    with pytest.raises(ProgramError, match="positive"):
        RateLimiterStrategy.per_checkpoint(0)


def limited(clock: ManualClock, strategy: RateLimiterStrategy, parallelism: int = 1) -> Any:
    source = DataGeneratorSource(lambda number: number, None, strategy)
    return source.open_split(source.create_splits(parallelism)[0], None, ReaderContext(0, parallelism, now=clock.now))


def test_records_come_at_their_rate() -> None:
    clock = ManualClock(5_000)
    reader = limited(clock, RateLimiterStrategy.per_second(4))
    counts = []
    for _ in range(8):
        counts.append(len(reader.read(100)[0]))
        assert reader.wait_millis == 250 - (clock.now() - 5_000) % 250
        clock.advance(125)
    assert counts == [1, 0, 1, 0, 1, 0, 1, 0]


def test_subtasks_share_the_rate() -> None:
    clock = ManualClock(0)
    reader = limited(clock, RateLimiterStrategy.per_second(4), parallelism=2)
    seen = 0
    for _ in range(10):
        seen += len(reader.read(100)[0])
        clock.advance(100)
    assert seen == 2


def test_what_was_held_up_for_long_is_not_made_up_for() -> None:
    clock = ManualClock(0)
    reader = limited(clock, RateLimiterStrategy.per_second(100))
    reader.read(1000)
    clock.advance(60_000)
    assert len(reader.read(1_000_000)[0]) == 101  # one second, and the record that is due now


def test_a_rate_below_one_per_second() -> None:
    clock = ManualClock(0)
    reader = limited(clock, RateLimiterStrategy.per_second(0.5))
    assert len(reader.read(10)[0]) == 1
    assert reader.wait_millis == 2000
    clock.advance(1999)
    assert reader.read(10)[0] == []
    clock.advance(1)
    assert reader.read(10)[0] == [1]


def test_a_number_of_records_per_checkpoint() -> None:
    reader = limited(ManualClock(0), RateLimiterStrategy.per_checkpoint(3))
    assert reader.read(2)[0] == [0, 1]
    assert reader.read(2)[0] == [2]
    assert reader.read(2)[0] == []
    reader.committed(3)
    assert reader.read(9)[0] == [3, 4, 5]


def test_in_a_job_the_clock_lets_records_come() -> None:
    env = environment()
    source = DataGeneratorSource(lambda number: number, None, RateLimiterStrategy.per_second(2))
    collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "ticks"))
    run = local_run(env)
    run.step()
    for _ in range(4):
        run.advance(500)
        run.step()
    assert run.collected["out"] == [0, 1, 2, 3, 4]
    run.close()


def test_src_12_random_events() -> None:
    events = [RandomUserEvents(seed=7).map(number) for number in range(500)]
    assert {event.user_id for event in events} == {"user_1", "user_2", "user_3", "user_4"}
    assert {event.event_type for event in events} == {"type_0", "type_1", "type_2"}
    assert {event.product_id for event in events} == {0, 1, 2, 3}
    assert [event.event_time for event in events[:3]] == [0, 500, 1000]
    assert events == [RandomUserEvents(seed=7).map(number) for number in range(500)]
    assert events != [RandomUserEvents(seed=8).map(number) for number in range(500)]


def test_src_12_goods() -> None:
    offers = [GoodsOffers().map(number) for number in range(12)]
    assert [offer.goods_id for offer in offers] == ["1", "2", "3", "4", "5", "6"] * 2
    assert [offer.offered_at for offer in offers] == [0] * 6 + [1000] * 6
    assert (offers[0].name, offers[0].price) == ("小米12", 4890)


def test_src_12_orders() -> None:
    orders = [RandomOrders(seed=1).map(number) for number in range(200)]
    assert {order.goods_id for order in orders[1::2]} == {"111"}
    assert {order.goods_id for order in orders[0::2]} == {"1", "2", "3", "4", "5", "6"}
    assert [order.ordered_at for order in orders[:4]] == [0, 0, 1000, 1000]


def test_generated_events_in_windows() -> None:
    env = environment(2)
    source = DataGeneratorSource(RandomUserEvents(seed=1), 40)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda event, _: event.event_time)
    counts = (
        env.from_source(source, strategy, "events")
        .map(lambda event: 1)
        .window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, other: one + other)
    )
    assert results(counts) == [20, 20]
