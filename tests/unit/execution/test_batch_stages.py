"""The tasks of a batch job as Spark's workers run them, with rows carried by the test instead of by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import Encoder, FileSink, RuntimeExecutionMode, UserFunctionError
from penstock.execution.spark.batch import attempt as attempt_module
from penstock.execution.spark.batch import stage_main
from penstock.execution.spark.batch.attempt import BatchAttempt
from penstock.execution.spark.worker.exchange import InputLostError
from penstock.graph.job import Job
from penstock.graph.packing import pack_job
from penstock.runtime.batch.outcome import Committables, PrintedPart, unpack_part
from penstock.testing import build_job
from penstock.testing.local_splits import LocalSplits
from tests.unit.local_jobs import environment

SCHEMA = pa.schema([("p", pa.int32()), ("o", pa.binary()), ("b", pa.binary())])


class FakeSession:
    sparkContext = None


@dataclass
class FakeContext:
    partition: int
    task_attempt: int

    def partitionId(self) -> int:
        return self.partition

    def taskAttemptId(self) -> int:
        return self.task_attempt


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[FakeContext]:
    """The last one is what a worker finds; there is no Spark whose session had to be cancelled."""
    found: list[FakeContext] = []

    class Contexts:
        @staticmethod
        def get() -> FakeContext:
            return found[-1]

    monkeypatch.setattr(stage_main, "TaskContext", Contexts)
    monkeypatch.setattr(attempt_module, "addresses_of", lambda context: ("127.0.0.1", "127.0.0.1"))
    monkeypatch.setattr(attempt_module, "cancel_jobs", lambda session, group: None)
    monkeypatch.setattr(stage_main, "_RELEASE_SECONDS", 0.1)
    return found


def run_stages(job: Job, contexts: list[FakeContext], times: int = 1) -> tuple[BatchAttempt, list[Any]]:
    splits = LocalSplits(job, 0, None, None).numbered
    attempt = BatchAttempt(job, FakeSession(), 0, pack_job(job), splits)  # type: ignore[arg-type]
    rows: list[tuple[int, bytes, bytes]] = []
    for stage in job.plan.stages:
        waiting = defaultdict(list)
        for row in rows:
            waiting[row[0]].append(row)
        rows = []
        for index in range(stage.parallelism):
            arrived = sorted(waiting[index], key=lambda row: row[1])
            for _ in range(times):
                contexts.append(FakeContext(index, len(contexts)))
                batch = pa.RecordBatch.from_pylist([dict(zip("pob", row, strict=True)) for row in arrived], SCHEMA)
                sent = [
                    (row["p"], row["o"], row["b"])
                    for made in attempt._entry(stage.index)(iter([batch]))
                    for row in made.to_pylist()
                ]
            rows += sent
    attempt._server.let_go()
    attempt._server.drain(2.0)
    attempt._server.close()
    return attempt, [unpack_part(block) for _, _, block in rows]


def test_rows_go_from_stage_to_stage_and_results_to_the_driver(contexts: list[FakeContext]) -> None:
    env = environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_sequence(1, 9).map(lambda number: (number % 3, number)).key_by(lambda pair: pair[0]).sum(1).print()
    attempt, parts = run_stages(build_job(env), contexts)
    lines = [line.partition("> ")[2] for part in parts if isinstance(part, PrintedPart) for line in part.lines]
    assert sorted(lines) == ["(0, 18)", "(1, 12)", "(2, 15)"]
    assert attempt.finished == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_a_task_that_runs_again_removes_what_the_first_attempt_has_left(
    contexts: list[FakeContext], tmp_path: Path
) -> None:
    env = environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
    env.from_sequence(1, 9).sink_to(sink)
    attempt, parts = run_stages(build_job(env), contexts, times=2)
    prepared = [part for part in parts if isinstance(part, Committables)]
    hidden = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert hidden == {Path(each.hidden).name for part in prepared for each in part.prepared}
    assert attempt.begun == {(0, 0): 2, (0, 1): 2}


def test_what_a_failed_task_said_is_the_reason(contexts: list[FakeContext]) -> None:
    env = environment(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1, 0]).map(lambda number: 1 // number).print()
    job = build_job(env)
    splits = LocalSplits(job, 0, None, None).numbered
    attempt = BatchAttempt(job, FakeSession(), 0, pack_job(job), splits)  # type: ignore[arg-type]
    contexts.append(FakeContext(0, 1))
    with pytest.raises(ZeroDivisionError):
        list(attempt._entry(0)(iter([])))
    assert isinstance(attempt._reason(RuntimeError("Spark says something else")), UserFunctionError)
    attempt._server.close()


def test_a_task_whose_input_is_lost_is_left_to_spark(contexts: list[FakeContext]) -> None:
    env = environment(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_collection([1, 0]).key_by(lambda number: number).sum().print()
    job = build_job(env)
    attempt = BatchAttempt(job, FakeSession(), 0, pack_job(job), LocalSplits(job, 0, None, None).numbered)  # type: ignore[arg-type]
    contexts.append(FakeContext(0, 1))

    def cut_off() -> Iterator[pa.RecordBatch]:
        raise pa.ArrowInvalid("Tried reading schema message, was null or length 0")
        yield

    with pytest.raises(InputLostError):
        list(attempt._entry(1)(cut_off()))
    attempt._server.drain(2.0)
    assert str(attempt._reason(RuntimeError("an executor was lost"))).count("an executor was lost") == 1
    attempt._server.close()
