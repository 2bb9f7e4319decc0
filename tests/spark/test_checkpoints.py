"""Checkpoints of jobs on Spark: when they are taken, how long they are kept, and what restarts make of them."""

from __future__ import annotations

import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    CheckpointError,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    JobStatus,
    RestartStrategies,
    StreamExecutionEnvironment,
    UserFunctionError,
    WatermarkStrategy,
)
from penstock.errors import CheckpointStorageError, JobCancelledError, JobFailedError
from tests.chaos.noted_rows import NotedRows, seen_rows
from tests.spark.checkpoint_bench import SUMS, CheckpointBench, checkpoint_ids, result
from tests.spark.checkpoint_jobs import Fuse, Sum, Tap, Tapped, WaitFor, numbers
from tests.spark.jobs import wait_until
from tests.spark.processes import program
from tests.spark.test_programs import PROGRAMS

RETAIN = ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
DELETE = ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION


@pytest.fixture
def bench(tmp_path: Path) -> CheckpointBench:
    return CheckpointBench(tmp_path)


def test_w_86_a_job_that_fails_goes_on_from_its_last_checkpoint(bench: CheckpointBench) -> None:
    env = bench.env()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    bench.sums(env, at=80)
    bench.tap.open(30)
    client = env.execute_async()
    bench.wait_for_records(60)
    taken = bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    bench.tap.open(50)
    result(client)
    assert bench.results.read() == SUMS
    restored = bench.diary.lines("restored")
    assert restored[:2] == ["None", "None"]
    assert len(restored) == 4
    assert int(restored[2]) >= taken, "not from the beginning"


def test_a_bounded_job_ends_with_a_final_checkpoint_that_its_functions_hear_of(bench: CheckpointBench) -> None:
    env = bench.env(interval=3_600_000)
    bench.sums(env)
    bench.tap.open(50)
    env.execute()
    assert bench.results.read() == SUMS
    assert bench.diary.lines("complete") == ["1", "1"]
    assert checkpoint_ids(bench.checkpoints) == [], "a job that has finished needs no checkpoint"


