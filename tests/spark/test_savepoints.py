"""Savepoints of jobs on Spark: taken, stopped with, started from by another program or with another parallelism."""

from __future__ import annotations

import json
import logging
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    CheckpointError,
    ExternalizedCheckpointRetention,
    JobStatus,
    StateRestoreError,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.checkpoint.job_storage import JobStorage
from penstock.checkpoint.subtask_state import SubtaskState
from penstock.execution.spark.control.messages import Acknowledged
from penstock.execution.spark.driver.checkpoints import Checkpoints
from penstock.foundation.clock import SystemClock
from penstock.foundation.files.by_uri import files_of
from penstock.operations.checkpoint_history import CheckpointHistory
from penstock.savepoints import Savepoint
from tests.spark.checkpoint_bench import SUMS, CheckpointBench, checkpoint_ids, result, running
from tests.spark.checkpoint_jobs import AtEnd, Sum, Tapped, numbers
from tests.spark.jobs import wait_until


@pytest.fixture
def bench(tmp_path: Path) -> CheckpointBench:
    return CheckpointBench(tmp_path)


def test_w_91_trigger_cancel_change_the_code_and_start_again(
    bench: CheckpointBench, caplog: pytest.LogCaptureFixture
) -> None:
    env = bench.env(None)
    bench.sums(env)
    bench.tap.open(20)
    client = running(env.execute_async())
    bench.wait_for_records(40)
    path = client.trigger_savepoint(f"file://{bench.savepoints}").result(60)
    job = str(client.get_job_id())
    assert re.fullmatch(rf"file://{bench.savepoints}/savepoint-{job[:6]}-[0-9a-f]{{12}}", path)
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result(30)
    # The new program has a filter more, another name for its results and a step whose state is gone.
    env = bench.env(None, **{"execution__state-recovery__path": path})
    checked = numbers(env, bench.tap).filter(lambda n: n >= 0).uid("filter")
    checked.key_by(lambda n: n % 3).process(Sum()).uid("sums").add_sink(bench.results.sink()).name("other results")
    bench.tap.open(50)
    with pytest.raises(StateRestoreError, match=r"\(watch\).*uid\(\).*allow_non_restored_state"):
        result(env.execute_async())
    env = bench.env(
        None,
        **{"execution__state-recovery__path": path, "execution__state-recovery__ignore-unclaimed-state": "true"},
    )
    checked = numbers(env, bench.tap).filter(lambda n: n >= 0).uid("filter")
    checked.key_by(lambda n: n % 3).process(Sum()).uid("sums").add_sink(bench.results.sink()).name("other results")
    with caplog.at_level(logging.INFO, "penstock.checkpoints"):
        result(env.execute_async())
    assert bench.results.read() == SUMS
    (said,) = [record.message for record in caplog.records if "starts from" in record.message]
    assert path in said
    assert re.search(r"^restored  numbers, sums$", said, re.MULTILINE)
    assert re.search(r"^new       filter, ", said, re.MULTILINE)
    assert re.search(r"^dropped   watch$", said, re.MULTILINE)


@pytest.mark.parametrize("drain", [False, True])
def test_stop_with_savepoint(bench: CheckpointBench, drain: bool) -> None:
    def build(**settings: str) -> Any:
        env = bench.env(None, **settings)
        sums = numbers(env, bench.tap).key_by(lambda n: n % 3).process(AtEnd()).uid("sums")
        sums.add_sink(bench.results.sink())
        # Beside it, so that the test sees when the records are there.
        beside = env.from_source(Tapped(bench.tap, 100), WatermarkStrategy.no_watermarks(), "beside").uid("beside")
        beside.key_by(lambda n: n % 3).process(Sum()).uid("seen").add_sink(bench.seen.sink())
        return running(env.execute_async())

    bench.tap.open(20)
    client = build()
    bench.wait_for_seen(40)
    path = client.stop_with_savepoint(drain, f"file://{bench.savepoints}").result(60)
    assert client.get_job_status().result() is JobStatus.FINISHED
    if drain:
        # Event time has come to its end: the timers have fired with what was there.
        sums = {str(key): (len(range(key, 40, 3)), sum(range(key, 40, 3))) for key in range(3)}
        assert bench.results.read() == sums
        return
    assert bench.results.read() == {}
    bench.tap.open(50)
    result(build(**{"execution__state-recovery__path": path}))
    assert bench.results.read() == SUMS


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_what_a_job_starts_from_is_left_alone_or_claimed(bench: CheckpointBench, backend: str) -> None:
    def start(records: int, path: Path | None = None, mode: str = "NO_CLAIM") -> tuple[Any, Path]:
        """Starts the job, and returns it with the directory of its checkpoints when these records are in one."""
        settings = {"state__backend__type": backend, "execution__checkpointing__incremental": "true"}
        if path is not None:
            settings |= {"execution__state-recovery__path": str(path), "execution__state-recovery__claim-mode": mode}
        env = bench.env(30, **settings)
        env.get_checkpoint_config().set_externalized_checkpoint_retention(
            ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
        )
        bench.sums(env)
        bench.tap.open(records)
        client = running(env.execute_async())
        bench.wait_for_records(2 * records)
        directory = bench.checkpoints / str(client.get_job_id())
        newest = max(checkpoint_ids(directory.parent, directory.name), default=0)
        wait_until(lambda: max(checkpoint_ids(directory.parent, directory.name), default=0) > newest + 1, "two more")
        return client, directory

    def content(directory: Path) -> dict[str, int]:
        return {str(path): path.stat().st_size for path in directory.rglob("*") if path.is_file()}

    first, its_place = start(20)
    first.cancel().result(30)
    (kept,) = its_place.glob("chk-*")
    before = content(its_place)
    second, its_own = start(30, kept)
    assert content(its_place) == before, "not a file more or less"
    shutil.rmtree(its_place)
    second.cancel().result(30)
    (kept,) = its_own.glob("chk-*")
    third, _ = start(40, kept, "CLAIM")
    wait_until(lambda: not its_own.exists(), "what was claimed is deleted, with its shared files")
    bench.tap.open(50)
    result(third)
    assert bench.results.read() == SUMS


