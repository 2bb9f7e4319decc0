"""A job that runs, seen from the program."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.vocabulary.job import CompletableFuture, JobExecutionResult, JobID, JobStatus

__all__ = ["JobClient", "JobHandle"]


class JobHandle(Protocol):
    """What an executor offers about a job it runs."""

    job_id: JobID

    def status(self) -> JobStatus:
        """Return the status now."""

    def cancel(self) -> None:
        """Cancel the job and wait until nothing of it runs any more."""

    def result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the future of the job's result."""

    def why_no_output(self) -> str:
        """Return what holds the job's time back, as text."""

    def metrics(self) -> dict[str, Any]:
        """Return the last metrics of every subtask."""

    def web_address(self) -> str | None:
        """Return the address of Spark's page for the job."""


class JobClient:
    """Asks for the status of a running job, waits for its result, cancels it."""

    def __init__(self, handle: JobHandle) -> None:
        self._handle = handle

    def get_job_id(self) -> JobID:
        """Return the job's id."""
        return self._handle.job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """Return the job's status."""
        return CompletableFuture.completed_future(self._handle.status())

    def cancel(self) -> CompletableFuture[None]:
        """Cancel the job; when the future is done, nothing of it runs any more."""
        self._handle.cancel()
        return CompletableFuture.completed_future(None)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Return the future of the result; it raises what made the job fail."""
        return self._handle.result()

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """Return the counters of the job's functions so far, summed over the subtasks."""
        return CompletableFuture.completed_future(self._handle.metrics())

    def why_no_output(self) -> str:
        """Explain which step, channel and split hold event time back, and what to change."""
        return self._handle.why_no_output()

    def get_web_address(self) -> str | None:
        """Return the address of Spark's page for this job."""
        return self._handle.web_address()