def test_checkpoints_go_on_when_some_sources_have_finished(bench: CheckpointBench) -> None:
    env = bench.env()
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    short = Tap(bench.place / "short")
    short.open(50)
    first = numbers(env, short, 20).map(lambda n: 1000 + n)
    slow = env.from_source(Tapped(bench.tap, 100), WatermarkStrategy.no_watermarks(), "slow").uid("slow")
    slow = slow.map(Fuse(bench.diary, 90))
    keyed = first.union(slow).key_by(lambda n: n // 1000)
    keyed.process(Sum()).uid("sums").add_sink(bench.results.sink())
    client = env.execute_async()
    bench.wait_for_records(20)
    bench.tap.open(40)
    bench.wait_for_records(100)
    bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    bench.tap.open(50)
    result(client)
    assert bench.results.read() == {"0": (100, sum(range(100))), "1": (20, sum(range(1000, 1020)))}


@pytest.mark.parametrize("retained", [None, 3])
def test_w_88_the_newest_checkpoints_are_kept(bench: CheckpointBench, retained: int | None) -> None:
    settings = {} if retained is None else {"state__checkpoints__num-retained": str(retained)}
    env = bench.env(20, **settings)
    env.get_checkpoint_config().set_externalized_checkpoint_retention(RETAIN)
    bench.sums(env)
    client = env.execute_async()
    bench.wait_for_checkpoint(5)
    client.cancel().result(30)
    kept = checkpoint_ids(bench.checkpoints)
    newest = max(kept)
    assert kept == list(range(newest - (retained or 1) + 1, newest + 1))


@pytest.mark.parametrize("form", ["directory", "_metadata", "plain path"])
def test_w_89_a_job_starts_from_a_chosen_checkpoint_and_its_ids_go_on(bench: CheckpointBench, form: str) -> None:
    env = bench.env(20, **{"execution__checkpointing__num-retained": "100"})
    env.get_checkpoint_config().set_externalized_checkpoint_retention(RETAIN)
    bench.sums(env)
    bench.tap.open(10)
    client = env.execute_async()
    bench.wait_for_records(20)
    chosen = bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    bench.tap.open(20)
    bench.wait_for_records(40)
    bench.wait_for_checkpoint(chosen + 2)
    client.cancel().result(30)
    assert bench.results.read() != SUMS
    path = {
        "directory": f"file://{bench.path_of(chosen)}",
        "_metadata": f"file://{bench.path_of(chosen)}/_metadata",
        "plain path": str(bench.path_of(chosen)),
    }[form]
    chosen_directory = bench.path_of(chosen)
    again = CheckpointBench(bench.place / "again")
    again.place.mkdir()
    again.tap.open(50)
    env = again.env(20, **{"execution__state-recovery__path": path})
    again.sums(env)
    result(env.execute_async())
    assert again.results.read() == SUMS
    assert again.diary.lines("restored") == [str(chosen)] * 2
    assert int(again.diary.lines("complete")[0]) > chosen
    assert (chosen_directory / "_metadata").exists(), "what a job was started from is not its to delete"


@pytest.mark.parametrize(
    ("retention", "end", "is_kept"),
    [(RETAIN, "cancel", True), (DELETE, "cancel", False), (RETAIN, "fail", True), (DELETE, "fail", True)],
)
def test_w_90_retention(bench: CheckpointBench, retention: Any, end: str, is_kept: bool) -> None:
    env = bench.env(20)
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.get_checkpoint_config().set_externalized_checkpoint_retention(retention)
    bench.sums(env, at=80)
    client = env.execute_async()
    bench.wait_for_checkpoint()
    if end == "cancel":
        client.cancel().result(30)
        with pytest.raises(JobCancelledError):
            result(client)
    else:
        bench.tap.open(50)
        with pytest.raises(UserFunctionError, match="bad record 80"):
            result(client)
    assert bool(checkpoint_ids(bench.checkpoints)) is is_kept


def test_w_92_a_job_that_always_fails_is_restarted_three_times_from_its_state(bench: CheckpointBench) -> None:
    env = bench.env(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 10))
    bench.sums(env, at=80, times=100)
    bench.tap.open(30)
    client = env.execute_async()
    bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    bench.tap.open(50)
    with pytest.raises(UserFunctionError, match="bad record 80"):
        result(client)
    assert len(bench.diary.lines("failed")) == 4
    # An attempt may fail before all of its subtasks are open.
    restored = bench.diary.lines("restored")
    assert 2 < len(restored) <= 2 * 4
    assert all(int(each) > 0 for each in restored[2:])
    assert client.get_job_status().result() is JobStatus.FAILED


def test_w_93_the_fourth_failure_within_the_interval_fails_the_job(bench: CheckpointBench) -> None:
    settings = {
        "restart-strategy": "failure-rate",
        "restart-strategy__failure-rate__max-failures-per-interval": "3",
        "restart-strategy__failure-rate__failure-rate-interval": "5 min",
        "restart-strategy__failure-rate__delay": "10 ms",
    }
    env = bench.env(20, **settings)
    bench.sums(env, at=80, times=100)
    bench.tap.open(50)
    with pytest.raises(UserFunctionError, match="bad record 80"):
        result(env.execute_async())
    assert len(bench.diary.lines("failed")) == 4


def test_w_94_without_restarts_the_first_failure_fails_the_job(bench: CheckpointBench) -> None:
    env = bench.env(20, **{"restart-strategy__type": "none"})
    bench.sums(env, at=80)
    bench.tap.open(50)
    with pytest.raises(UserFunctionError, match="bad record 80"):
        result(env.execute_async())
    assert len(bench.diary.lines("failed")) == 1


@pytest.mark.parametrize("tolerable", [0, 2])
def test_w_95_failed_checkpoints_in_a_row_are_tolerated_up_to_a_number(
    bench: CheckpointBench, caplog: pytest.LogCaptureFixture, tolerable: int
) -> None:
    env = bench.env(20)
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(tolerable)
    bench.sums(env)
    client = env.execute_async()
    bench.wait_for_checkpoint()
    with caplog.at_level(logging.WARNING, "penstock.checkpoints"):
        # A file where the directory was: nothing can be written there any more.
        shutil.rmtree(bench.checkpoints, ignore_errors=True)
        while not bench.checkpoints.is_file():
            try:
                bench.checkpoints.write_text("no directory", encoding="utf-8")
            except IsADirectoryError:
                shutil.rmtree(bench.checkpoints, ignore_errors=True)
        with pytest.raises(JobFailedError, match=rf"{tolerable + 1} checkpoint\(s\) in a row failed, {tolerable} are"):
            result(client)
    given_up = [record for record in caplog.records if "is given up" in record.message]
    assert len(given_up) == tolerable + 1


