"""What the driver has gathered about a job: its states with their times, attempts, failures, subtasks, checkpoints.

The driver tells it what happens; whoever answers questions reads it and asks nobody else. It outlives the attempts of
the job, and holds no more than the newest of what there may be much of.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.operations.checkpoint_history import CheckpointHistory
from penstock.vocabulary.job import JobStatus
from penstock.vocabulary.settings.secret_values import hide_password, shown_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job

__all__ = ["AttemptFacts", "FailureFacts", "JobFacts", "SubtaskFacts"]

_KEPT_ATTEMPTS = 100
_ENDED = ("FINISHED", "CANCELED", "FAILED")


@dataclass(frozen=True)
class FailureFacts:
    """Why an attempt of a job failed."""

    timestamp: int
    attempt: int
    name: str
    """The class of the exception."""
    text: str
    """All that is known about it; the frames of the program come first."""
    task: str | None = None
    host: str | None = None


@dataclass
class AttemptFacts:
    """One run of the job's tasks."""

    number: int
    started: int
    restored_from: int | None = None
    """The checkpoint that it started from, if it was one of this job."""
    ended: int | None = None
    failure: FailureFacts | None = None


@dataclass
class SubtaskFacts:
    """A subtask of the newest attempt."""

    vertex: int
    index: int
    attempt: int = 0
    state: str = "CREATED"
    host: str = ""
    process: int = 0
    times: dict[str, int] = field(default_factory=dict)
    """When it came into each state."""
    report: dict[str, Any] = field(default_factory=dict)
    """What it last said about itself: records, watermark, channels, splits."""


