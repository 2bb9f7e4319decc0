"""Runs a whole job in this process, deterministically: the real tasks, without Spark or network.

What is not simulated: several processes (plain globals are shared by all subtasks), the network, and waiting.
Everything else is the code that runs on Spark, the encoding of every block included.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import CheckpointError
from penstock.runtime.clock import ManualClock
from penstock.runtime.failure import explain_failure
from penstock.runtime.task import Task
from penstock.runtime.watermark_alignment import AlignmentGroups
from penstock.testing.copied_job import copy_job
from penstock.testing.local_checkpoints import LocalCheckpoint, LocalCheckpoints
from penstock.testing.local_splits import LocalSplits

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.graph.job import Job

__all__ = ["LocalRun", "run_locally"]


class LocalRun:
    """One run of a job, driven step by step.

    Attributes:
        clock: The clock of all subtasks; it moves only when it is told to. A restored run starts with the time of its
            checkpoint.
        printed: The lines that ``print()`` steps have printed.
        collected: Per collecting sink, the records that have arrived.
        checkpoints: The checkpoints of the run.

    Args:
        job: The job.
        clock: A clock of the test's own.
        restore: The checkpoint to start from, or the path of one, or of a savepoint; the program and its parallelism
            may be others by now.
    """

    def __init__(
        self, job: Job, *, clock: ManualClock | None = None, restore: LocalCheckpoint | str | Path | None = None
    ) -> None:
        checkpoint = LocalCheckpoint.load(restore) if isinstance(restore, (str, Path)) else restore
        # Each subtask of a real job has functions of its own, so the job is copied as it would be on its way to a
        # worker.
        self.clock = clock or ManualClock(0 if checkpoint is None else checkpoint.timestamp)
        self.checkpoints = LocalCheckpoints(job, self.clock, checkpoint)
        self.printed: list[str] = []
        self.collected: dict[str, list[Any]] = {}
        self._woken = threading.Event()
        plan = self.checkpoints.plan
        self._splits = LocalSplits(
            job,
            self.clock.now(),
            None if plan is None else plan.states,
            None if checkpoint is None else checkpoint.files,
        )
        services: dict[str, Any] = {
            "print": self.printed.extend,
            "collect": self._collect,
            "align": AlignmentGroups().report,
            "wake_up": self._woken.set,
            "splits": self._splits.numbered,
        }
        self.stages = [
            [
                Task(copy_job(job), stage.index, index, clock=self.clock, services=services, link=self.checkpoints.link)
                for index in range(stage.parallelism)
            ]
            for stage in job.plan.stages
        ]
        self.tasks = [task for tasks in self.stages for task in tasks]
        self._inboxes: dict[tuple[int, int], deque[bytes]] = {(task.stage, task.index): deque() for task in self.tasks}
        self._is_open = False

    @property
    def is_finished(self) -> bool:
        """Tell whether the whole job has come to its end."""
        return all(task.is_finished for task in self.tasks) and not any(self._inboxes.values())

    def open(self) -> None:
        """Open all subtasks, the last stage first."""
        if not self._is_open:
            self._is_open = True
            for task in reversed(self.tasks):
                self._guarded(task, task.open, self.checkpoints.restored(task.index))
            self.checkpoints.start(self.tasks)

    def settle(self) -> bool:
        """Deliver everything that is under way, but ask no source; tell whether there was something."""
        self.open()
        self._splits.discover(self.clock.now(), self.tasks)
        has_worked = False
        is_busy = True
        while is_busy:
            is_busy = False
            for task in self.tasks:
                inbox = self._inboxes[task.stage, task.index]
                self._guarded(task, task.processing_time.fire_due)
                while inbox and not task.is_full:
                    is_busy = has_worked = True
                    self._guarded(task, task.receive, inbox.popleft())
                self._guarded(task, task.flush)
                for target, block in task.take_outbox():
                    is_busy = has_worked = True
                    self._inboxes[task.stage + 1, target].append(block)
        return has_worked

    def step(self) -> bool:
        """Ask every source once and deliver what follows; tell whether anything happened."""
        self.open()
        has_emitted = False
        for task in self.tasks:
            has_emitted = self._guarded(task, task.poll_sources) or has_emitted
        return self.settle() or has_emitted

    def advance(self, millis: int) -> None:
        """Move the clock and run what becomes due, millisecond by millisecond where something is due."""
        self.open()
        target = self.clock.now() + millis
        while True:
            next_time = min((time for time in self._due() if time <= target), default=target)
            self.clock.set(max(next_time, self.clock.now()))
            self.settle()
            if next_time >= target:
                return

    def checkpoint(self) -> LocalCheckpoint:
        """Take a checkpoint and return it: another run can start from it, also one with another parallelism.

        Where everything has been delivered before, all channels are empty when their barriers come; ``step()`` delivers
        everything.

        Raises:
            CheckpointError: It was given up, or could not be completed.
        """
        self.open()
        before = len(self.checkpoints.complete)
        self.checkpoints.begin()
        self._complete_checkpoints()
        if len(self.checkpoints.complete) == before:
            reason = self.checkpoints.failure or f"some subtasks have not answered ({self.checkpoints.pending})"
            message = f"The checkpoint was not completed: {reason}."
            raise CheckpointError(message)
        return self.checkpoints.complete[-1]

    def savepoint(self, directory: str | Path | None = None, *, stop: bool = False, drain: bool = False) -> str:
        """Take a savepoint below a directory and return its path.

        Args:
            directory: Where it goes; otherwise to the job's default savepoint directory.
            stop: Let the job end with it.
            drain: Before it ends, let all windows and event-time timers fire.
        """
        self.open()
        place = None if directory is None else str(directory)
        location = self.checkpoints.begin_savepoint(place, stop=stop, drain=drain)
        self._complete_checkpoints()
        return self.checkpoints.savepoint_done(location)

    def _complete_checkpoints(self) -> None:
        while self.settle() or not self.checkpoints.is_idle:
            self.checkpoints.work()

    def run(self) -> LocalRun:
        """Run to the end; a job that takes checkpoints ends with a last one.

        Where nothing else can happen the clock jumps to the next timer, unless a source function is still running: then
        its next record is waited for.
        """
        try:
            while not self.is_finished:
                self._woken.clear()
                if not self.step() and not self.is_finished:
                    self._wait()
            self._complete_checkpoints()
            while any(task.has_unfinished_commits for task in self.tasks):
                self._jump()
                self.settle()
        except BaseException:
            with contextlib.suppress(Exception):  # the first error is the one that counts
                self.close()
            raise
        self.close()
        return self

    def close(self) -> None:
        """Close all subtasks; raise the first error after all are closed."""
        first_error: Exception | None = None
        for task in self.tasks:
            try:
                self._guarded(task, task.close)
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def _wait(self) -> None:
        if any(task.has_running_source for task in self.tasks):
            self._woken.wait()
        else:
            self._jump()

    def _jump(self) -> None:
        self.clock.set(max(min(self._due(), default=self.clock.now() + 1), self.clock.now() + 1))

    def _due(self) -> list[int]:
        """Return when tasks or sources have something to do by the clock."""
        times = [*(task.processing_time.next_time() for task in self.tasks), self._splits.next_time()]
        return [time for time in times if time is not None]

    def _collect(self, collection: str, values: list[Any]) -> None:
        self.collected.setdefault(collection, []).extend(values)

    @staticmethod
    def _guarded(task: Task, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except Exception as error:
            raise explain_failure(error, task) from error


def run_locally(environment: StreamExecutionEnvironment, job_name: str | None = None) -> LocalRun:
    """Run what an environment holds, in this process, to its end."""
    return LocalRun(environment._build_job(job_name)).run()