def test_a_checkpoint_that_takes_too_long_is_given_up(bench: CheckpointBench) -> None:
    env = bench.env(20)
    env.set_restart_strategy(RestartStrategies.no_restart())
    env.get_checkpoint_config().set_checkpoint_timeout(300)
    gate = bench.place / "gate"
    numbers(env, bench.tap).key_by(lambda n: n % 3).map(WaitFor(gate)).name("hold up").print()
    bench.tap.open(50)
    client = env.execute_async()
    with pytest.raises(JobFailedError, match=r"longer than 300 ms; no acknowledgement from hold up.*\([12]/2\)"):
        result(client)
    gate.write_text("", encoding="utf-8")


def test_settings_are_taken_from_keys_of_configuration(bench: CheckpointBench) -> None:
    settings = {
        "execution__checkpointing__interval": "30 ms",
        "execution__checkpointing__mode": "AT_LEAST_ONCE",
        "execution__checkpointing__min-pause": "10 ms",
        "execution__checkpointing__timeout": "1 min",
        "execution__checkpointing__max-concurrent-checkpoints": "1",
        "execution__checkpointing__tolerable-failed-checkpoints": "3",
        "execution__checkpointing__externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "state__checkpoints__num-retained": "2",
        "state__backend__type": "rocksdb",
        "execution__checkpointing__incremental": "true",
    }
    env = bench.env(None, **settings)
    assert env.get_checkpoint_interval() == 30
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    bench.sums(env)
    bench.tap.open(30)
    client = env.execute_async()
    bench.wait_for_records(60)
    bench.wait_for_checkpoint(bench.wait_for_checkpoint() + 3)
    client.cancel().result(30)
    assert len(checkpoint_ids(bench.checkpoints)) == 2
    (job,) = bench.checkpoints.iterdir()
    assert re.fullmatch("[0-9a-f]{32}", job.name)
    assert (job / "shared").is_dir(), "RocksDB's checkpoints share files"


def test_a_job_that_keeps_checkpoints_in_memory_recovers_too(bench: CheckpointBench) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.enable_checkpointing(20)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 0))
    bench.sums(env, at=80)
    bench.tap.open(30)
    client = env.execute_async()
    bench.wait_for_records(60)
    wait_until(lambda: len(bench.diary.lines("complete")) > 4, "two checkpoints")
    bench.tap.open(50)
    result(client)
    assert bench.results.read() == SUMS
    assert bench.diary.lines("restored")[-1] != "None"


def test_a_path_without_a_checkpoint_is_refused_before_anything_starts(bench: CheckpointBench) -> None:
    env = bench.env(20, **{"execution__state-recovery__path": str(bench.place / "nowhere")})
    bench.sums(env)
    with pytest.raises(CheckpointError, match="There is no checkpoint or savepoint at"):
        env.execute()


@pytest.mark.timeout(200)
def test_state_may_hold_objects_of_the_programs_own_script(tmp_path: Path) -> None:
    with program(tmp_path, PROGRAMS / "own_state_classes.py", str(tmp_path)) as started:
        assert started.run(150).splitlines() == ["Number(value=125250)", "restored"]


def test_storage_that_only_executors_cannot_write_ends_the_job_at_once(
    bench: CheckpointBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.checkpoint.job_storage.try_checkpoint_directory", lambda _: None)
    env = bench.env(execution__checkpointing__dir="file:///proc/nope")
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
    bench.sums(env)
    bench.tap.open(50)
    with pytest.raises(CheckpointStorageError, match="Checkpoints cannot be written to file:///proc/nope"):
        env.execute()
    assert bench.diary.lines("restored") == [], "no function was opened"


def test_a_second_run_with_a_write_ahead_sink_writes_its_records_too(tmp_path: Path) -> None:
    rows = str(tmp_path / "rows.sqlite")
    for _ in range(2):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        env.enable_checkpointing(3_600_000)
        env.from_sequence(1, 20).map(str).add_sink(NotedRows(rows)).uid("rows")
        env.execute("numbers")
    assert seen_rows(rows) == {str(number): 2 for number in range(1, 21)}
