"""A batch job on Spark: submitted, supervised, restarted by its strategy, committed, cancelled."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from penstock.checkpoint.restart import restart_policy
from penstock.errors import JobFailedError, PenstockError, ProgramError
from penstock.execution.spark.batch.attempt import BatchAttempt
from penstock.execution.spark.batch.progress import Progress, progress_line
from penstock.execution.spark.driver.results import print_lines
from penstock.execution.spark.driver.session import acquire_slots, find_session, release_slots
from penstock.execution.spark.driver.shipping import ship_code
from penstock.execution.spark.driver.source_splits import numbered_splits
from penstock.execution.spark.driver.supervised_job import SupervisedJob
from penstock.execution.spark.internals.settings import BATCH_SETTINGS
from penstock.foundation.clock import SystemClock
from penstock.operations.job_facts import JobFacts
from penstock.operations.settings import OperationsSettings
from penstock.runtime.batch.commits import commit_all
from penstock.runtime.batch.outcome import CollectedPart, Committables, PrintedPart
from penstock.runtime.exchange.codec import encode
from penstock.runtime.exchange.elements import RECORDS
from penstock.vocabulary.job import CompletableFuture, JobStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.graph.job import Job
    from penstock.runtime.batch.outcome import Part

__all__ = ["BatchRun", "start_batch"]

_log = logging.getLogger("penstock.job")
_SLOTS = 1
"""Stages run one after the other, and so may the tasks of a stage."""


def start_batch(job: Job, *, session: SparkSession | None, python_files: list[str]) -> BatchRun:
    """Find a session for the job and start it; returns once it is submitted."""
    operations = OperationsSettings.of(job.settings.options)
    found = find_session(session, job.settings.options, _SLOTS, is_batch=True)
    acquire_slots(found, job.id, _SLOTS)
    try:
        ship_code(found.sparkContext, python_files)
        own = found.newSession()  # the settings of a job are not those of the program's own queries
        for key, value in BATCH_SETTINGS.items():
            own.conf.set(key, value)
        run = BatchRun(job, own, operations)
    except BaseException:
        release_slots(job.id)
        raise
    run.start()
    return run


class BatchRun(SupervisedJob[BatchAttempt]):
    """The handle of a batch job; a thread of its own supervises it."""

    def __init__(self, job: Job, session: SparkSession, operations: OperationsSettings) -> None:
        clock = SystemClock()
        super().__init__(job, session, clock, JobFacts(job, clock, kept_failures=operations.kept_failures), operations)
        self._policy = restart_policy(job.execution_config.get_restart_strategy(), is_checkpointing=False)
        self._progress = Progress(job, lambda: self._attempt)

    def start(self) -> None:
        """Start the supervising thread."""
        self._progress.start()
        super().start()

    def begun_tasks(self) -> dict[tuple[int, int], int]:
        """Return how often each task, by its stage and index, was begun: more than once where one was lost."""
        return {} if self._attempt is None else dict(self._attempt.begun)

    def why_no_output(self) -> str:
        """Say how far the job is: results come at the end."""
        attempt = self._attempt
        where = "it has not begun" if attempt is None else progress_line(self.job, attempt)
        return f"A job in BATCH mode gives its results when all of its input is processed; now: {where}."

    def savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Refuse: a batch job keeps no state that another one could go on from."""
        message = (
            f"The job {self.job.name!r} runs in BATCH mode, where there are no savepoints. Set the runtime mode to"
            " STREAMING."
        )
        raise ProgramError(message)

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> CompletableFuture[str]:
        """Refuse: a batch job keeps no state that another one could go on from."""
        return self.savepoint(directory)

    def cancel_with_savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Refuse: a batch job keeps no state that another one could go on from."""
        return self.savepoint(directory)

    def checkpoint(self, *, is_full: bool) -> CompletableFuture[int]:
        """Refuse: a batch job takes no checkpoints."""
        message = f"The job {self.job.name!r} runs in BATCH mode, where there are no checkpoints."
        raise ProgramError(message)

    def _supervise(self) -> None:
        started = self._clock.elapsed()
        number = 0
        error: BaseException | None = None
        try:
            while True:
                error = self._run_once(number)
                self.facts.attempt_ended(None if self._cancelled.is_set() else error)
                if error is None or self._cancelled.is_set():
                    break
                delay = self._policy.on_failure(self._clock.elapsed())
                if delay is None:
                    break
                number += 1
                self.facts.status_changed(JobStatus.RESTARTING)
                _log.warning("job %r failed and begins again in %d ms:\n%s", self.job.name, delay, error)
                if self._cancelled.wait(delay / 1000):
                    break
            if error is None and not self._cancelled.is_set():
                self._hand_over([] if self._attempt is None else self._attempt.parts)
        except BaseException as unexpected:
            error = unexpected
        finally:
            release_slots(self.job.id)
            self._progress.end()
            self._settle(error, self._clock.elapsed() - started)

    def _run_once(self, number: int) -> PenstockError | None:
        try:
            splits = numbered_splits(self.job)
        except JobFailedError as error:
            return error
        with self._lock:
            if self._cancelled.is_set():
                return None
            attempt = self._attempt = BatchAttempt(self.job, self._session, number, self._payload, splits)
        self.facts.attempt_began(number, None)
        self._on_running()
        problem = attempt.run()
        for task, values in dict(attempt.metrics).items():
            self.facts.task_reported(task, values)
        return problem

    def _hand_over(self, parts: list[Part]) -> None:
        """Commit first: who sees results that were printed finds those that were written."""
        prepared = [part for part in parts if isinstance(part, Committables)]
        commit_all(self.job, prepared, self._clock, threading.Event().wait)
        for part in parts:
            if isinstance(part, PrintedPart):
                print_lines(part.lines)
            elif isinstance(part, CollectedPart):
                self._collector.put(part.collection, encode([(RECORDS, part.values, None)]))