def test_who_stops_a_job_hears_of_a_failure_on_its_way_to_the_end(bench: CheckpointBench) -> None:
    # Only the driver's side, without any task: the job fails when the savepoint is there and tasks have not ended yet.
    env = bench.env()
    bench.sums(env)
    job = env._build_job(None)
    checkpoints = Checkpoints(job, SystemClock(), JobStorage.of(job, files_of), CheckpointHistory(job.plan.subtasks))
    checkpoints.attempt_begins(Deaf(), lambda reason: None)  # type: ignore[arg-type]
    checkpoints.tasks_running()
    stopped = checkpoints.savepoint(str(bench.savepoints), stop=True)
    for vertex in job.plan.vertices.values():
        for index in range(vertex.parallelism):
            checkpoints.on_message(Acknowledged((vertex.id, index), 1, SubtaskState()))
    wait_until(lambda: len(list(bench.savepoints.glob("*/_metadata"))) == 1, "the savepoint")
    with pytest.raises(TimeoutError):
        stopped.result(0.05)
    (path,) = bench.savepoints.iterdir()
    assert checkpoints.attempt_failed() == 1, "it goes on from there"
    with pytest.raises(CheckpointError, match=f"The savepoint {path} was taken, but then the job did not come"):
        stopped.result(1)
    checkpoints.close("failed")


class Deaf:
    """A line to tasks that are not there."""

    def send(self, task: Any, message: Any) -> None:
        pass

    def send_all(self, message: Any) -> None:
        pass


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_a_job_comes_back_with_another_parallelism_and_another_backend(bench: CheckpointBench, backend: str) -> None:
    env = bench.env(30, state__backend__type=backend)
    bench.sums(env)
    bench.tap.open(20)
    client = running(env.execute_async())
    bench.wait_for_records(40)
    path = client.stop_with_savepoint(False, str(bench.savepoints)).result(60)
    result(client)
    bench.tap.open(35)
    other = "rocksdb" if backend == "hashmap" else "hashmap"
    env = bench.env(30, parallelism=3, **{"execution__state-recovery__path": path, "state__backend__type": other})
    bench.sums(env)
    client = running(env.execute_async())
    bench.wait_for_records(70)
    path = client.stop_with_savepoint(False, str(bench.savepoints)).result(60)
    result(client)
    bench.tap.open(50)
    env = bench.env(30, parallelism=1, **{"execution__state-recovery__path": path, "state__backend__type": other})
    bench.sums(env)
    result(env.execute_async())
    assert bench.results.read() == SUMS


@pytest.mark.timeout(400)
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_from_2_to_3_to_1_to_4_every_key_keeps_its_state_and_its_timer(bench: CheckpointBench, backend: str) -> None:
    limit, keys = 400, 29

    def start(parallelism: int, path: str | None) -> Any:
        settings = {} if path is None else {"execution__state-recovery__path": path}
        env = bench.env(None, parallelism, state__backend__type=backend, **settings)
        records = numbers(env, bench.tap, limit)
        records.key_by(lambda n: n % 3).process(Sum()).uid("seen").add_sink(bench.seen.sink()).name("seen")
        at_end = records.key_by(lambda n: n % keys).process(AtEnd()).uid("sums")
        at_end.add_sink(bench.results.sink()).name("results")
        return env.execute_async()

    path: str | None = None
    for number, parallelism in enumerate([2, 3, 1], 1):
        bench.tap.open(50 * number)
        client = running(start(parallelism, path))
        bench.wait_for_seen(100 * number)
        path = client.stop_with_savepoint(False, str(bench.savepoints)).result(60)
        result(client)
        assert bench.results.read() == {}
    bench.tap.open(limit)
    result(start(4, path))
    expected = {str(key): range(key, limit, keys) for key in range(keys)}
    assert bench.results.read() == {key: (len(each), sum(each)) for key, each in expected.items()}


