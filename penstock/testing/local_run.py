"""Runs a whole job in this process, deterministically: the real tasks, without Spark or network.

What is not simulated: several processes (plain globals are shared by all subtasks), the network, and waiting.
Everything else is the code that runs on Spark, the encoding of every block included.
"""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.checkpoint.restart import restart_policy
from penstock.errors import CheckpointError, JobFailedError, PenstockError, ProgramError, StateRestoreError
from penstock.foundation.clock import ManualClock
from penstock.graph.packing import pack_job
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.runtime.task.services import TaskServices
from penstock.runtime.time.watermark_alignment import AlignmentGroups
from penstock.testing.built_job import build_job
from penstock.testing.local_attempt import LocalAttempt
from penstock.testing.local_batch import LocalBatchRun
from penstock.testing.local_checkpoints import LocalCheckpoint, LocalCheckpoints
from penstock.vocabulary.job import JobStatus

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.graph.job import Job
    from penstock.runtime.task.task import Task

__all__ = ["LocalRun", "run_locally"]

T = TypeVar("T")
_GONE = {
    JobStatus.FAILED: "The job has failed for good",
    JobStatus.CANCELED: "The job was killed",
}


class LocalRun:
    """One run of a job, driven step by step; ``LocalRun.of`` makes one of what an environment holds.

    Attributes:
        clock: The clock of all subtasks; it moves only when it is told to. A restored run starts with the time of its
            checkpoint.
        printed: The lines that ``print()`` steps have printed.
        collected: Per collecting sink, the records that have arrived.
        checkpoints: The checkpoints of the run.
        failures: What the job has failed with so far.
        restart_time: When the job starts again after a failure, by the clock; ``None`` while it runs.

    Args:
        job: The job.
        clock: A clock of the test's own.
        restore: The checkpoint to start from, or the path of one, or of a savepoint; the program and its parallelism
            may be others by now.
        restarts: Whether an error of the program is a failure that the job's restart strategy deals with, as on Spark.
            Otherwise it comes out of the call that caused it. Pauses are of the clock, and without the strategy's
            jitter.
    """

    def __init__(
        self,
        job: Job,
        *,
        clock: ManualClock | None = None,
        restore: LocalCheckpoint | str | Path | None = None,
        restarts: bool = False,
    ) -> None:
        if job.is_batch:
            message = "A job in BATCH mode is not driven step by step; run_locally() and LocalBatchRun run it."
            raise ProgramError(message)
        restore = job.restore_path if restore is None else restore
        checkpoint = LocalCheckpoint.load(restore) if isinstance(restore, (str, Path)) else restore
        self.clock = clock or ManualClock(0 if checkpoint is None else checkpoint.timestamp)
        self.checkpoints = LocalCheckpoints(job, self.clock, checkpoint)
        job = self.checkpoints.job
        self.printed: list[str] = []
        self.collected: dict[str, list[Any]] = {}
        self.failures: list[PenstockError] = []
        self.restart_time: int | None = None
        self._job = job
        self._packed = pack_job(job)
        self._restarts = restarts
        self._end: JobStatus | None = None
        self._woken = threading.Event()
        self._policy = restart_policy(
            job.execution_config.get_restart_strategy(),
            is_checkpointing=job.checkpoints.is_checkpointing_enabled(),
            chance=lambda: 0.5,  # the middle: no jitter
        )
        self._attempt = self._new_attempt()

    @classmethod
    def of(
        cls,
        environment: StreamExecutionEnvironment,
        job_name: str | None = None,
        *,
        clock: ManualClock | None = None,
        restore: LocalCheckpoint | str | Path | None = None,
        restarts: bool = False,
    ) -> Self:
        """Return a run of what an environment holds; nothing is opened yet."""
        return cls(build_job(environment, job_name), clock=clock, restore=restore, restarts=restarts)

    @property
    def stages(self) -> list[list[Task]]:
        """Return the tasks of each stage."""
        return self._attempt.stages

    @property
    def tasks(self) -> list[Task]:
        """Return all tasks."""
        return self._attempt.tasks

    @property
    def _inboxes(self) -> dict[tuple[int, int], deque[bytes]]:
        return self._attempt.inboxes

    @property
    def is_finished(self) -> bool:
        """Tell whether the whole job has come to its end."""
        return self._is_running and self._attempt.is_finished

    @property
    def status(self) -> JobStatus:
        """Return what the job does: not yet opened, running, waiting for its restart, or why it does not run."""
        if self._end is not None:
            return self._end
        if self.restart_time is not None:
            return JobStatus.RESTARTING
        if self.is_finished:
            return JobStatus.FINISHED
        return JobStatus.RUNNING if self._attempt.is_open else JobStatus.CREATED

    @property
    def _is_running(self) -> bool:
        return self._end is None and self.restart_time is None

    # -- going on

    def open(self) -> None:
        """Open all subtasks, the last stage first; start again where the pause after a failure is over."""
        self._require_life()
        if self.restart_time is not None and self.restart_time <= self.clock.now():
            self.restart_time = None
            self._attempt = self._new_attempt()
        if self._is_running:
            self._supervised(self._attempt.open, None)

    def settle(self) -> bool:
        """Deliver everything that is under way, but ask no source; tell whether there was something."""
        self.open()
        return self._is_running and self._supervised(self._attempt.settle, True)  # noqa: FBT003 - what it returns

    def deliver(self) -> bool:
        """Deliver one block from one subtask to another; tell whether there was one.

        With ``poll`` and this, a test stops at any moment between two subtasks; ``settle`` delivers the rest.
        """
        self.open()
        return self._is_running and self._supervised(self._attempt.deliver, True)  # noqa: FBT003 - what it returns

    def poll(self) -> bool:
        """Ask every source once, and deliver nothing; tell whether one had something."""
        self.open()
        return self._is_running and self._supervised(self._attempt.poll, True)  # noqa: FBT003 - what it returns

    def step(self) -> bool:
        """Ask every source once and deliver what follows; tell whether anything happened."""
        has_emitted = self.poll()
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

    def run(self) -> LocalRun:
        """Run to the end; a job that takes checkpoints ends with a last one.

        Where nothing else can happen the clock jumps to the next timer, or to the restart, unless a source function is
        still running: then its next record is waited for.
        """
        try:
            while True:
                while not self.is_finished:
                    self._woken.clear()
                    if not self.step() and not self.is_finished:
                        self._wait()
                self._complete_checkpoints()
                if self.is_finished and not self._attempt.has_unfinished_commits:
                    break
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
        if self._is_running:
            self._attempt.close()

    # -- checkpoints

    def checkpoint(self) -> LocalCheckpoint:
        """Take a checkpoint and return it: another run can start from it, also one with another parallelism.

        Where everything has been delivered before, all channels are empty when their barriers come; ``step()`` delivers
        everything.

        Raises:
            CheckpointError: It was given up, or could not be completed.
        """
        return self.complete_checkpoint(self.trigger_checkpoint())

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

    def trigger_checkpoint(self) -> int:
        """Begin a checkpoint and return its number: sources have taken their snapshots, barriers are on their way.

        ``step`` and ``settle`` let the barriers through. Nothing is stored before ``complete_checkpoint``.

        Raises:
            CheckpointError: The job is not running, or about to end.
        """
        self.open()
        return self._begun(lambda: self.checkpoints.begin())

    def trigger_savepoint(self, directory: str | Path | None = None, *, stop: bool = False, drain: bool = False) -> int:
        """Begin a savepoint and return its number; ``complete_checkpoint`` completes it and returns its path, too."""
        self.open()
        place = None if directory is None else str(directory)

        def begin() -> int | None:
            before = set(self.checkpoints.pending)
            self.checkpoints.begin_savepoint(place, stop=stop, drain=drain)
            return next((each for each in self.checkpoints.pending if each not in before), None)

        return self._begun(begin)

    def complete_checkpoint(self, checkpoint_id: int, *, notify: bool = True) -> LocalCheckpoint:
        """Complete a checkpoint or savepoint that was begun: its barriers go through, its snapshots are stored.

        Args:
            checkpoint_id: Its number. Older checkpoints that are under way are given up then, newer ones are not.
            notify: Whether subtasks hear of it at once; otherwise with ``notify_complete``, or never.

        Raises:
            CheckpointError: It was given up, or could not be completed.
        """
        checkpoints = self.checkpoints
        checkpoints.notifies = notify
        try:
            while self.settle() or checkpoints.has_word_of(checkpoint_id):
                self._supervised(lambda: checkpoints.work(checkpoint_id), None)
        finally:
            checkpoints.notifies = True
        found = [each for each in checkpoints.complete if each.checkpoint_id == checkpoint_id]
        if not found:
            reason = self._reason() or f"some subtasks have not answered ({checkpoints.pending})"
            message = f"The checkpoint was not completed: {reason}."
            raise CheckpointError(message)
        return found[0]

    def notify_complete(self, checkpoint_id: int) -> None:
        """Tell subtasks that a checkpoint is complete, where ``complete_checkpoint`` has not."""
        self._require_life()
        if checkpoint_id not in self.checkpoints.unannounced:
            message = f"Checkpoint {checkpoint_id} is not complete, or subtasks know of it already."
            raise CheckpointError(message)
        self._supervised(lambda: self.checkpoints.announce(checkpoint_id), None)

    def abort_checkpoint(
        self, checkpoint_id: int, reason: str = "the test aborts it", *, is_failure: bool = False
    ) -> None:
        """Give a checkpoint or savepoint up that is under way; subtasks are told so.

        Args:
            checkpoint_id: Its number.
            reason: Why.
            is_failure: Whether it counts towards the tolerable checkpoint failures of the job.
        """
        self._require_life()
        if checkpoint_id not in self.checkpoints.pending:
            message = f"Checkpoint {checkpoint_id} is not under way."
            raise CheckpointError(message)
        self._supervised(lambda: self.checkpoints.give_up(checkpoint_id, reason, is_failure=is_failure), None)

    # -- failures

    def fail(self, error: str | PenstockError = "the test lets the job fail", *, closes: bool = True) -> bool:
        """Let the whole job fail now, and ask its restart strategy; tell whether the job starts again.

        It starts from the newest complete checkpoint, or from its beginning, once the clock has moved on by the pause.

        Args:
            error: What it fails with.
            closes: Whether functions are closed, as after an exception; otherwise the processes just die.
        """
        self._require_life()
        if self.restart_time is not None:
            message = f"The job has failed already and starts again at {self.restart_time}."
            raise ProgramError(message)
        failure = JobFailedError(error) if isinstance(error, str) else error
        if closes:
            with contextlib.suppress(Exception):  # the failure is what counts
                self._attempt.close()
        else:
            self._attempt.abandon()
        self.failures.append(failure)
        self.checkpoints.recover()
        pause = None if isinstance(failure, StateRestoreError) else self._policy.on_failure(self.clock.now())
        if pause is None:
            self._end = JobStatus.FAILED
            return False
        self.restart_time = self.clock.now() + pause
        return True

    def kill(self) -> None:
        """Let the job die as it is, driver and all: nothing is closed, committed or stored, and nothing restarts it.

        Another run can start from one of its checkpoints.
        """
        self._require_life()
        if self.restart_time is None:
            self._attempt.abandon()
        self._end = JobStatus.CANCELED

    # -- parts

    def _new_attempt(self) -> LocalAttempt:
        services = TaskServices(
            print_lines=self.printed.extend,
            collect=self._collect,
            align=AlignmentGroups().report,
            wake_up=self._woken.set,
        )
        return LocalAttempt(
            self._job,
            self._packed,
            len(self.failures),
            clock=self.clock,
            checkpoints=self.checkpoints,
            services=services,
        )

    def _supervised(self, call: Callable[[], T], instead: T) -> T:
        """Do something that the program has a part in; where it fails, the restart strategy may start the job again."""
        if not self._restarts:
            return call()
        try:
            result = call()
            if self.checkpoints.failure is None:
                return result
            failure: PenstockError = JobFailedError(self.checkpoints.failure)
        except Exception as error:
            failure = error if isinstance(error, PenstockError) else explain_failure(error)
        if not self.fail(failure):
            raise failure
        return instead

    def _begun(self, begin: Callable[[], int | None]) -> int:
        number = self._supervised(begin, None) if self._is_running else None
        if number is None:
            reason = self._reason() or "the job is not running, or is about to end"
            message = f"The checkpoint was not begun: {reason}."
            raise CheckpointError(message)
        return number

    def _reason(self) -> str | None:
        if self.checkpoints.failure is not None or self._is_running:
            return self.checkpoints.failure
        return f"the job has failed ({self.failures[-1]})"

    def _require_life(self) -> None:
        if self._end is not None:
            message = f"{_GONE[self._end]}; start another run, from one of its checkpoints if you like."
            raise ProgramError(message) from (self.failures[-1] if self.failures else None)

    def _complete_checkpoints(self) -> None:
        while self.settle() or not self.checkpoints.is_idle:
            self._supervised(self.checkpoints.work, None)

    def _wait(self) -> None:
        if self._is_running and self._attempt.has_running_source:
            self._woken.wait()
        else:
            self._jump()

    def _jump(self) -> None:
        self.clock.set(max(min(self._due(), default=self.clock.now() + 1), self.clock.now() + 1))

    def _due(self) -> list[int]:
        """Return when tasks or sources have something to do by the clock, or the job starts again."""
        return self._attempt.due() if self.restart_time is None else [self.restart_time]

    def _collect(self, collection: str, values: list[Any]) -> None:
        self.collected.setdefault(collection, []).extend(values)


def run_locally(environment: StreamExecutionEnvironment, job_name: str | None = None) -> LocalRun | LocalBatchRun:
    """Run what an environment holds, in this process, to its end, in the mode that it says."""
    job = build_job(environment, job_name)
    return LocalBatchRun(job).run() if job.is_batch else LocalRun(job).run()
