"""A job on Spark: submitted, supervised, restarted by its strategy, cancelled."""

from __future__ import annotations

import atexit
import dataclasses
import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.job_storage import JobStorage
from penstock.checkpoint.restart import restart_policy
from penstock.errors import (
    CheckpointStorageError,
    CorruptCheckpointError,
    DriverPausedError,
    JobFailedError,
    NotEnoughSlotsError,
    PenstockError,
    StateRestoreError,
)
from penstock.execution.spark.batch.job_run import BatchRun, start_batch
from penstock.execution.spark.control.heartbeats import HeartbeatSettings
from penstock.execution.spark.control.messages import Collected, Printed
from penstock.execution.spark.driver.attempt import Attempt
from penstock.execution.spark.driver.checkpoints import Checkpoints
from penstock.execution.spark.driver.results import print_lines
from penstock.execution.spark.driver.session import acquire_slots, find_session, release_slots
from penstock.execution.spark.driver.shipping import ship_code
from penstock.execution.spark.driver.source_splits import SourceSplits
from penstock.execution.spark.driver.supervised_job import SupervisedJob
from penstock.execution.spark.internals.context import slot_count
from penstock.execution.spark.internals.jvm_death import how_jvm_ended
from penstock.foundation.clock import SystemClock
from penstock.foundation.files.by_uri import files_of
from penstock.foundation.native import accelerator
from penstock.operations.job_facts import JobFacts
from penstock.operations.settings import OperationsSettings
from penstock.runtime.diagnostics.no_output import why_no_output
from penstock.runtime.diagnostics.no_output_watch import NoOutputWatch
from penstock.vocabulary.job import CompletableFuture, JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from pyspark.sql import SparkSession

    from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess
    from penstock.graph.job import Job

__all__ = ["JobRun", "start_job"]

_log = logging.getLogger("penstock.job")
_LOOK_INTERVAL_MILLIS = 1000
_FINAL_ERRORS = (CorruptCheckpointError, StateRestoreError, CheckpointStorageError, DriverPausedError)
"""What would be the same every time, or says that the job is not this driver's any more: no reason to restart."""
_running: weakref.WeakSet[JobRun | BatchRun] = weakref.WeakSet()


def start_job(job: Job, *, session: SparkSession | None, python_files: list[str]) -> JobRun | BatchRun:
    """Find a session with room for the job and start it; returns once it is submitted."""
    if job.is_batch:
        batch = start_batch(job, session=session, python_files=python_files)
        _running.add(batch)
        return batch
    storage = JobStorage.of(job, files_of)  # what cannot work is refused before Spark is asked for anything
    operations = OperationsSettings.of(job.settings.options)
    job = storage.job
    slots = job.plan.spark_slots

    def open_session() -> SparkSession:
        found = find_session(session, job.settings.options, slots)
        acquire_slots(found, job.id, slots)
        ship_code(found.sparkContext, python_files)
        return found

    try:
        run = JobRun(job, open_session, storage, operations)
    except BaseException:
        release_slots(job.id)
        raise
    _running.add(run)
    run.start()
    return run


