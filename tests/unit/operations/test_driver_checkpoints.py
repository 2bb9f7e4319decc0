"""Checkpoints that are asked for, and what the driver remembers of them; without any task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import Configuration, StreamExecutionEnvironment
from penstock.checkpoint.job_storage import JobStorage
from penstock.checkpoint.subtask_state import SubtaskState
from penstock.errors import CheckpointError
from penstock.execution.spark.control.messages import Acknowledged, Declined
from penstock.execution.spark.driver.checkpoints import Checkpoints
from penstock.foundation.clock import SystemClock
from penstock.foundation.files.by_uri import files_of
from penstock.operations.checkpoint_history import CheckpointHistory
from penstock.testing import build_job


class Deaf:
    """A line to tasks that are not there."""

    def send(self, task: Any, message: Any) -> None:
        pass

    def send_all(self, message: Any) -> None:
        pass


class Driven:
    def __init__(self, directory: Path, interval: str | None = "1 h") -> None:
        options = {"execution.checkpointing.dir": f"file://{directory}"}
        if interval is not None:
            options["execution.checkpointing.interval"] = interval
        env = StreamExecutionEnvironment(Configuration.from_dict(options)).set_parallelism(1)
        env.from_collection([1]).map(lambda value: value)
        job = build_job(env)
        self.history = CheckpointHistory(job.plan.subtasks)
        self.checkpoints = Checkpoints(job, SystemClock(), JobStorage.of(job, files_of), self.history)
        self.checkpoints.attempt_begins(Deaf(), lambda reason: None)  # type: ignore[arg-type]
        self.checkpoints.tasks_running()
        (self.vertex,) = job.plan.vertices


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Driven]:
    made = Driven(tmp_path)
    yield made
    made.checkpoints.close("failed")


def test_a_checkpoint_that_is_asked_for_is_told_when_it_is_complete_and_remembered(driven: Driven) -> None:
    wanted = driven.checkpoints.checkpoint(is_full=False)
    assert not wanted.done()
    assert driven.history.in_progress == 1
    driven.checkpoints.on_message(Acknowledged((driven.vertex, 0), 1, SubtaskState()))
    assert wanted.result(20) == 1
    facts = driven.history.get(1)
    assert facts is not None
    assert (facts.status, facts.path.rpartition("/")[2]) == ("COMPLETED", "chk-1")


def test_one_that_is_given_up_is_told_with_the_reason(driven: Driven) -> None:
    wanted = driven.checkpoints.checkpoint(is_full=True)
    driven.checkpoints.on_message(Declined((driven.vertex, 0), 1, "disk full", is_failure=True))
    with pytest.raises(CheckpointError, match=r"Checkpoint 1 was given up: .*disk full"):
        wanted.result(20)
    assert driven.history.failed == 1


def test_a_job_that_takes_none_says_what_to_set(tmp_path: Path) -> None:
    driven = Driven(tmp_path, None)
    with pytest.raises(CheckpointError, match=r"set execution\.checkpointing\.interval"):
        driven.checkpoints.checkpoint(is_full=False).result(20)
    driven.checkpoints.close("failed")


def test_the_end_of_the_job_answers_those_who_still_wait(tmp_path: Path) -> None:
    driven = Driven(tmp_path)
    wanted = driven.checkpoints.checkpoint(is_full=False)
    driven.checkpoints.close("cancelled")
    with pytest.raises(CheckpointError, match="The job ended"):
        wanted.result(20)
