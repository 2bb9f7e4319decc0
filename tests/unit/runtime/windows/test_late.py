"""Late records: dropped, counted and warned about, or sent to a side output; and records without timestamps."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import MissingTimestampError, ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.time.generators import MAX_WATERMARK, MIN_TIMESTAMP
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows, WindowAssigner
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.windows import TimeWindow
from tests.unit.runtime.windows.window_bench import KINDS, Contents, Count, left_behind, window_harness

pytestmark = pytest.mark.parametrize("kind", KINDS)

ASSIGNERS = [
    TumblingEventTimeWindows.of(5000),
    SlidingEventTimeWindows.of(5000, 5000),
    EventTimeSessionWindows.with_gap(1000),
]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "penstock.late"]


def test_a_dropped_record_is_explained_once_per_ten_seconds(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="penstock.late")
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), reducer=Count())
    harness.push_watermark(9000)
    harness.push(("sensor_1", 7), 1000)
    harness.push_run([(("sensor_1", 8), 1500), (("sensor_1", 9), 1600)])
    (warning,) = warnings(caplog)
    for part in ("'windows (1/1)'", "('sensor_1', 7)", "timestamp 1000", "8000 ms behind the watermark 9000"):
        assert part in warning
    for remedy in ("allowed_lateness()", "side_output_late_data()", "out-of-orderness"):
        assert remedy in warning
    harness.advance(9999)
    harness.push(("sensor_1", 10), 1000)
    assert len(warnings(caplog)) == 1
    harness.advance(1)
    harness.push(("sensor_1", 11), 2000)
    assert len(warnings(caplog)) == 2
    assert "dropped 4 late records (5 in all)" in warnings(caplog)[1]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 5}


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
def test_side_output_takes_late_records_without_counting_them(
    kind: str, assigner: Any, caplog: pytest.LogCaptureFixture
) -> None:
    late = OutputTag("late")
    harness = window_harness(kind, assigner, reducer=Count(), late_tag=late)
    harness.push_watermark(20_000)
    harness.push_run([(("k", 1), 1000), (("k", 2), 21_000), (("k", 3), 2000)])
    assert harness.side_output(late) == [(("k", 1), 1000), (("k", 3), 2000)]
    assert warnings(caplog) == []
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 0}
    harness.end()
    assert harness.values == [1]
    assert left_behind(harness) == {}


@pytest.mark.parametrize("lateness", [0, 2000])
def test_late_is_decided_at_the_last_millisecond_plus_lateness(kind: str, lateness: int) -> None:
    """LAT-04."""
    late = OutputTag("late")
    harness = window_harness(
        kind, TumblingEventTimeWindows.of(5000), reducer=Count(), allowed_lateness=lateness, late_tag=late
    )
    harness.push_watermark(4999 + lateness - 1)
    harness.push(("k",), 4000)
    assert harness.side_output(late) == []
    harness.push_watermark(4999 + lateness)
    harness.push(("k",), 4000)
    assert harness.side_output(late) == [(("k",), 4000)]
    assert harness.values == [1]
    assert left_behind(harness) == {}


def test_a_record_late_for_some_windows_only_is_not_late(kind: str) -> None:
    """LAT-12."""
    late = OutputTag("late")
    harness = window_harness(kind, SlidingEventTimeWindows.of(10_000, 5000), function=Contents(), late_tag=late)
    harness.push_watermark(9999)
    harness.push(("k", 1), 7000)
    assert harness.side_output(late) == []
    harness.end()
    assert harness.values == [("k", 5000, 15_000, [("k", 1)])]


def test_a_record_between_sliding_windows_is_in_none_and_not_late(kind: str) -> None:
    late = OutputTag("late")
    harness = window_harness(kind, SlidingEventTimeWindows.of(2000, 5000), function=Contents(), late_tag=late)
    harness.push_watermark(1000)
    harness.push_run([(("k", 0), 1500), (("k", 1), 3000), (("k", 2), 6000), (("k", 3), 500)])
    assert harness.side_output(late) == []
    harness.push_watermark(4000)
    harness.push(("k", 4), 3000)
    assert harness.side_output(late) == [(("k", 4), 3000)]
    harness.end()
    assert harness.values == [("k", 0, 2000, [("k", 0), ("k", 3)]), ("k", 5000, 7000, [("k", 2)])]


def test_lateness_refires_per_record_with_all_contents_and_new_keys_fire_at_once(kind: str) -> None:
    """LAT-03."""
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), function=Contents(), allowed_lateness=3000)
    harness.push(("a", 1), 1000)
    harness.push_watermark(5000)
    harness.take_outputs()
    harness.push_run([(("b", 2), 2000), (("a", 3), 3000), (("b", 4), 7000)])
    assert harness.values == [("b", 0, 5000, [("b", 2)]), ("a", 0, 5000, [("a", 1), ("a", 3)])]
    harness.push_watermark(7999)
    assert harness.event_timers() == [(9999, "b", TimeWindow(5000, 10_000)), (12_999, "b", TimeWindow(5000, 10_000))]
    assert left_behind(harness) == {"window-contents": {TimeWindow(5000, 10_000)}}


def test_lateness_beyond_the_end_of_time_never_removes_a_window(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), reducer=Count(), allowed_lateness=MAX_WATERMARK)
    harness.push(("k",), 1000)
    harness.push_watermark(10**15)
    harness.push(("k",), 1000)
    assert harness.outputs == [(1, 4999), (2, 4999)]
    assert [timer for timer in harness.event_timers() if timer[0] != MAX_WATERMARK] == []


@pytest.mark.parametrize("assigner", ASSIGNERS, ids=repr)
def test_a_record_without_a_timestamp_is_an_error_that_names_the_step(kind: str, assigner: Any) -> None:
    harness = window_harness(kind, assigner, reducer=Count())
    with pytest.raises(MissingTimestampError, match=r"'windows'.*\('k', 1\).*assign_timestamps_and_watermarks"):
        harness.push(("k", 1))
    with pytest.raises(MissingTimestampError, match=r"'windows'.*\('k', 2\)"):
        harness.push_run([(("k", 1), 1000), (("k", 2), MIN_TIMESTAMP)])


class EvenSeconds(WindowAssigner[Any, TimeWindow]):
    """Windows of a second, but none in odd seconds."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Iterable[TimeWindow]:  # type: ignore[override]
        start = timestamp - timestamp % 1000
        return [TimeWindow(start, start + 1000)] if start % 2000 == 0 else []

    def get_default_trigger(self, env: Any = None) -> Any:
        return TumblingEventTimeWindows.of(1).get_default_trigger()

    def get_window_serializer(self) -> Any:
        return TumblingEventTimeWindows.of(1).get_window_serializer()

    def is_event_time(self) -> bool:
        return True


def test_a_custom_assigner_may_leave_records_out(kind: str) -> None:
    """WIN-24."""
    harness = window_harness(kind, EvenSeconds(), reducer=Count())
    harness.push_run([(("k",), 500), (("k",), 1500), (("k",), 2500)])
    harness.end()
    assert harness.outputs == [(1, 999), (1, 2999)]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 0}


def test_a_step_without_a_function_is_refused(kind: str) -> None:
    with pytest.raises(ProgramError, match="reduce, aggregate or window function"):
        window_harness(kind, TumblingEventTimeWindows.of(5000))
