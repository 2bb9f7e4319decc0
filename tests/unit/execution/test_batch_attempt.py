"""The tasks of a batch job on Spark: one attempt of each at a time, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import RuntimeExecutionMode
from penstock.execution.spark.batch import attempt as module
from penstock.execution.spark.batch.attempt import BatchAttempt
from penstock.execution.spark.batch.progress import progress_line
from penstock.execution.spark.control.messages import Finished, Go, Metrics, Register
from penstock.graph.job import Job
from penstock.testing import build_job
from tests.unit.local_jobs import environment


class FakeServer:
    """Notes what is sent."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.sent: list[tuple[Any, Any]] = []

    def send(self, task: Any, message: Any) -> bool:
        self.sent.append((task, message))
        return True


class FakeSession:
    sparkContext = None


@pytest.fixture
def job() -> Job:
    env = environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_sequence(1, 9).map(lambda number: (number % 3, number)).key_by(lambda pair: pair[0]).sum(1).print()
    return build_job(env)


@pytest.fixture
def attempt(job: Job, monkeypatch: pytest.MonkeyPatch) -> BatchAttempt:
    monkeypatch.setattr(module, "ControlServer", FakeServer)
    monkeypatch.setattr(module, "addresses_of", lambda context: ("127.0.0.1", "127.0.0.1"))
    return BatchAttempt(job, FakeSession(), 0, b"", {})  # type: ignore[arg-type]


def sent(attempt: BatchAttempt) -> list[Any]:
    server: Any = attempt._server
    return list(server.sent)


def begin(attempt: BatchAttempt, task: tuple[int, int], number: int) -> Register:
    register = Register(task, number, "control", process=number)
    attempt._on_message(register, register)
    return register


def test_a_second_attempt_waits_until_the_first_is_gone(attempt: BatchAttempt) -> None:
    first = begin(attempt, (1, 0), 10)
    assert sent(attempt) == [((1, 0), Go(0))]
    begin(attempt, (1, 0), 11)
    assert sent(attempt) == [((1, 0), Go(0))], "it would take the files of the first one for those of a dead one"
    attempt._on_closed(first)
    assert sent(attempt) == [((1, 0), Go(0)), ((1, 0), Go(1))]


def test_a_task_that_is_begun_after_another_has_gone_knows_that_there_was_one(attempt: BatchAttempt) -> None:
    attempt._on_closed(begin(attempt, (1, 1), 10))
    begin(attempt, (1, 1), 15)
    assert sent(attempt) == [((1, 1), Go(0)), ((1, 1), Go(1))]


def test_an_attempt_that_waits_and_dies_changes_nothing(attempt: BatchAttempt) -> None:
    begin(attempt, (1, 0), 10)
    attempt._on_closed(begin(attempt, (1, 0), 11))
    assert sent(attempt) == [((1, 0), Go(0))]


def test_progress_names_the_stage_its_tasks_and_its_records(job: Job, attempt: BatchAttempt) -> None:
    assert progress_line(job, attempt) == "stage 1 of 2, 0 of 2 tasks, 0 records"
    reports = {"subtasks": {1: {"records_in": 0, "records_out": 1500}}}
    for index in (0, 1):
        attempt._on_message(begin(attempt, (0, index), index), Finished(reports))
    attempt._on_message(begin(attempt, (1, 0), 7), Metrics({"subtasks": {3: {"records_in": 2000, "records_out": 3}}}))
    begin(attempt, (1, 0), 8)
    assert progress_line(job, attempt) == "stage 2 of 2, 0 of 2 tasks, 2,000 records, 1 tasks run again"
