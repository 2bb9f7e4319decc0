"""Timestamps, watermarks and idleness of one stream. Watermarks as in cases.md: wm-asc, wm-legacy, wm-new, wm-punct."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    Duration,
    ProcessFunction,
    Time,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.time.timestamps import TimestampOperator
from tests.unit.local_jobs import environment, results
from tests.unit.runtime.operators.operator_bench import Bench

START = 1549044120


def seconds(value: int, _: int) -> int:
    return value * 1000


def bench(strategy: WatermarkStrategy, interval: int = 200) -> Bench:
    return Bench(TimestampOperator(strategy), interval=interval)


def after_each(strategy: WatermarkStrategy, values: list[int]) -> list[int]:
    """The watermark after each record, asked for as by hand-typed input: the interval passes in between."""
    found = bench(strategy)
    shown = []
    for value in values:
        found.operator.process([value], None)
        found.advance(200)
        shown.append(found.main.watermarks[-1])
    return shown


class Punctuated(AssignerWithPunctuatedWatermarks[int]):
    def extract_timestamp(self, element: int, record_timestamp: int) -> int:
        return element * 1000

    def check_and_get_next_watermark(self, last_element: int, extracted_timestamp: int) -> Watermark | None:
        return Watermark(extracted_timestamp)


class Legacy(BoundedOutOfOrdernessTimestampExtractor[int]):
    def extract_timestamp(self, element: int) -> int:  # type: ignore[override]
        return element * 1000


def test_w_24_legacy_delay_has_no_extra_millisecond() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(Legacy(Time.seconds(3)))
    assert after_each(strategy, [START + 2, START + 8]) == [1549044119000, 1549044125000]


def test_w_25_new_delay_has_one() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3)).with_timestamp_assigner(seconds)
    assert after_each(strategy, [START + 2, START + 8]) == [1549044118999, 1549044124999]


def test_w_26_punctuated_equals_the_timestamp_without_waiting() -> None:
    found = bench(WatermarkStrategy.for_legacy_assigner(Punctuated()))
    found.operator.process([START + 5, START + 10], None)
    assert found.main.flat == [
        (START + 5, 1549044125000),
        ("watermark", 1549044125000),
        (START + 10, 1549044130000),
        ("watermark", 1549044130000),
    ]


def test_w_27_ascending_stays_one_millisecond_behind() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    assert after_each(strategy, [20000, 24999, 25000]) == [19999, 24998, 24999]


class Counting(AssignerWithPeriodicWatermarks[int]):
    asked = 0

    def __init__(self) -> None:
        self.highest = 0

    def extract_timestamp(self, element: int, record_timestamp: int) -> int:
        self.highest = max(self.highest, element)
        return element

    def get_current_watermark(self) -> Watermark:
        Counting.asked += 1
        return Watermark(self.highest - 3000)


def test_w_47_the_periodic_assigner_is_asked_without_data_too() -> None:
    Counting.asked = 0
    found = bench(WatermarkStrategy.for_legacy_assigner(Counting()), interval=10_000)
    found.advance(30_000)
    assert Counting.asked == 3
    found.operator.process([10_000], None)
    found.advance(10_000)
    found.operator.process([8_000], None)  # late: the watermark does not go back
    found.advance(20_000)
    assert Counting.asked == 6
    assert found.main.watermarks == [-3000, 7000]


class Sometimes(AssignerWithPunctuatedWatermarks[tuple[int, int | None]]):
    def extract_timestamp(self, element: tuple[int, int | None], record_timestamp: int) -> int:
        return element[0]

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark | None:
        return None if last_element[1] is None else Watermark(last_element[1])


def test_w_48_no_watermark_and_smaller_watermarks_are_passed_over() -> None:
    found = bench(WatermarkStrategy.for_legacy_assigner(Sometimes()))
    found.operator.process([(1, 5), (2, None), (3, 4), (4, 5), (5, 9)], None)
    assert found.main.watermarks == [5, 9]
    assert [value for value, _ in found.main.values] == [1, 2, 3, 4, 5]


def test_the_interval_of_zero_asks_never() -> None:
    found = bench(WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(seconds), interval=0)
    found.operator.process([1], None)
    found.advance(10_000)
    assert found.main.watermarks == []


def test_records_keep_the_timestamps_they_have_without_an_assigner() -> None:
    found = bench(WatermarkStrategy.for_monotonous_timestamps())
    found.operator.process(["a", "b"], [5, 7])
    found.advance(200)
    assert found.main.flat == [("a", 5), ("b", 7), ("watermark", 6)]


def test_the_assigner_sees_the_timestamp_the_record_had() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, before: before + value)
    found = bench(strategy)
    found.operator.process([1, 2], [10, 20])
    assert found.main.flat == [(1, 11), (2, 22)]


def test_watermarks_from_upstream_are_replaced_except_the_last() -> None:
    found = bench(WatermarkStrategy.no_watermarks())
    found.operator.process_watermark(50)
    found.operator.process_status(True)
    found.operator.process_watermark(MAX_TIMESTAMP)
    assert found.main.flat == [("watermark", MAX_TIMESTAMP)]


def test_nothing_follows_the_end_of_time() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(seconds)
    found = bench(strategy.with_idleness(Duration.of_seconds(1)))
    found.operator.process([5], None)
    found.operator.process_watermark(MAX_TIMESTAMP)
    found.operator.end_input()
    found.advance(10_000)
    assert found.main.flat == [(5, 5000), ("watermark", MAX_TIMESTAMP)]


class MarkerGenerator(WatermarkGenerator[Any]):
    """Says something for records that are strings, and for the clock."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "idle":
            output.mark_idle()
        elif event == "active":
            output.mark_active()
        elif isinstance(event, str):
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


