"""The watch tells once that event time stands still, and again only when there is news."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Configuration, StreamExecutionEnvironment, Time, TumblingEventTimeWindows, WatermarkStrategy
from penstock.errors import ProgramError
from penstock.graph.plan import Plan
from penstock.runtime.diagnostics.no_output_watch import NoOutputWatch
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing import build_job


def plan() -> Plan:
    env = StreamExecutionEnvironment(Configuration())
    env.set_parallelism(1)
    stream = env.from_collection([("k", 1)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps()
    )
    stream.key_by(0).window(TumblingEventTimeWindows.of(Time.seconds(5))).sum(1).print()
    return build_job(env, "job").plan


PLAN = plan()
SOURCE, WINDOWS = sorted(PLAN.vertices)


def reports(records: int, watermark: int = MIN_TIMESTAMP, *, is_finished: bool = False) -> Any:
    edge = PLAN.edges[0].id
    channel = {"edge": edge, "source": 0, "watermark": watermark, "is_idle": False, "is_counted": True}
    windows = {
        "name": "windows (1/1)",
        "records_in": records,
        "records_out": 0,
        "is_finished": is_finished,
        "watermark": watermark,
        "is_idle": False,
        "channels": [channel],
    }
    source = {**windows, "name": "source (1/1)", "records_in": 0, "records_out": records, "channels": []}
    source["assigner"] = {"step": "time", "watermark": watermark, "max_timestamp": MIN_TIMESTAMP, "is_idle": False}
    return {(0, 0): {"subtasks": {SOURCE: source}}, (1, 0): {"subtasks": {WINDOWS: windows}}}


def test_tells_after_the_interval() -> None:
    watch = NoOutputWatch(PLAN, 60_000)
    assert watch.observe(reports(3), 0) is None
    assert watch.observe(reports(3), 59_999) is None
    text = watch.observe(reports(3), 60_000)
    assert text is not None
    assert text.startswith("event time has not moved for 1 min, so steps in event time give no results:\n")
    assert "windows (1/1): event time stands at the beginning" in text


def test_does_not_repeat_itself_without_news() -> None:
    watch = NoOutputWatch(PLAN, 1000)
    watch.observe(reports(3), 0)
    assert watch.observe(reports(3), 1000) is not None
    assert watch.observe(reports(3), 2000) is None
    assert watch.observe(reports(3), 1_000_000) is None


def test_repeats_itself_once_per_interval_while_records_come() -> None:
    watch = NoOutputWatch(PLAN, 1000)
    watch.observe(reports(3), 0)
    assert watch.observe(reports(3), 1000) is not None
    assert watch.observe(reports(4), 1999) is None
    assert watch.observe(reports(5), 2000) is not None
    assert watch.observe(reports(5), 3000) is None


def test_time_that_moves_starts_anew() -> None:
    watch = NoOutputWatch(PLAN, 1000)
    watch.observe(reports(3), 0)
    assert watch.observe(reports(4, 5000), 1000) is None
    assert watch.observe(reports(5, 5000), 1999) is None
    assert watch.observe(reports(5, 5000), 2000) is not None


@pytest.mark.parametrize(
    "silent",
    [reports(0), reports(3, MAX_TIMESTAMP), reports(3, is_finished=True)],
    ids=["no input", "end of time", "finished"],
)
def test_nothing_to_tell(silent: Any) -> None:
    watch = NoOutputWatch(PLAN, 1000)
    assert [watch.observe(silent, now) for now in range(0, 10_000, 1000)] == [None] * 10


def test_no_reports_yet() -> None:
    assert NoOutputWatch(PLAN, 1000).observe({}, 5000) is None


def test_a_job_that_does_not_wait_for_time() -> None:
    env = StreamExecutionEnvironment(Configuration())
    env.set_parallelism(1)
    env.from_collection([("k", 1)]).key_by(0).sum(1).print()
    without_time = build_job(env, "job").plan
    watch = NoOutputWatch(without_time, 1000)
    sums = {(1, 0): {"subtasks": {max(without_time.vertices): reports(3)[1, 0]["subtasks"][WINDOWS]}}}
    assert [watch.observe(sums, now) for now in (0, 1000, 2000)] == [None, None, None]


def test_the_option() -> None:
    off = NoOutputWatch.from_options(PLAN, {"penstock.no-output-report-interval": "0"})
    assert [off.observe(reports(3), now) for now in (0, 60_000, 120_000)] == [None, None, None]
    short = NoOutputWatch.from_options(PLAN, {"penstock.no-output-report-interval": "2 s"})
    assert short.observe(reports(3), 0) is None
    assert short.observe(reports(3), 2000) is not None
    usual = NoOutputWatch.from_options(PLAN, {})
    assert usual.observe(reports(3), 0) is None
    assert usual.observe(reports(3), 59_999) is None
    assert usual.observe(reports(3), 60_000) is not None
    with pytest.raises(ProgramError, match="no-output-report-interval"):
        NoOutputWatch.from_options(PLAN, {"penstock.no-output-report-interval": "soon"})
