"""The handle of a job that a thread of its own supervises: what streaming and batch jobs on Spark have in common."""

from __future__ import annotations

import sys
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from penstock.errors import JobCancelledError
from penstock.execution.spark.driver.collector import Collector
from penstock.execution.spark.driver.results import summed_counters
from penstock.graph.packing import pack_job
from penstock.operations.driver_service import driver_service
from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.operations.job_facts import JobFacts
    from penstock.operations.settings import OperationsSettings

__all__ = ["RunningAttempt", "SupervisedJob"]


class RunningAttempt(Protocol):
    """One try to run a job."""

    @property
    def metrics(self) -> dict[tuple[int, int], Any]:
        """Return the last report of each task."""

    def stop(self) -> None:
        """End it."""


A = TypeVar("A", bound=RunningAttempt)


class SupervisedJob(ABC, Generic[A]):
    """A job from its submission to its end."""

    def __init__(
        self, job: Job, session: SparkSession, clock: Clock, facts: JobFacts, operations: OperationsSettings
    ) -> None:
        self.job = job
        self.job_id = JobID.from_hex_string(job.id)
        self.facts = facts
        self._session = session
        self._payload = pack_job(job)  # now: the program may change its objects while the job runs
        self._clock = clock
        self._operations = operations
        self._future: CompletableFuture[JobExecutionResult] = CompletableFuture()
        self._collector = Collector()
        self._attempt: A | None = None
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._supervise, name=f"penstock job {job.name}", daemon=True)

    def start(self) -> None:
        """Say what there is to say about the job, and start the supervising thread."""
        served = driver_service().publish(self.facts, self, self._operations)
        for line in (*served, *self.job.notes, *self.job.guarantees):
            print(f"penstock: job {self.job.name!r}: {line}", file=sys.stderr)
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
        """Return an iterator over what a collecting sink receives."""
        return self._collector.records(collection, self._future)

    def metrics(self) -> dict[str, Any]:
        """Return the last metrics of every subtask, by its name."""
        reports = self._reports().values()
        return {report["name"]: report for values in reports for report in values.get("subtasks", {}).values()}

    def web_address(self) -> str | None:
        """Return the address of Spark's page."""
        return self._session.sparkContext.uiWebUrl

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
        self._on_cancel()
        self._collector.stop()
        if attempt is not None:
            attempt.stop()
        self._thread.join()

    @abstractmethod
    def why_no_output(self) -> str:
        """Explain why nothing comes out."""

    @abstractmethod
    def savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Take a savepoint; the future gives its path."""

    @abstractmethod
    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> CompletableFuture[str]:
        """Take a savepoint behind which no record follows; once the job has ended, the future gives its path."""

    @abstractmethod
    def cancel_with_savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Take a savepoint and cancel the job; the future gives the path when nothing of the job runs any more."""

    @abstractmethod
    def checkpoint(self, *, is_full: bool) -> CompletableFuture[int]:
        """Take a checkpoint now; the future gives its number."""

    @abstractmethod
    def _supervise(self) -> None:
        """Run attempts until the job has ended, and settle; in the thread of the job."""

    def _on_cancel(self) -> None:
        """End what is under way beside the attempt."""

    def _on_end(self, outcome: JobStatus) -> None:
        """Take note of how the job has ended, before anybody is told."""
        self.facts.status_changed(outcome)

    def _reports(self) -> dict[tuple[int, int], Any]:
        """Return the last report of each task."""
        attempt = self._attempt
        return {} if attempt is None else dict(attempt.metrics)

    def _on_running(self) -> None:
        if self.facts.status in (JobStatus.CREATED, JobStatus.RESTARTING):
            self.facts.status_changed(JobStatus.RUNNING)

    def _settle(self, error: BaseException | None, runtime: int) -> None:
        """Tell everybody how the job has ended, the program last."""
        self._collector.end()
        has_cancelled = self._cancelled.is_set()
        outcome = JobStatus.CANCELED if has_cancelled else JobStatus.FINISHED if error is None else JobStatus.FAILED
        self._on_end(outcome)
        # Whoever asked from outside learns how it went, even if the program ends right behind the job.
        driver_service().farewell(self.job.id)
        if has_cancelled:
            self._future.complete_exceptionally(JobCancelledError(f"The job {self.job.name!r} was cancelled."))
        elif error is not None:
            self._future.complete_exceptionally(error)
        else:
            counters = summed_counters(self._reports().values())
            self._future.complete(JobExecutionResult(self.job_id, runtime, counters))