class JobRun(SupervisedJob[Attempt]):
    """The handle of a job; a thread of its own supervises it."""

    def __init__(
        self, job: Job, open_session: Callable[[], SparkSession], storage: JobStorage, operations: OperationsSettings
    ) -> None:
        clock = SystemClock()
        facts = JobFacts(
            job, clock, kept_failures=operations.kept_failures, kept_checkpoints=operations.kept_checkpoints
        )
        super().__init__(job, open_session(), clock, facts, operations)
        self._open_session = open_session
        self._policy = restart_policy(
            job.execution_config.get_restart_strategy(), is_checkpointing=job.checkpoints.is_checkpointing_enabled()
        )
        self.facts.slots = slot_count(self._session)
        self._checkpoints = Checkpoints(job, self._clock, storage, self.facts.checkpoints)
        HeartbeatSettings.from_options(job.settings.options)  # refused now, not in a thread
        self._watch = NoOutputWatch.from_options(job.plan, job.settings.options)
        self._next_look = 0

    def start(self) -> None:
        """Start the supervising thread."""
        _log.info(
            "job %r (%s): %d subtasks on %s, accelerator %s",
            self.job.name,
            self.job.id,
            self.job.plan.subtasks,
            self.web_address(),
            accelerator,
        )
        super().start()

    def metrics(self) -> dict[str, Any]:
        """Return the last metrics of every subtask, by its name, and what storage has not answered for a second."""
        found = super().metrics()
        waiting = self._checkpoints.waiting_for()
        if waiting is not None and waiting[1] >= 1:
            found["checkpoint storage"] = {"waiting_for": waiting[0], "waiting_millis": int(waiting[1] * 1000)}
        return found

    def processes(self) -> dict[str, tuple[str, int]]:
        """Return the host and the process id of each task of the running attempt."""
        attempt = self._attempt
        tasks = {} if attempt is None else dict(attempt.processes)
        return {f"stage {stage}, task {index}": (who.host, who.process) for (stage, index), who in tasks.items()}

    def why_no_output(self) -> str:
        """Explain what holds event time back."""
        return why_no_output(self.job.plan, self._reports(), self._clock.now())

    def savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Take a savepoint; the future gives its path."""
        return self._checkpoints.savepoint(directory)

    def stop_with_savepoint(self, directory: str | None, *, drain: bool) -> CompletableFuture[str]:
        """Take a savepoint behind which no record follows; once the job has ended, the future gives its path."""
        return self._checkpoints.savepoint(directory, stop=True, drain=drain)

    def cancel_with_savepoint(self, directory: str | None) -> CompletableFuture[str]:
        """Take a savepoint and cancel the job; the future gives the path when nothing of the job runs any more."""
        cancelled: CompletableFuture[str] = CompletableFuture()
        taken = self._checkpoints.savepoint(directory, cancel=True)

        def end(status: JobStatus, path: str) -> None:
            if status.is_globally_terminal_state():
                cancelled.complete(path)

        def cancel(taken: Future[str]) -> None:
            if (error := taken.exception()) is not None:
                cancelled.complete_exceptionally(error)
                return
            self.facts.on_status(lambda status: end(status, taken.result()))
            end(self.facts.status, taken.result())
            # Not by this thread, which holds the coordinator's lock.
            threading.Thread(target=self.cancel, name="penstock cancel", daemon=True).start()

        taken.add_done_callback(cancel)
        return cancelled

    def checkpoint(self, *, is_full: bool) -> CompletableFuture[int]:
        """Take a checkpoint now; the future gives its number."""
        return self._checkpoints.checkpoint(is_full=is_full)

    def _on_cancel(self) -> None:
        self._checkpoints.cancel()

    def _supervise(self) -> None:
        started = self._clock.elapsed()
        number = 0
        recover_from: int | None = None
        error: BaseException | None = None
        try:
            while True:
                error = self._run_once(number, recover_from)
                self.facts.attempt_ended(None if self._cancelled.is_set() else error)
                if error is None or self._cancelled.is_set():
                    break
                if isinstance(error, CorruptCheckpointError) and recover_from is not None:
                    if not self._checkpoints.drop_damaged(recover_from, error):
                        break
                    recover_from = self._checkpoints.attempt_failed()
                    number += 1
                    continue  # no failure of the job: the restart strategy need not allow it
                if isinstance(error, _FINAL_ERRORS):
                    break
                recover_from = self._checkpoints.attempt_failed()
                if self._cancelled.is_set():
                    break
                delay = self._policy.on_failure(self._clock.elapsed())
                if delay is None:
                    break
                number += 1
                self.facts.status_changed(JobStatus.RESTARTING)
                _log.warning(
                    "job %r failed and restarts in %d ms (restart %d):\n%s", self.job.name, delay, number, error
                )
                if self._cancelled.wait(delay / 1000):
                    break
        except BaseException as unexpected:
            error = unexpected
        finally:
            release_slots(self.job.id)
            self._settle(error, self._clock.elapsed() - started)

    def _run_once(self, number: int, recover_from: int | None) -> PenstockError | None:
        if number > 0:
            try:
                self._find_slots()
            except NotEnoughSlotsError as error:
                return error  # the executor that takes the place of a lost one may be there after the next delay
        try:
            source = "what the job starts from" if recover_from is None else f"checkpoint {recover_from}"
            what = f"reading {source} and finding the splits of the sources"
            found = self._checkpoints.read(what, lambda: self._read(recover_from))
        except OSError as error:
            # Storage that does not answer now may do so after the next delay.
            return JobFailedError(f"The checkpoint to restart from cannot be reached: {error}")
        except (CorruptCheckpointError, JobFailedError) as error:
            return error
        if found is None:
            return None
        access, splits = found
        self.facts.attempt_began(number, recover_from)
        with self._lock:
            if self._cancelled.is_set():
                return None
            attempt = self._attempt = Attempt(
                self.job,
                self._session,
                number,
                self._clock,
                payload=self._payload,
                checkpoints=self._checkpoints,
                access=dataclasses.replace(access, splits=splits.numbered),
                splits=splits,
                on_data=self._on_data,
                on_running=self._on_running,
                on_metrics=self._on_metrics,
                facts=self.facts,
            )
        return attempt.run()

    def _read(self, recover_from: int | None) -> tuple[CheckpointAccess, SourceSplits]:
        access = self._checkpoints.access(recover_from)
        return access, SourceSplits(self.job, access)

    def _find_slots(self) -> None:
        """Find the slots for a restart; where the JVM of our own session has ended, in a new one."""
        if how_jvm_ended() is None:
            acquire_slots(self._session, self.job.id, self.job.plan.spark_slots)
        else:
            self._session = self._open_session()

    def _on_metrics(self) -> None:
        """Look about once per second, when a task reports, whether event time has stopped; say why in the log."""
        now, attempt = self._clock.elapsed(), self._attempt
        if attempt is None or now < self._next_look:
            return
        self._next_look = now + _LOOK_INTERVAL_MILLIS
        text = self._watch.observe(dict(attempt.metrics), now, self._clock.now())
        if text:
            _log.warning("job %r: %s", self.job.name, text)

    def _on_data(self, message: Any) -> None:
        match message:
            case Printed(lines=lines):
                print_lines(lines)
            case Collected(collection=collection, block=block):
                self._collector.put(collection, block)

    def _on_end(self, outcome: JobStatus) -> None:
        has_finished, has_cancelled = outcome is JobStatus.FINISHED, outcome is JobStatus.CANCELED
        self._checkpoints.close("finished" if has_finished else "cancelled" if has_cancelled else "failed")
        super()._on_end(outcome)
        self._checkpoints.answer_stop(has_stopped=has_finished)


@atexit.register
def _cancel_all() -> None:
    """Leave nothing running behind the program."""
    for run in list(_running):
        if not run.status().is_globally_terminal_state():
            run.cancel()
