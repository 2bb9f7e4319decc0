"""Watermark strategies: the rules of their watermarks, and that with_* loses nothing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import Duration
from penstock.vocabulary.time.generators import (
    MAX_WATERMARK,
    MIN_TIMESTAMP,
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from penstock.vocabulary.time.strategy import WatermarkAlignment, WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import NO_TIMESTAMP, RecordTimestampAssigner, TimestampAssigner
from tests.unit.vocabulary.time.watermark_recorder import WatermarkRecorder, watermark_after_each


class SecondsAssigner(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 1000


class EveryEvent(WatermarkGenerator[Any]):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.mark_idle()


def test_wmk_02_time_starts_at_long_min_and_ends_at_long_max() -> None:
    assert MIN_TIMESTAMP == -9223372036854775808
    assert MAX_WATERMARK == 9223372036854775807
    assert Watermark.MAX_WATERMARK.get_timestamp() == 9223372036854775807


def test_wmk_04_ascending_watermarks_are_the_maximum_minus_one() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondsAssigner())
    assert watermark_after_each(strategy, [122, 125, 130]) == [121_999, 124_999, 129_999]


def test_wmk_06_w_25_bounded_watermarks_are_the_maximum_minus_the_bound_minus_one() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
    strategy = strategy.with_timestamp_assigner(SecondsAssigner())
    assert watermark_after_each(strategy, [1549044127, 1549044128]) == [1549044123999, 1549044124999]


def test_wmk_03_w_45_an_earlier_record_does_not_turn_time_back() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
    strategy = strategy.with_timestamp_assigner(SecondsAssigner())
    assert watermark_after_each(strategy, [25, 21]) == [21_999, 21_999]


@pytest.mark.parametrize("generator", [AscendingTimestampsWatermarks(), BoundedOutOfOrdernessWatermarks(3000)])
def test_before_the_first_record_time_is_long_min(generator: WatermarkGenerator[Any]) -> None:
    recorder = WatermarkRecorder()
    generator.on_periodic_emit(recorder)
    assert recorder.emitted == [-9223372036854775808]


def test_no_watermarks_are_no_watermarks() -> None:
    generator, recorder = WatermarkStrategy.no_watermarks().create_generator(), WatermarkRecorder()
    generator.on_event("x", 5, recorder)
    generator.on_periodic_emit(recorder)
    assert recorder.emitted == []


def test_a_run_of_records_is_observed_by_its_maximum() -> None:
    for make in (AscendingTimestampsWatermarks, NoWatermarksGenerator, lambda: BoundedOutOfOrdernessWatermarks(7)):
        one_by_one, at_once = make(), make()
        recorders = WatermarkRecorder(), WatermarkRecorder()
        for timestamp in (4, 9, 2):
            one_by_one.on_event(None, timestamp, recorders[0])
        at_once.observe(9)
        one_by_one.on_periodic_emit(recorders[0])
        at_once.on_periodic_emit(recorders[1])
        assert recorders[0].emitted == recorders[1].emitted
        assert not at_once.per_record


def test_a_generator_of_the_program_sees_every_record() -> None:
    class Counting(AscendingTimestampsWatermarks):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            super().on_event(event, event_timestamp, output)

    class Renamed(AscendingTimestampsWatermarks):
        pass

    assert EveryEvent.per_record
    assert Counting.per_record
    assert not Renamed.per_record


def test_a_negative_bound_is_refused_where_it_is_given() -> None:
    with pytest.raises(ProgramError, match="negative"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1))


@pytest.mark.parametrize("supplier", [EveryEvent, lambda: EveryEvent()])
def test_wmk_14_the_programs_own_generator_is_made_per_subtask(supplier: Any) -> None:
    strategy = WatermarkStrategy.for_generator(supplier)
    first, second = strategy.create_generator(), strategy.create_generator()
    assert first is not second
    recorder = WatermarkRecorder()
    first.on_event("x", 7, recorder)
    first.on_periodic_emit(recorder)
    assert (recorder.emitted, recorder.statuses) == ([7], ["idle"])


def test_a_generator_object_is_refused_because_subtasks_would_share_it() -> None:
    shared: Any = EveryEvent()
    with pytest.raises(TypeError, match="class or a function"):
        WatermarkStrategy.for_generator(shared)


def test_a_supplier_that_makes_something_else_is_named() -> None:
    supplier: Any = dict
    with pytest.raises(ProgramError, match="WatermarkGenerator"):
        WatermarkStrategy.for_generator(supplier).create_generator()


def test_wmk_28_nothing_set_before_is_lost() -> None:
    assigner = SecondsAssigner()
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
        .with_timestamp_assigner(assigner)
        .with_idleness(Duration.of_seconds(10))
        .with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_millis(500))
    )
    assert strategy.timestamp_assigner is assigner
    assert strategy.idle_timeout_ms == 10_000
    assert strategy.alignment == WatermarkAlignment("group", 20_000, 500)
    assert watermark_after_each(strategy, [28]) == [24_999]


def test_with_returns_a_new_strategy_and_leaves_the_old_one_alone() -> None:
    plain = WatermarkStrategy.for_monotonous_timestamps()
    changed = plain.with_idleness(Duration.of_seconds(1)).with_timestamp_assigner(SecondsAssigner())
    changed.with_watermark_alignment("group", Duration.of_seconds(1))
    assert (plain.idle_timeout_ms, plain.timestamp_assigner, changed.alignment) == (None, None, None)


def test_alignment_is_updated_every_second_unless_said_otherwise() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment("group", Duration.of_seconds(1))
    assert strategy.alignment == WatermarkAlignment("group", 1000, 1000)


def test_wrong_idleness_and_alignment_are_refused() -> None:
    strategy = WatermarkStrategy.no_watermarks()
    with pytest.raises(ProgramError, match="idle timeout"):
        strategy.with_idleness(Duration.of_seconds(0))
    with pytest.raises(ProgramError, match="group name"):
        strategy.with_watermark_alignment("", Duration.of_seconds(1))


def test_a_callable_is_an_assigner_and_sees_the_timestamp_a_record_has() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, ts: value + ts)
    assert strategy.timestamp_assigner is not None
    assert strategy.timestamp_assigner.extract_timestamp(3, 4) == 7


@pytest.mark.parametrize("wrong", [7, SecondsAssigner])
def test_something_else_is_no_assigner(wrong: Any) -> None:
    with pytest.raises(TypeError, match="TimestampAssigner"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(wrong)


def test_a_record_may_keep_the_timestamp_it_has() -> None:
    assert RecordTimestampAssigner().extract_timestamp("x", 9) == 9
    assert RecordTimestampAssigner().extract_timestamp("x", NO_TIMESTAMP) == -9223372036854775808


def test_wmk_13_a_program_may_write_a_strategy_as_a_class() -> None:
    class OwnStrategy(WatermarkStrategy):
        def __init__(self) -> None:
            self.factor = 1  # without super().__init__()

        def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Any]:
            return EveryEvent()

        def create_timestamp_assigner(self, context: Any) -> TimestampAssigner:
            return SecondsAssigner()

    strategy = OwnStrategy().with_idleness(Duration.of_seconds(1))
    assert watermark_after_each(strategy, [3, 2, 5]) == [3000, 3000, 5000]
    assert strategy.timestamp_assigner is strategy.timestamp_assigner
    assert strategy.timestamp_assigner is not strategy.isolated().timestamp_assigner


def test_a_strategy_survives_plain_pickle() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(3))
    strategy = strategy.with_timestamp_assigner(SecondsAssigner()).with_idleness(Duration.of_seconds(1))
    copy = pickle.loads(pickle.dumps(strategy))
    assert watermark_after_each(copy, [28]) == [24_999]
    assert copy.idle_timeout_ms == 1000
    assert "3000 ms" in repr(copy)
