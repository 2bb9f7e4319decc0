"""Batch on Spark: one slot is enough, results are final, lost tasks run again, and sinks commit once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import (
    JobStatus,
    KeyedProcessFunction,
    ProgramError,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    UserFunctionError,
    WatermarkStrategy,
)
from tests.spark.jobs import collect
from tests.spark.processes import program
from tests.spark.test_programs import PROGRAMS

STAMPED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])


@pytest.fixture
def batch(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    return env.set_runtime_mode(RuntimeExecutionMode.BATCH)


@pytest.mark.timeout(300)
def test_one_slot_and_a_worker_that_dies(tmp_path: Path) -> None:
    with program(tmp_path, PROGRAMS / "batch_jobs.py", "local[1,4]", str(tmp_path)) as started:
        lines = started.run(250).splitlines()
    assert sorted(line.partition("> ")[2] for line in lines[:4]) == [
        "('be', 2)",
        "('not', 1)",
        "('or', 1)",
        "('to', 2)",
    ]
    # The second task of the last stage is all that was begun twice.
    assert lines[4:] == ["run again: [(2, 1, 2)]", "hidden: []", "each sum once: True"]


class AtTheEnd(KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        yield "record", value

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", (ctx.get_current_key(), timestamp)


def test_keys_come_one_after_the_other_sorted_by_time(batch: StreamExecutionEnvironment) -> None:
    records = batch.from_collection([("a", 5), ("b", 2), ("a", 1)]).assign_timestamps_and_watermarks(STAMPED)
    told = collect(records.key_by(lambda pair: pair[0]).process(AtTheEnd()))
    of_a = [("record", ("a", 1)), ("record", ("a", 5)), ("timer", ("a", 11)), ("timer", ("a", 15))]
    assert [entry for entry in told if entry[1][0] == "a"] == of_a
    assert [entry for entry in told if entry[1][0] == "b"] == [("record", ("b", 2)), ("timer", ("b", 12))]


def test_windows_joins_and_unions_of_different_depths(batch: StreamExecutionEnvironment) -> None:
    left = batch.from_collection([("a", 1), ("b", 2)]).assign_timestamps_and_watermarks(STAMPED)
    right = batch.from_collection([("a", 3), ("a", 20_000)]).assign_timestamps_and_watermarks(STAMPED)
    joined = (
        left.join(right)
        .where(lambda pair: pair[0])
        .equal_to(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .apply(lambda one, other: (one[0], one[1] + other[1]))
    )
    assert sorted(collect(joined.union(left))) == [("a", 1), ("a", 4), ("b", 2)]


def test_a_function_that_raises_fails_the_job_with_its_traceback(batch: StreamExecutionEnvironment) -> None:
    batch.from_collection([1, 0]).map(lambda number: 1 // number).print()
    with pytest.raises(UserFunctionError, match="ZeroDivisionError"):
        batch.execute()


def test_savepoints_are_refused(batch: StreamExecutionEnvironment) -> None:
    batch.from_collection([1]).map(lambda number: number).print()
    client = batch.execute_async("short")
    with pytest.raises(ProgramError, match="BATCH mode, where there are no savepoints"):
        client.trigger_savepoint("/nowhere")
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
