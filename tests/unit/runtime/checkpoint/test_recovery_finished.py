"""What has come to its end before a checkpoint stays at its end after a restore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import DataStream, SourceFunction, TimestampAssigner, TumblingEventTimeWindows
from penstock.common import Time
from penstock.runtime.sources.function import SourceFunctionOperator
from penstock.testing import LocalRun
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import each_record, timed


class OneToThree(SourceFunction):
    """Has no state: whenever it runs it emits the same."""

    def run(self, ctx: Any) -> None:
        for number in (1, 2, 3):
            ctx.collect(number)

    def cancel(self) -> None:
        return


def finish_source_function(run: LocalRun) -> None:
    """Asks the source function alone until it has ended."""
    run.open()
    (subtask,) = [
        subtask
        for task in run.tasks
        for subtask in task.subtasks.values()
        if isinstance(subtask.chain.head, SourceFunctionOperator)
    ]
    while not subtask.is_finished:
        subtask.poll()
    run.settle()


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("is_savepoint", [True, False])
def test_a_source_function_that_had_ended_does_not_run_again(
    tmp_path: Path, parallelism: int, is_savepoint: bool
) -> None:
    def job(parallelism: int) -> Any:
        env = environment(parallelism)
        if not is_savepoint:
            env.enable_checkpointing(3_600_000)
        short = env.add_source(OneToThree()).uid("short")
        long = timed(env, [(n, n) for n in (10, 20, 30)], name="long").uid("long")
        collect(short.union(long).key_by(lambda _: 0).map(lambda n: n).uid("last"))
        return env._build_job(None)

    first = LocalRun(job(1))
    finish_source_function(first)
    first.step()
    assert first.collected["out"] == [1, 2, 3, 10]
    path: Any = first.savepoint(tmp_path) if is_savepoint else first.checkpoint()
    for _ in range(2):
        again = LocalRun(job(parallelism), restore=path)
        path = again.savepoint(tmp_path) if is_savepoint else again.checkpoint()
        again.close()
    assert LocalRun(job(parallelism), restore=path).run().collected["out"] == [20, 30]


def test_a_source_function_that_a_savepoint_has_stopped_runs_on(tmp_path: Path) -> None:
    def job() -> Any:
        env = environment()
        collect(env.add_source(OneToThree()).uid("short"))
        return env._build_job(None)

    first = LocalRun(job())
    path = first.savepoint(tmp_path, stop=True)
    assert first.is_finished
    assert first.collected.get("out", []) == []
    assert LocalRun(job(), restore=path).run().collected["out"] == [1, 2, 3]


class TimeOfNumber(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


@pytest.mark.parametrize("has_step", [False, True])
def test_a_drained_job_reads_on_and_nothing_is_late(tmp_path: Path, has_step: bool) -> None:
    def job() -> Any:
        env = environment()
        numbers: DataStream[int] = timed(env, [(n, n) for n in range(1, 7)]).uid("rows")
        if has_step:
            strategy = each_record().with_timestamp_assigner(TimeOfNumber())
            numbers = numbers.assign_timestamps_and_watermarks(strategy).uid("times")
        windows = numbers.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.milliseconds(4)))
        collect(windows.reduce(lambda one, other: one + other).uid("sums"))
        return env._build_job(None)

    first = LocalRun(job())
    first.step()
    first.step()
    path = first.savepoint(tmp_path, stop=True, drain=True)
    # The window of 1, 2 and 3 fires with what is there, and later with the rest.
    assert first.collected["out"] == [1 + 2]
    assert LocalRun(job(), restore=path).run().collected["out"] == [3, 4 + 5 + 6]