class JobFacts:
    """All that is known about one job; every method may be called by any thread.

    Args:
        job: The job.
        clock: Dates what happens.
        kept_failures: How many failures are remembered.
        kept_checkpoints: How many checkpoints are remembered.
    """

    def __init__(self, job: Job, clock: Clock, *, kept_failures: int = 16, kept_checkpoints: int = 10) -> None:
        self.job = job
        self.id = job.id
        self.name = job.name
        self.lock = threading.RLock()
        """Whoever reads more than one value holds it."""
        self.started = clock.now()
        self.ended: int | None = None
        self.status = JobStatus.CREATED
        self.times: dict[str, int] = {"INITIALIZING": self.started, "CREATED": self.started}
        """When the job last came into each state."""
        self.attempts: deque[AttemptFacts] = deque(maxlen=_KEPT_ATTEMPTS)
        self.failures: deque[FailureFacts] = deque(maxlen=kept_failures)
        self.failure_count = 0
        self.subtasks: dict[tuple[int, int], SubtaskFacts] = {}
        self.metrics: dict[tuple[int, int], dict[str, Any]] = {}
        """The metrics of the program's functions, by stage and index of the task."""
        self.checkpoints = CheckpointHistory(job.plan.subtasks, kept_checkpoints)
        self.slots = job.plan.spark_slots
        """How many task slots Spark has."""
        self._clock = clock
        self._listeners: list[Callable[[JobStatus], None]] = []
        self._begin_subtasks(0)

    def now(self) -> int:
        """Return the time by which everything here is dated."""
        return self._clock.now()

    def configuration(self) -> dict[str, str]:
        """Return the settings of the job; secrets are not shown."""
        options: Mapping[str, Any] = self.job.settings.options
        return {key: shown_value(key, str(value)) for key, value in sorted(options.items())}

    def on_status(self, listener: Callable[[JobStatus], None]) -> None:
        """Have somebody told of every change of the status; without the lock, by the thread that changes it."""
        self._listeners.append(listener)

    # -- what the driver tells

    def status_changed(self, status: JobStatus) -> None:
        """Take note of the job's status."""
        with self.lock:
            self.status = status
            now = self.times[status.name] = self._clock.now()
            if status.is_globally_terminal_state():
                self.ended = now
                self._end_subtasks("FINISHED" if status is JobStatus.FINISHED else "CANCELED")
        for listener in self._listeners:
            listener(status)

    def attempt_began(self, number: int, restored_from: int | None) -> None:
        """Take note that the tasks of the job are started, again or for the first time."""
        with self.lock:
            self.attempts.append(AttemptFacts(number, self._clock.now(), restored_from))
            self._begin_subtasks(number)

    def attempt_ended(self, error: BaseException | None) -> None:
        """Take note that no task of the attempt runs any more, and why."""
        with self.lock:
            now = self._clock.now()
            number = self.attempts[-1].number if self.attempts else 0
            failure = None
            if error is not None:
                failure = self._failure(error, now, number)
                self.failures.append(failure)
                self.failure_count += 1
            if self.attempts:
                self.attempts[-1].ended = now
                self.attempts[-1].failure = failure
            self._end_subtasks("FINISHED" if error is None else "CANCELED")

    def task_registered(self, task: tuple[int, int], host: str, process: int) -> None:
        """Take note that a task has connected: its functions are about to be opened."""
        with self.lock:
            for subtask in self._subtasks_of(task):
                subtask.host, subtask.process = host, process
                self._change(subtask, "INITIALIZING")

    def task_running(self, task: tuple[int, int]) -> None:
        """Take note that all functions of a task are open."""
        with self.lock:
            for subtask in self._subtasks_of(task):
                self._change(subtask, "RUNNING")

    def task_ended(self, task: tuple[int, int], state: str) -> None:
        """Take note that a task is ``FINISHED``, ``CANCELED`` or ``FAILED``."""
        with self.lock:
            for subtask in self._subtasks_of(task):
                self._change(subtask, state)

    def task_reported(self, task: tuple[int, int], values: dict[str, Any]) -> None:
        """Take what a task says about its subtasks."""
        with self.lock:
            self.metrics[task] = values.get("metrics", {})
            for vertex, report in values.get("subtasks", {}).items():
                subtask = self.subtasks.get((vertex, task[1]))
                if subtask is not None:
                    subtask.report = report
                    if report.get("is_finished"):
                        self._change(subtask, "FINISHED")

    # -- what is made of it

    def accumulators(self) -> dict[str, int | float]:
        """Return the counters of the program's functions, summed over the subtasks."""
        totals: dict[str, int | float] = {}
        with self.lock:
            for values in self.metrics.values():
                for name, value in values.items():
                    if isinstance(value, (int, float)) and not isinstance(value, bool):
                        short = name.rpartition(".")[2]
                        totals[short] = totals.get(short, 0) + value
        return totals

    def _begin_subtasks(self, attempt: int) -> None:
        now = self._clock.now()
        reports = {key: subtask.report for key, subtask in self.subtasks.items()}
        self.subtasks = {
            (vertex.id, index): SubtaskFacts(
                vertex.id,
                index,
                attempt,
                "SCHEDULED",
                times={"SCHEDULED": now},
                report=reports.get((vertex.id, index), {}),
            )
            for vertex in self.job.plan.vertices.values()
            for index in range(vertex.parallelism)
        }

    def _end_subtasks(self, state: str) -> None:
        for subtask in self.subtasks.values():
            self._change(subtask, state)

    def _subtasks_of(self, task: tuple[int, int]) -> list[SubtaskFacts]:
        stage, index = task
        found = (self.subtasks.get((vertex, index)) for vertex in self.job.plan.stages[stage].vertices)
        return [subtask for subtask in found if subtask is not None]

    def _change(self, subtask: SubtaskFacts, state: str) -> None:
        if subtask.state != state and subtask.state not in _ENDED:
            subtask.state = state
            subtask.times[state] = self._clock.now()

    def _failure(self, error: BaseException, now: int, attempt: int) -> FailureFacts:
        failed = next((each for each in self.subtasks.values() if each.state == "FAILED"), None)
        task = host = None
        if failed is not None:
            vertex = self.job.plan.vertices[failed.vertex]
            task, host = f"{vertex.name} ({failed.index + 1}/{vertex.parallelism})", failed.host
        return FailureFacts(now, attempt, type(error).__name__, hide_password(str(error)), task, host)
