"""``why_no_output()`` names the step, the channel and the split that hold time back, and says what to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from penstock import Configuration, StreamExecutionEnvironment, TumblingEventTimeWindows, WatermarkStrategy
from penstock.runtime.diagnostics.no_output import why_no_output
from penstock.runtime.task.report import report_task
from penstock.testing import LocalRun, ManualClock
from penstock.testing.scripted_source import Event, EventKind, Script, ScriptedSource, values_of

NOW = 1_700_000_000_000
"""2023-11-14 22:13:20 UTC."""


class Job:
    """A job in this process whose channels the test writes."""

    def __init__(self, *, start: int = NOW) -> None:
        self.env = StreamExecutionEnvironment(Configuration())
        self.env.set_parallelism(1)
        self.script = Script(run_length=100)
        self.clock = ManualClock(start)

    def source(self, name: str, strategy: WatermarkStrategy, *, splits: Sequence[str] = ()) -> Any:
        timed = strategy.with_timestamp_assigner(lambda event, _: event.timestamp)
        source = ScriptedSource(self.script, list(splits) or [name])
        return self.env.from_source(source, timed, name).flat_map(values_of).name("values")

    def start(self) -> None:
        self.run = LocalRun.of(self.env, "job", clock=self.clock)
        self.run.open()

    def push(self, channel: str, *timestamps: int) -> None:
        for timestamp in timestamps:
            self.script.add(channel, Event(EventKind.RECORD, ("k", 1), timestamp))
        while self.run.step():
            pass

    def why(self) -> str:
        reports = {(task.stage, task.index): report_task(task) for task in self.run.tasks}
        return why_no_output(self.run.tasks[0].job.plan, reports, self.clock.now())


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job()
    yield made
    made.run.close()


def ascending() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps()


def windows(stream: Any) -> Any:
    return stream.key_by(0).window(TumblingEventTimeWindows.of(5000)).sum(1).name("sums")


def test_nothing_reported(job: Job) -> None:
    windows(job.source("sensors", ascending())).print()
    job.start()
    text = why_no_output(job.run.tasks[0].job.plan, {}, NOW)
    assert text == "No task has reported yet: the job is still starting, or Spark has not given it all its slots."


def test_source_without_records(job: Job) -> None:
    windows(job.source("sensors", ascending())).print()
    job.start()
    lines = job.why().splitlines()
    assert lines == [
        "sensors -> values (1/1): the source has sent no record yet.",
        "sums -> Print to Std. Out (1/1): no record has arrived.",
    ]


def test_one_silent_split(job: Job) -> None:
    windows(job.source("sensors", ascending(), splits=["part-0", "part-1"])).print()
    job.start()
    job.push("part-0", NOW - 9000, NOW - 3000)
    job.run.advance(200)
    text = job.why()
    assert "sums -> Print to Std. Out (1/1): event time stands at the beginning (no watermark)" in text
    assert "waits for the channel from sensors -> values (1/1)" in text
    assert "its split 'part-1' has seen no record with a timestamp" in text
    assert "with_idleness(...)" in text
    assert f"1 other went on, up to {NOW - 3001} (2023-11-14 22:13:16 UTC)" in text


def test_the_slowest_split_is_named(job: Job) -> None:
    windows(job.source("sensors", ascending(), splits=["part-0", "part-1"])).print()
    job.start()
    job.push("part-0", NOW - 3000)
    job.push("part-1", NOW - 60_000)
    job.run.advance(200)
    text = job.why()
    assert f"event time stands at {NOW - 60_001} (2023-11-14 22:12:19 UTC), 60 s behind the clock." in text
    assert f"its split 'part-1' is at watermark {NOW - 60_001}" in text
    assert "part-0" not in text


def test_an_idle_split_is_not_blamed(job: Job) -> None:
    windows(job.source("sensors", ascending().with_idleness(1000), splits=["part-0", "part-1"])).print()
    job.start()
    for _ in range(6):
        job.push("part-0", NOW - 3000)
        job.run.advance(200)
    text = job.why()
    assert "its split 'part-0' is at watermark" in text
    assert "part-1" not in text


def test_all_idle(job: Job) -> None:
    windows(job.source("sensors", ascending().with_idleness(1000))).print()
    job.start()
    job.push("sensors", NOW - 3000)
    job.run.advance(2000)
    text = job.why()
    assert "sums -> Print to Std. Out (1/1): event time stands at" in text
    assert "has only idle inputs, so time stands still until one of them has a record again" in text


def test_the_slower_of_two_streams_is_named(job: Job) -> None:
    fast = job.source("fast", ascending())
    slow = job.source("slow", ascending())
    windows(fast.union(slow)).print()
    job.start()
    job.push("fast", NOW - 1000)
    job.run.advance(200)
    text = job.why()
    assert "waits for the channel from slow -> values (1/1) (at the beginning (no watermark), the slowest of 2)" in text
    assert "its split 'slow' has seen no record with a timestamp" in text
    assert "slow -> values (1/1): the source has sent no record yet." in text


def test_a_filter_that_drops_everything(job: Job) -> None:
    stream = job.source("sensors", ascending()).rebalance().filter(lambda _: False).name("only odd")
    windows(stream).print()
    job.start()
    job.push("sensors", NOW - 3000, NOW - 2000)
    text = job.why()
    assert "sums -> Print to Std. Out (1/1): no record has arrived." in text
    assert "only odd (1/1) has received 2 records, but sent none on: does it filter all?" in text


def test_a_filter_chained_to_the_source(job: Job) -> None:
    windows(job.source("sensors", ascending()).filter(lambda _: False)).print()
    job.start()
    job.push("sensors", NOW - 3000)
    assert "the source has records, but a step chained to it passes none of them on." in job.why()


def test_no_strategy_at_all(job: Job) -> None:
    stream = job.env.from_collection([("k", 1)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda _, __: NOW)
    )
    windows(stream.union(job.source("sensors", WatermarkStrategy.no_watermarks()))).print()
    job.start()
    job.push("sensors", NOW)
    text = job.why()
    assert f"its highest timestamp is {NOW}" in text
    assert (
        "Its WatermarkStrategy makes no watermarks: it is no_watermarks(), or the auto-watermark interval is 0." in text
    )


def test_seconds_taken_for_milliseconds(job: Job) -> None:
    windows(job.source("sensors", ascending())).print()
    job.start()
    job.push("sensors", NOW // 1000)
    job.run.advance(200)
    assert "Timestamps count milliseconds, but these look like seconds: multiply them by 1000." in job.why()


def test_a_timestamp_of_the_future(job: Job) -> None:
    windows(job.source("sensors", ascending())).print()
    job.start()
    job.push("sensors", NOW + 400 * 86_400_000)
    job.run.advance(200)
    text = job.why()
    assert "ahead of the clock" in text
    assert "That is in the future: every record of the present is late." in text


def test_late_records_are_mentioned(job: Job) -> None:
    windows(job.source("sensors", ascending())).print()
    job.start()
    job.push("sensors", NOW)
    job.run.advance(200)
    job.push("sensors", NOW - 60_000, NOW - 50_000)
    assert "sums: 2 records came too late and were dropped." in job.why()


def test_the_origin_is_found_behind_other_steps(job: Job) -> None:
    stream = job.source("sensors", ascending(), splits=["a", "b"]).rebalance().map(lambda record: record).name("copy")
    windows(stream).print()
    job.start()
    job.push("a", NOW)
    job.run.advance(200)
    text = job.why()
    assert (
        "It waits for the channel from copy (1/1): that one waits for the channel from sensors -> values (1/1): "
        in text
    )
    assert "its split 'b' has seen no record with a timestamp" in text


def test_a_finished_job(job: Job) -> None:
    job.env.from_collection([1]).print()
    job.start()
    while job.run.step():
        pass
    assert job.why() == "All subtasks have finished."


def test_a_job_without_event_time(job: Job) -> None:
    job.source("sensors", WatermarkStrategy.no_watermarks()).key_by(0).sum(1).print()
    job.start()
    job.push("sensors", NOW)
    assert job.why() == (
        "Nothing holds event time back: all steps have records and no step in event time waits for a watermark."
    )
