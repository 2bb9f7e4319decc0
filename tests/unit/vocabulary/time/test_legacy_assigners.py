"""Flink's older assigners, as strategies."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import Time
from penstock.vocabulary.time.generators import Watermark
from penstock.vocabulary.time.legacy_assigners import (
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
    IngestionTimeAssigner,
)
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import NO_TIMESTAMP
from tests.unit.vocabulary.time.watermark_recorder import WatermarkRecorder, watermark_after_each


class SensorExtractor(BoundedOutOfOrdernessTimestampExtractor[int]):
    def extract_timestamp(self, element: int) -> int:
        return element * 1000


class SensorAscending(AscendingTimestampExtractor[int]):
    def extract_ascending_timestamp(self, element: int) -> int:
        return element * 1000


class Periodic(AssignerWithPeriodicWatermarks[int]):
    def __init__(self) -> None:
        self.asked = 0
        self.highest: int | None = None

    def extract_timestamp(self, element: int, previous_element_timestamp: int) -> int:
        self.highest = max(self.highest or 0, element)
        return element

    def get_current_watermark(self) -> int | None:
        self.asked += 1
        return None if self.highest is None else self.highest - 3000


class Punctuated(AssignerWithPunctuatedWatermarks[int]):
    def extract_timestamp(self, element: int, previous_element_timestamp: int) -> int:
        return element

    def check_and_get_next_watermark(self, last_element: int, extracted_timestamp: int) -> Watermark | None:
        return Watermark(extracted_timestamp) if last_element % 2 == 0 else None


def test_wmk_05_w_24_the_bounded_extractor_has_no_extra_millisecond() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(SensorExtractor(Time.seconds(3)))
    assert watermark_after_each(strategy, [1549044127, 1549044128]) == [1549044124000, 1549044125000]


def test_the_bounded_extractor_starts_at_long_min_and_never_turns_back() -> None:
    extractor = SensorExtractor(Time.seconds(3))
    assert extractor.get_current_watermark().timestamp == -9223372036854775808
    assert extractor.get_max_out_of_orderness_in_millis() == 3000
    strategy = WatermarkStrategy.for_legacy_assigner(extractor)
    assert watermark_after_each(strategy, [25, 21]) == [22_000, 22_000]


def test_the_bounded_extractor_refuses_a_negative_bound() -> None:
    with pytest.raises(ProgramError, match="negative"):
        SensorExtractor(Time.seconds(-3))


def test_wmk_27_the_ascending_extractor_logs_what_is_out_of_order(caplog: pytest.LogCaptureFixture) -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(SensorAscending())
    with caplog.at_level(logging.WARNING):
        assert watermark_after_each(strategy, [122, 125, 124, 125]) == [121_999, 124_999, 124_999, 124_999]
    assert [record.getMessage() for record in caplog.records] == [
        "Timestamp 124000 follows 125000: timestamps should ascend."
    ]


def test_the_ascending_extractor_starts_at_long_min() -> None:
    assert SensorAscending().get_current_watermark().timestamp == -9223372036854775808


def test_w_47_a_periodic_assigner_is_asked_without_data_too() -> None:
    assigner = Periodic()
    generator = WatermarkStrategy.for_legacy_assigner(assigner).create_generator()
    recorder = WatermarkRecorder()
    generator.on_periodic_emit(recorder)
    generator.on_periodic_emit(recorder)
    assert assigner.asked == 2
    assert recorder.emitted == []


def test_w_47_a_periodic_watermark_is_the_maximum_minus_3000() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(Periodic())
    assert watermark_after_each(strategy, [10_000, 12_000, 11_000]) == [7000, 9000, 9000]


def test_w_26_w_27_a_punctuated_watermark_may_equal_the_event_time() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(Punctuated())
    assert watermark_after_each(strategy, [20_000, 24_998]) == [20_000, 24_998]


def test_w_48_a_punctuated_assigner_may_say_nothing_and_a_smaller_watermark_is_ignored() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(Punctuated())
    assert watermark_after_each(strategy, [7, 20, 21, 18]) == [None, 20, 20, 20]


def test_a_punctuated_assigner_is_not_asked_periodically() -> None:
    generator = WatermarkStrategy.for_legacy_assigner(Punctuated()).create_generator()
    recorder = WatermarkRecorder()
    generator.on_periodic_emit(recorder)
    assert recorder.emitted == []
    assert generator.per_record


def test_each_split_has_its_own_legacy_assigner() -> None:
    strategy = WatermarkStrategy.for_legacy_assigner(SensorExtractor(Time.seconds(3)))
    first, second = strategy.isolated(), strategy.isolated()
    assert watermark_after_each(first, [28]) == [25_000]
    assert watermark_after_each(second, [23]) == [20_000]


def test_a_legacy_assigner_already_extracts_the_timestamps() -> None:
    with pytest.raises(ProgramError, match="extracts the timestamps itself"):
        WatermarkStrategy.for_legacy_assigner(Punctuated()).with_timestamp_assigner(lambda value, _: value)


def test_something_else_is_no_legacy_assigner() -> None:
    wrong: Any = object()
    with pytest.raises(TypeError, match="legacy assigner"):
        WatermarkStrategy.for_legacy_assigner(wrong)


def test_ingestion_time_is_the_clocks_time_and_never_turns_back() -> None:
    now = [100]
    strategy = WatermarkStrategy.for_ingestion_time().isolated()
    generator, assigner, recorder = strategy.create_generator(), strategy.timestamp_assigner, WatermarkRecorder()
    assert assigner is not None
    assigner.set_clock(lambda: now[0])
    assert assigner.extract_timestamp("a", NO_TIMESTAMP) == 100
    now[0] = 150
    generator.on_periodic_emit(recorder)
    assert recorder.emitted == [149]
    now[0] = 120
    assert assigner.extract_timestamp("b", NO_TIMESTAMP) == 150


def test_ingestion_time_needs_a_clock() -> None:
    with pytest.raises(ProgramError, match="set_clock"):
        IngestionTimeAssigner().get_current_watermark()