def test_a_generator_of_the_program_sees_every_record() -> None:
    found = bench(WatermarkStrategy.for_generator(MarkerGenerator))
    found.operator.process([1, "mark", 2, 3, "mark"], [1, 2, 3, 4, 5])
    assert found.main.flat == [
        (1, 1), ("mark", 2), ("watermark", 2), (2, 3), (3, 4), ("mark", 5), ("watermark", 5),
    ]  # fmt: skip


def test_a_generator_may_mark_the_stream_idle_and_active() -> None:
    found = bench(WatermarkStrategy.for_generator(MarkerGenerator))
    found.operator.process(["idle"], [1])
    found.operator.process(["active"], [2])
    assert found.main.statuses == [True, False]


def idle_after(millis: int) -> Bench:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(seconds)
    return bench(strategy.with_idleness(Duration.of_millis(millis)))


def test_a_silent_stream_becomes_idle_and_a_record_makes_it_active() -> None:
    found = idle_after(1000)
    found.operator.process([1], None)
    found.advance(800)
    assert found.main.statuses == []
    found.advance(200)
    assert found.main.statuses == [True]
    found.advance(5000)
    assert found.main.statuses == [True]
    found.operator.process([2], None)
    assert found.main.flat[-2:] == [("idle", False), (2, 2000)]


def test_a_stream_without_any_record_becomes_idle_too() -> None:
    found = idle_after(1000)
    found.advance(1000)
    assert found.main.flat == [("idle", True)]


def test_the_last_watermark_goes_out_before_idleness() -> None:
    """Also where the timeout is shorter than the interval."""
    found = idle_after(50)
    found.operator.process([1], None)
    found.advance(200)
    assert found.main.flat == [(1, 1000), ("watermark", 999), ("idle", True)]


class ByTheClock(WatermarkGenerator[Any]):
    def set_clock(self, clock: Any) -> None:
        self._clock = clock

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self._clock()))


def test_a_generator_by_the_clock_does_not_wake_a_silent_stream() -> None:
    found = bench(WatermarkStrategy.for_generator(ByTheClock).with_idleness(Duration.of_millis(400)))
    found.advance(2000)
    assert found.main.flat == [("watermark", 200), ("watermark", 400), ("idle", True)]


def test_ingestion_time_takes_the_clock() -> None:
    found = bench(WatermarkStrategy.for_ingestion_time())
    found.advance(1000)
    found.operator.process(["a"], None)
    assert found.main.flat[-1] == ("a", 1000)
    found.advance(400)
    assert found.main.watermarks[-1] >= 999


class Watermarks(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


@pytest.mark.parametrize("values", [[3, 1, 2]])
def test_through_the_api(values: list[int]) -> None:
    stream = environment().from_collection(values)
    stamped = stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_legacy_assigner(Punctuated()))
    assert results(stamped.process(Watermarks())) == [(3, 3000, -(2**63)), (1, 1000, 3000), (2, 2000, 3000)]


def test_a_legacy_assigner_may_be_given_as_it_is() -> None:
    stream = environment().from_collection([3, 4]).assign_timestamps_and_watermarks(Punctuated())
    assert results(stream.process(Watermarks())) == [(3, 3000, -(2**63)), (4, 4000, 3000)]


def test_assign_ascending_timestamps() -> None:
    stream = environment().from_collection([3, 4]).assign_ascending_timestamps(lambda value: value * 10)
    assert [found[:2] for found in results(stream.process(Watermarks()))] == [(3, 30), (4, 40)]
