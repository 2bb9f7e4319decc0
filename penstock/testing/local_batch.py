"""Runs a batch job in this process: the real tasks, stage after stage, with rows sorted in lists."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Self

from penstock.errors import ProgramError
from penstock.foundation.clock import ManualClock
from penstock.graph.packing import pack_job, unpack_job
from penstock.runtime.batch.commits import commit_all
from penstock.runtime.batch.outcome import CollectedPart, Committables, PrintedPart
from penstock.runtime.batch.task import BatchTask
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.runtime.task.services import TaskServices
from penstock.testing.built_job import build_job
from penstock.testing.local_splits import LocalSplits
from penstock.vocabulary.job import JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.graph.job import Job
    from penstock.runtime.batch.outcome import Part
    from penstock.runtime.batch.rows import Row

__all__ = ["LocalBatchRun"]


class LocalBatchRun:
    """One run of a batch job, from its beginning to its end.

    Attributes:
        clock: The clock of all subtasks; it moves only when it is told to.
        printed: The lines that ``print()`` steps have printed.
        collected: Per collecting sink, the records that have arrived.
        status: What the job does.

    Args:
        job: The job.
        clock: A clock of the test's own.
        loses: Says of a task, by its stage, its index and how often it was begun before, whether it is lost when it
            has done all its work, so that it is begun again, as on Spark where an executor dies.
    """

    def __init__(
        self,
        job: Job,
        *,
        clock: ManualClock | None = None,
        loses: Callable[[int, int, int], bool] = lambda stage, index, attempt: False,
    ) -> None:
        if not job.is_batch:
            message = "The job runs in STREAMING mode: run it with LocalRun, or set the runtime mode to BATCH."
            raise ProgramError(message)
        self.clock = clock or ManualClock(0)
        self.printed: list[str] = []
        self.collected: dict[str, list[Any]] = {}
        self.status = JobStatus.CREATED
        self._job = job
        self._packed = pack_job(job)
        self._loses = loses

    @classmethod
    def of(
        cls,
        environment: StreamExecutionEnvironment,
        job_name: str | None = None,
        *,
        clock: ManualClock | None = None,
        loses: Callable[[int, int, int], bool] = lambda stage, index, attempt: False,
    ) -> Self:
        """Return a run of what an environment holds; nothing is opened yet."""
        return cls(build_job(environment, job_name), clock=clock, loses=loses)

    def run(self) -> Self:
        """Run to the end, and commit what the sinks have prepared."""
        self.status = JobStatus.FAILED
        services = TaskServices(splits=LocalSplits(self._job, self.clock.now(), None, None).numbered)
        rows: list[Row] = []
        parts: list[Part] = []
        for stage in self._job.plan.stages:
            waiting: list[list[Row]] = [[] for _ in range(stage.parallelism)]
            for row in rows:
                waiting[row.task].append(row)
            rows = []
            for index, of_task in enumerate(waiting):
                of_task.sort(key=lambda row: row.order)
                sent, given = self._run_task(stage.index, index, of_task, services)
                rows += sent
                parts += given
        self._hand_over(parts)
        self.status = JobStatus.FINISHED
        return self

    def _run_task(
        self, stage: int, index: int, rows: list[Row], services: TaskServices
    ) -> tuple[list[Row], list[Part]]:
        attempt = 0
        while True:
            task = BatchTask(
                unpack_job(self._packed), stage, index, clock=self.clock, services=services, attempt=attempt
            )
            sent: list[Row] = []
            try:
                for some in task.run(rows):
                    sent += some
            except Exception as error:
                with contextlib.suppress(Exception):  # the first error is the one that counts
                    task.close()
                raise explain_failure(error, task) from error
            if not self._loses(stage, index, attempt):
                return sent, task.take_parts()
            attempt += 1

    def _hand_over(self, parts: list[Part]) -> None:
        commit_all(self._job, [part for part in parts if isinstance(part, Committables)], self.clock, self._pass_time)
        for part in parts:
            if isinstance(part, PrintedPart):
                self.printed += part.lines
            elif isinstance(part, CollectedPart):
                self.collected.setdefault(part.collection, []).extend(part.values)

    def _pass_time(self, seconds: float) -> None:
        self.clock.set(self.clock.now() + int(seconds * 1000))