def test_savepoints_without_a_directory_go_to_the_default_one_or_are_refused(bench: CheckpointBench) -> None:
    env = bench.env(None)
    bench.sums(env)
    bench.tap.open(1)
    client = running(env.execute_async())
    bench.wait_for_records(2)
    with pytest.raises(CheckpointError, match=r"No directory for the savepoint.*set_default_savepoint_directory"):
        client.trigger_savepoint().result(30)
    assert client.get_job_status().result() is JobStatus.RUNNING
    client.cancel().result(30)
    env = bench.env(None, state__savepoints__dir=f"file://{bench.savepoints}")
    bench.sums(env)
    client = running(env.execute_async())
    bench.wait_for_records(2)
    path = client.trigger_savepoint().result(60)
    assert path.startswith(f"file://{bench.savepoints}/savepoint-")
    client.cancel().result(30)
    assert Path(path.removeprefix("file://"), "_metadata").exists()


def test_a_savepoint_is_kept_when_checkpoints_go_and_outlives_the_checkpoints_files(bench: CheckpointBench) -> None:
    """A savepoint of incremental checkpoints stands alone: nothing in it is shared."""
    env = bench.env(20, state__backend__type="rocksdb", execution__checkpointing__incremental="true")
    bench.sums(env)
    bench.tap.open(20)
    client = running(env.execute_async())
    bench.wait_for_records(40)
    bench.wait_for_checkpoint(2)
    path = client.trigger_savepoint(str(bench.savepoints)).result(60)
    client.cancel().result(30)
    assert checkpoint_ids(bench.checkpoints) == []
    moved = bench.place / "moved"
    Path(path).rename(moved)
    env = bench.env(None, **{"execution__state-recovery__path": str(moved)})
    bench.sums(env)
    bench.tap.open(50)
    result(env.execute_async())
    assert bench.results.read() == SUMS


def test_a_savepoint_that_fails_leaves_nothing_behind_and_the_job_goes_on(bench: CheckpointBench) -> None:
    env = bench.env(None)
    numbers(env, bench.tap).key_by(lambda n: n % 3).process(Unpicklable()).uid("sums").add_sink(bench.results.sink())
    bench.tap.open(20)
    client = running(env.execute_async())
    bench.wait_for_records(40)
    with pytest.raises(CheckpointError, match=r"state 'lock'.*cannot be pickled"):
        client.trigger_savepoint(str(bench.savepoints)).result(60)
    assert client.get_job_status().result() is JobStatus.RUNNING
    bench.tap.open(50)
    result(client)
    assert bench.results.read() == SUMS
    assert list(bench.savepoints.glob("*/*")) == []


class Unpicklable(Sum):
    """Keeps something in state that cannot be stored."""

    def process_element(self, value: int, ctx: Any) -> Any:
        self.lock.update(threading.Lock())
        yield from super().process_element(value, ctx)

    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)
        self.lock = runtime_context.get_state(ValueStateDescriptor("lock"))


def test_a_savepoint_as_a_data_frame(bench: CheckpointBench) -> None:
    env = bench.env(None)
    bench.sums(env)
    bench.tap.open(20)
    client = running(env.execute_async())
    bench.wait_for_records(40)
    savepoint = Savepoint.load(client.stop_with_savepoint(False, str(bench.savepoints)).result(60))
    result(client)
    frame = savepoint.to_data_frame(operator="sums", state="sum")
    assert frame.columns == ["operator", "state", "kind", "key", "namespace", "value", "subtask"]
    found = {row.key: tuple(json.loads(row.value)) for row in frame.collect()}
    assert found == {str(key): (len(range(key, 40, 3)), sum(range(key, 40, 3))) for key in range(3)}
    assert savepoint.to_data_frame().where("kind = 'operator list'").count() == 40


def test_a_savepoint_that_cannot_be_written_leaves_the_job_alone(bench: CheckpointBench) -> None:
    env = bench.env(None)
    bench.sums(env)
    bench.tap.open(20)
    client = running(env.execute_async())
    with pytest.raises(CheckpointError, match="Savepoints cannot be written to file:///proc/nope"):
        client.trigger_savepoint("file:///proc/nope").result(30)
    assert client.get_job_status().result() is JobStatus.RUNNING
    bench.tap.open(50)
    result(client)
    assert bench.results.read() == SUMS
