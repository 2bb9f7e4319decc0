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

    def savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Take a savepoint."""

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> CompletableFuture[str]:
        """Take a savepoint and let the job end with it."""

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

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint while the job goes on; the future gives its path."""
        return self._handle.savepoint(savepoint_directory)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,  # noqa: FBT001 - PyFlink's signature
        savepoint_directory: str | None = None,
    ) -> CompletableFuture[str]:
        """Take a savepoint behind which no record follows, and end the job; the future gives its path.

        The future is done when the job has ended, and fails if the job fails on its way there. With
        ``advance_to_end_of_event_time`` all windows and event-time timers fire first: such a job is not to go on.
        """
        return self._handle.stop_with_savepoint(savepoint_directory, drain=advance_to_end_of_event_time)

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
