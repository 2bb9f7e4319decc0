"""A batch job on Spark: submitted, supervised, restarted by its strategy, committed, cancelled."""

from __future__ import annotations

import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.restart import restart_policy
from penstock.errors import JobCancelledError, JobFailedError, PenstockError, ProgramError
from penstock.execution.spark.batch.attempt import BatchAttempt
from penstock.execution.spark.batch.progress import Progress, progress_line
from penstock.execution.spark.driver.collector import Collector
from penstock.execution.spark.driver.results import print_lines, summed_counters
from penstock.execution.spark.driver.session import acquire_slots, find_session, release_slots
from penstock.execution.spark.driver.shipping import ship_code
from penstock.execution.spark.driver.source_splits import numbered_splits
from penstock.execution.spark.internals.settings import BATCH_SETTINGS
from penstock.foundation.clock import SystemClock
from penstock.graph.packing import pack_job
from penstock.operations.driver_service import driver_service
from penstock.operations.job_facts import JobFacts
from penstock.operations.settings import OperationsSettings
from penstock.runtime.batch.commits import commit_all
from penstock.runtime.batch.outcome import CollectedPart, Committables, PrintedPart
from penstock.runtime.exchange.codec import encode
from penstock.runtime.exchange.elements import RECORDS
from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class BatchRun:
    """The handle of a batch job; a thread of its own supervises it."""

    def __init__(self, job: Job, session: SparkSession, operations: OperationsSettings) -> None:
        self.job = job
        self.job_id = JobID.from_hex_string(job.id)
        self._session = session
        self._payload = pack_job(job)  # now: the program may change its objects while the job runs
        self._clock = SystemClock()
        self._policy = restart_policy(job.execution_config.get_restart_strategy(), is_checkpointing=False)
        self._future: CompletableFuture[JobExecutionResult] = CompletableFuture()
        self._operations = operations
        self.facts = JobFacts(job, self._clock, kept_failures=operations.kept_failures)
        self._collector = Collector()
        self._attempt: BatchAttempt | None = None
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._progress = Progress(job, lambda: self._attempt)
        self._thread = threading.Thread(target=self._supervise, name=f"penstock job {job.name}", daemon=True)

    def start(self) -> None:
        """Start the supervising thread."""
        served = driver_service().publish(self.facts, self, self._operations)
        for line in (*served, *self.job.notes, *self.job.guarantees):
            print(f"penstock: job {self.job.name!r}: {line}", file=sys.stderr)
        self._progress.start()
        self._thread.start()

    def status(self) -> JobStatus:
        """Return the status now."""
        return self.facts.status

    def result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the future of the result."""
        return self._future

    def wait(self) -> JobExecutionResult:
        """Wait for the end; raises what made the job fail."""
        return self._future.result()

    def collected(self, collection: str) -> Iterator[Any]:
        """Return an iterator over what a collecting sink has received, once the job has succeeded."""
        return self._collector.records(collection, self._future)

    def metrics(self) -> dict[str, Any]:
        """Return the last metrics of every subtask, by its name."""
        attempt = self._attempt
        reports = {} if attempt is None else dict(attempt.metrics)
        return {report["name"]: report for values in reports.values() for report in values.get("subtasks", {}).values()}

    def begun_tasks(self) -> dict[tuple[int, int], int]:
        """Return how often each task, by its stage and index, was begun: more than once where one was lost."""
        return {} if self._attempt is None else dict(self._attempt.begun)

    def why_no_output(self) -> str:
        """Say how far the job is: results come at the end."""
        attempt = self._attempt
        where = "it has not begun" if attempt is None else progress_line(self.job, attempt)
        return f"A job in BATCH mode gives its results when all of its input is processed; now: {where}."

    def web_address(self) -> str | None:
        """Return the address of Spark's page."""
        return self._session.sparkContext.uiWebUrl

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

    def cancel(self) -> None:
        """Cancel the job and wait until nothing of it runs any more."""
        with self._lock:
            if self._future.done():
                return
            is_first = not self._cancelled.is_set()
            self._cancelled.set()
            attempt = self._attempt
        if is_first and not self.facts.status.is_globally_terminal_state():
            self.facts.status_changed(JobStatus.CANCELLING)
        self._collector.stop()
        if attempt is not None:
            attempt.stop()
        self._thread.join()

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
        if self.facts.status in (JobStatus.CREATED, JobStatus.RESTARTING):
            self.facts.status_changed(JobStatus.RUNNING)
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

    def _settle(self, error: BaseException | None, runtime: int) -> None:
        self._collector.end()
        has_cancelled = self._cancelled.is_set()
        self.facts.status_changed(
            JobStatus.CANCELED if has_cancelled else JobStatus.FINISHED if error is None else JobStatus.FAILED
        )
        if has_cancelled:
            self._future.complete_exceptionally(JobCancelledError(f"The job {self.job.name!r} was cancelled."))
        elif error is not None:
            self._future.complete_exceptionally(error)
        else:
            metrics = {} if self._attempt is None else self._attempt.metrics
            self._future.complete(JobExecutionResult(self.job_id, runtime, summed_counters(metrics.values())))
