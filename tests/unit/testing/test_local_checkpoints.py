"""Checkpoints of a local run, taken apart: begun, completed, announced or aborted whenever the test says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import (
    CheckpointListener,
    MapFunction,
    StreamExecutionEnvironment,
    TwoPhaseCommitSinkFunction,
)
from penstock.errors import CheckpointError
from penstock.testing import LocalRun, build_job
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import Replay, each_record

committed: list[Any] = []
told: list[tuple[str, int]] = []
RECORDS = [(number, number) for number in range(1, 6)]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    committed.clear()
    told.clear()


class Commit(TwoPhaseCommitSinkFunction[Any, Any, Any]):
    def begin_transaction(self) -> Any:
        return []

    def invoke(self, transaction: Any, value: Any, context: Any) -> None:
        transaction.append(value)

    def pre_commit(self, transaction: Any) -> None:
        return

    def commit(self, transaction: Any) -> None:
        committed.extend(transaction)

    def abort(self, transaction: Any) -> None:
        return


class Listener(MapFunction[Any, Any], CheckpointListener):
    def map(self, value: Any) -> Any:
        return value

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        told.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        told.append(("aborted", checkpoint_id))


def sums(parallelism: int = 1) -> StreamExecutionEnvironment:
    """Running sums of 1, 2, 3, 4, 5, one record per step."""
    env = environment(parallelism)
    env.enable_checkpointing(3_600_000)
    numbers = env.from_source(Replay(RECORDS), each_record(), "numbers").map(Listener()).uid("listener")
    collect(numbers.key_by(lambda _: "all").reduce(lambda a, b: a + b).uid("sum"))
    return env


def sink() -> StreamExecutionEnvironment:
    env = environment()
    env.enable_checkpointing(3_600_000)
    env.from_source(Replay(RECORDS), each_record(), "numbers").add_sink(Commit()).uid("sink")
    return env


def steps(run: LocalRun, count: int) -> None:
    for _ in range(count):
        run.step()


def test_a_checkpoint_holds_what_was_there_when_it_was_begun() -> None:
    first = LocalRun.of(sums())
    steps(first, 2)
    number = first.trigger_checkpoint()
    steps(first, 2)
    assert first.checkpoints.pending == [number]
    assert first.checkpoints.complete == []
    checkpoint = first.complete_checkpoint(number)
    assert checkpoint.checkpoint_id == number == 1
    first.kill()
    second = LocalRun.of(sums(3), restore=checkpoint).run()
    assert second.collected["out"] == [6, 10, 15]  # 1 + 2 was before


def test_an_aborted_checkpoint_leaves_the_job_alone() -> None:
    run = LocalRun.of(sums())
    steps(run, 1)
    number = run.trigger_checkpoint()
    run.step()
    run.abort_checkpoint(number, "the disk is full")
    assert told == [("aborted", 1)]
    with pytest.raises(CheckpointError, match="was not completed"):
        run.complete_checkpoint(number)
    with pytest.raises(CheckpointError, match="is not under way"):
        run.abort_checkpoint(number)
    assert run.checkpoint().checkpoint_id == 2
    assert run.run().collected["out"] == [1, 3, 6, 10, 15]
    assert told == [("aborted", 1), ("complete", 2), ("complete", 3)]  # the last one at the end of the job


def test_a_complete_checkpoint_of_which_nobody_knows() -> None:
    run = LocalRun.of(sink())
    steps(run, 2)
    run.complete_checkpoint(run.trigger_checkpoint(), notify=False)
    assert committed == []
    run.notify_complete(1)
    assert committed == [1, 2]
    with pytest.raises(CheckpointError, match="know of it already"):
        run.notify_complete(1)
    run.run()
    assert committed == [1, 2, 3, 4, 5]


def test_a_crash_between_completion_and_notification() -> None:
    run = LocalRun.of(sink())
    steps(run, 2)
    checkpoint = run.complete_checkpoint(run.trigger_checkpoint(), notify=False)
    run.kill()
    assert committed == []
    LocalRun.of(sink(), restore=checkpoint).run()
    assert committed == [1, 2, 3, 4, 5]


def test_checkpoints_at_the_same_time_are_completed_one_by_one() -> None:
    run = LocalRun.of(sums())
    for _ in range(3):
        run.step()
        run.trigger_checkpoint()
    run.settle()
    run.complete_checkpoint(1)
    assert run.checkpoints.pending == [2, 3]
    run.complete_checkpoint(3)  # and so nobody wants the second one any more
    assert run.checkpoints.pending == []
    assert [each.checkpoint_id for each in run.checkpoints.complete] == [1, 3]
    assert told == [("complete", 1), ("complete", 3), ("aborted", 2)]
    run.close()


def test_a_savepoint_in_two_steps(tmp_path: Path) -> None:
    run = LocalRun.of(sums())
    steps(run, 3)
    number = run.trigger_savepoint(tmp_path, stop=True)
    assert not list(tmp_path.glob("*/_metadata"))
    savepoint = run.complete_checkpoint(number)
    assert Path(savepoint.path).parent == tmp_path
    run.run()
    assert run.collected["out"] == [1, 3, 6]  # the job has stopped with it
    assert LocalRun.of(sums(2), restore=savepoint.path).run().collected["out"] == [10, 15]


def test_an_aborted_stop_lets_the_job_go_on(tmp_path: Path) -> None:
    run = LocalRun.of(sums())
    run.step()
    number = run.trigger_savepoint(tmp_path, stop=True)
    run.step()
    assert run.collected["out"] == [1]
    run.abort_checkpoint(number)
    assert run.run().collected["out"] == [1, 3, 6, 10, 15]


def test_a_job_that_has_ended_begins_no_savepoint(tmp_path: Path) -> None:
    run = LocalRun.of(sums()).run()
    with pytest.raises(CheckpointError, match="was not begun"):
        run.trigger_savepoint(tmp_path)


def test_block_by_block() -> None:
    run = LocalRun.of(sums())
    assert run.poll()
    assert "out" not in run.collected  # the record waits in front of the second stage
    run.trigger_checkpoint()
    assert run.deliver()
    assert run.collected["out"] == [1]
    while run.deliver():
        pass
    assert not run.settle()
    run.close()


def test_a_job_is_built_by_a_public_call_and_runs_any_number_of_times() -> None:
    job = build_job(sums(), "sums")
    assert job.name == "sums"
    assert LocalRun(job).run().collected == LocalRun(job).run().collected == {"out": [1, 3, 6, 10, 15]}


def test_a_restore_path_of_the_program_is_taken(tmp_path: Path) -> None:
    first = LocalRun.of(sums())
    steps(first, 2)
    path = first.savepoint(tmp_path)
    first.kill()
    env = sums()
    env._restore_path = path
    assert LocalRun.of(env).run().collected["out"] == [6, 10, 15]
