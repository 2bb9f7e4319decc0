"""One run of a job on Spark, from submission to its end; a restarted job has several."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from penstock.errors import DriverPausedError, JobFailedError, PenstockError, WorkerLostError
from penstock.execution.spark.control.heartbeats import HeartbeatSettings
from penstock.execution.spark.control.messages import (
    AlignmentLimit,
    AlignmentReport,
    Busy,
    Cancel,
    Collected,
    Failed,
    Finished,
    Heartbeat,
    Metrics,
    Printed,
    Register,
    Running,
    Stopped,
    Stuck,
    TaskKey,
)
from penstock.execution.spark.control.server import ControlServer
from penstock.execution.spark.driver.pipeline import build_pipeline
from penstock.execution.spark.driver.task_watch import TaskWatch
from penstock.execution.spark.internals.context import cancel_jobs
from penstock.execution.spark.internals.errors import SPARK_ERRORS
from penstock.execution.spark.internals.jvm_death import connection_lost, how_jvm_ended
from penstock.execution.spark.internals.plan import run_plan
from penstock.execution.spark.internals.settings import JOB_PROPERTIES
from penstock.runtime.time.watermark_alignment import AlignmentGroups

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from penstock.execution.spark.driver.checkpoints import Checkpoints
    from penstock.execution.spark.driver.source_splits import SourceSplits
    from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess
    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.operations.job_facts import JobFacts

__all__ = ["Attempt", "addresses_of", "first_lines"]

_log = logging.getLogger("penstock.job")

_REPORT_SECONDS = 1.5
"""How long to wait for a task's own report after Spark has said that the job failed."""
_LAST_WORD_SECONDS = 0.3
_ROLL_CALL_SECONDS = 300.0
"""How long workers may take to start from when the first one has reported."""
_CANCEL_SECONDS = 3.0
"""How long what was printed and collected may take to arrive after somebody cancelled the job."""
_FAILURE_SECONDS = 0.8
"""How long it may take after a task failed: the program waits for the failure."""
_PATIENCE_SECONDS = 3.0
"""After this time the log says which tasks have not closed their functions yet."""
_GRACE_SECONDS = 2.0
"""How long a task may take to end itself after its time is over, before Spark ends it."""


class Attempt:
    """Submits the job, listens to its tasks and finds out why it ended."""

    def __init__(
        self,
        job: Job,
        session: SparkSession,
        number: int,
        clock: Clock,
        *,
        payload: bytes,
        checkpoints: Checkpoints,
        access: CheckpointAccess,
        splits: SourceSplits,
        on_data: Callable[[Any], None],
        on_running: Callable[[], None],
        on_metrics: Callable[[], None],
        facts: JobFacts,
    ) -> None:
        self.metrics: dict[TaskKey, dict[str, Any]] = {}
        self.processes: dict[TaskKey, Register] = {}
        self._job = job
        self._payload = payload
        self._context = session.sparkContext
        self._session = session
        self._number = number
        self._group = f"penstock-{job.id}-{number}"
        self._checkpoints = checkpoints
        self._access = access
        self._splits = splits
        self._on_data = on_data
        self._on_running = on_running
        self._on_metrics = on_metrics
        self._facts = facts
        self._alignment = AlignmentGroups()
        self._watch = TaskWatch(
            HeartbeatSettings.from_options(job.settings.options),
            clock,
            on_silent=self._on_silent,
            on_paused=self._on_paused,
        )
        self._roll_call = threading.Timer(_ROLL_CALL_SECONDS, self._call_roll)
        self._roll_call.daemon = True
        self._busy: dict[TaskKey, Busy] = {}
        self._changed = threading.Condition()
        self._running: set[TaskKey] = set()
        self._active: set[TaskKey] = set()
        self._finished: set[TaskKey] = set()
        self._failure: Failed | None = None
        self._lost: Register | None = None
        self._is_stopping = False
        self._is_winding_down = False
        self._is_over = False
        config = job.execution_config
        self._cancel = Cancel(config.get_task_cancellation_interval(), config.get_task_cancellation_timeout())
        host, advertised = addresses_of(self._context)
        self._server = ControlServer(host, self._on_message, self._on_closed, advertised=advertised)
        checkpoints.attempt_begins(self._server, self.fail, self._watch.is_overdue)
        self._watch.start(self._server)

    def run(self) -> PenstockError | None:
        """Run to the end and return the reason of a failure, ``None`` after success."""
        is_success = False
        try:
            plan = build_pipeline(
                self._session,
                self._job.plan,
                self._payload,
                address=self._server.address,
                key=self._server.key,
                attempt=self._number,
                access=self._access,
                heartbeat=self._watch.settings,
            )
            self._context.setJobGroup(self._group, f"Penstock: {self._job.name}", interruptOnCancel=True)
            for key, value in JOB_PROPERTIES.items():
                self._context.setLocalProperty(key, value)
            run_plan(plan)
            is_success = True
        except (*SPARK_ERRORS, OSError) as error:
            reason = self._reason(error)
            pause = self._watch.paused_for()
            return self._paused_error(pause) if pause else reason
        finally:
            self._watch.close()
            self._roll_call.cancel()
            self._splits.stop()
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
            self._server.let_go()
            # After success everything printed and collected is still delivered, however slowly the program takes it.
            self._server.drain(None if is_success else _CANCEL_SECONDS if self._is_stopping else _FAILURE_SECONDS)
            self._server.close()
        # What came last may have gone wrong on its way out, when Spark's part was already over.
        return None if self._failure is None else self._failure.error

    def stop(self) -> None:
        """End the attempt: tasks first get the chance to close their functions, then Spark cancels the job."""
        with self._changed:
            self._is_stopping = True
        self._wind_down()

    def fail(self, reason: str) -> None:
        """End the attempt as if a task had failed."""
        with self._changed:
            text = f"The job {self._job.name!r} failed: {reason}{self._what_is_busy(sorted(self._busy))}"
            self._fail(Failed(JobFailedError(text), ""))

    def _on_message(self, sender: Register, message: Any) -> None:
        if isinstance(message, (Printed, Collected)):
            # Not under the lock: this waits for the program, and what tasks say about themselves must get through.
            self._deliver(message)
            return
        if sender.purpose != "control":
            return
        self._watch.heard(sender)
        if self._checkpoints.on_message(message):
            return
        task = sender.task
        are_all_running = False
        with self._changed:
            match message:
                case Register():
                    if not self.processes:
                        self._roll_call.start()
                    self.processes[task] = message
                    self._facts.task_registered(task, message.host, message.process)
                    self._active.add(task)
                    if self._is_winding_down:
                        self._server.send(task, self._cancel)
                case Running():
                    self._running.add(task)
                    self._facts.task_running(task)
                    if len(self._running) == self._job.plan.spark_slots:
                        self._on_running()
                        are_all_running = True
                case Metrics(values=values):
                    self.metrics[task] = values
                    self._facts.task_reported(task, values)
                    self._on_metrics()
                case Finished(metrics=values):
                    self.metrics[task] = values
                    self._facts.task_reported(task, values)
                    self._facts.task_ended(task, "FINISHED")
                    self._finished.add(task)
                    self._active.discard(task)
                case Stopped():
                    self._facts.task_ended(task, "CANCELED")
                    self._active.discard(task)
                case Stuck(stack=stack):
                    _log.error("%s It is ended now. It sits in:\n%s", self._not_ended([task]), stack)
                case Heartbeat(busy=Busy() as busy):
                    self._busy[task] = busy
                case Heartbeat():
                    self._busy.pop(task, None)
                case Failed():
                    self._facts.task_ended(task, "FAILED")
                    self._fail(message)
                case AlignmentReport(group=group):
                    limit = self._alignment.report(group, message.member, message.watermark, message.drift)
                    self._server.send(task, AlignmentLimit(group, limit))
            self._changed.notify_all()
        if are_all_running:
            # Not under the lock: the coordinator has its own, and takes it before this one when it fails the job.
            self._checkpoints.tasks_running()
            self._splits.start_discovery(self._server)

    def _deliver(self, message: Any) -> None:
        try:
            self._on_data(message)
        except Exception as error:
            reason = JobFailedError(f"The job {self._job.name!r} cannot deliver its output to the program: {error!r}")
            with self._changed:
                self._fail(Failed(reason, ""))

    def _on_silent(self, sender: Register) -> None:
        """Take a task for dead that has not been heard of: its worker is stopped, starved or cut off."""
        seconds = self._watch.settings.timeout / 1000
        with self._changed:
            is_active = sender.task in self._active
            self._active.discard(sender.task)
            if is_active and not self._is_over:
                message = (
                    f"A worker of the job {self._job.name!r} has not been heard of for {seconds:g} s"
                    f" (heartbeat.timeout): {self._where(sender)}. It is stopped, starved of processor time or"
                    " memory, or cut off from the driver. It is taken for dead."
                )
                self._fail(Failed(WorkerLostError(message), ""))
            self._changed.notify_all()
        self._server.hang_up(sender.task)

    def _call_roll(self) -> None:
        """Fail where tasks have not reported: a worker that was stopped before it could has no heartbeats to miss."""
        with self._changed:
            missing = self._job.plan.spark_slots - len(self.processes)
            if missing > 0 and not self._is_over:
                reason = (
                    f"{missing} of {self._job.plan.spark_slots} tasks have not reported {_ROLL_CALL_SECONDS:g} s after"
                    " the first one did; their workers do not start"
                )
                self._fail(Failed(WorkerLostError(f"The job {self._job.name!r} failed: {reason}."), ""))

    def _on_paused(self, millis: int) -> None:
        with self._changed:
            self._fail(Failed(self._paused_error(millis), ""))

    def _paused_error(self, millis: int) -> DriverPausedError:
        message = (
            f"The driver of the job {self._job.name!r} did not run for {millis / 1000:.1f} s, longer than"
            f" heartbeat.timeout ({self._watch.settings.timeout / 1000:g} s): it was stopped, or starved of processor"
            " time or memory. Its tasks have given it up, and the job may run elsewhere by now, so it ends here."
            " Start it again from its newest checkpoint if it does not."
        )
        return DriverPausedError(message)

    def _on_closed(self, sender: Register) -> None:
        self._watch.forget(sender)
        with self._changed:
            if sender.purpose == "control" and sender.task in self._active:
                self._active.discard(sender.task)
                self._lost = self._lost or sender
                if not self._is_over:
                    self._wind_down_soon()
            self._changed.notify_all()

    def _fail(self, failure: Failed) -> None:
        self._failure = self._failure or failure
        self._wind_down_soon()

    def _wind_down_soon(self) -> None:
        """Have the other tasks end now: a pipeline without one of its tasks goes nowhere."""
        if not self._is_winding_down:
            threading.Thread(target=self._wind_down, daemon=True).start()

    def _wind_down(self) -> None:
        """Let the tasks close their functions, for as long as the job allows, and have Spark end what is left."""
        with self._changed:
            self._is_winding_down = True
        self._server.send_all(self._cancel)
        timeout = self._cancel.timeout / 1000
        limit = timeout + _GRACE_SECONDS if timeout else None
        with self._changed:
            if not self._wait_for_tasks(_PATIENCE_SECONDS if limit is None else min(_PATIENCE_SECONDS, limit)):
                _log.warning("%s", self._not_ended(sorted(self._active)))
                if not self._wait_for_tasks(None if limit is None else limit - _PATIENCE_SECONDS):
                    _log.error("%s Spark ends the job now.", self._not_ended(sorted(self._active)))
            if self._is_over:
                return
        try:
            cancel_jobs(self._session, self._group)
        except (*SPARK_ERRORS, OSError) as error:  # Spark is gone, and the job with it
            _log.debug("Spark cannot be told to end the job: %s", error)

    def _wait_for_tasks(self, seconds: float | None) -> bool:
        return self._changed.wait_for(lambda: self._is_over or not self._active, seconds)

    def _not_ended(self, tasks: list[TaskKey]) -> str:
        names = [self._where(self.processes[task]) for task in tasks]
        return (
            f"Job {self._job.name!r} was told to stop, but a function has not returned or closed yet in"
            f" {'; '.join(names)}. task.cancellation.timeout is {self._cancel.timeout} ms."
            f"{self._what_is_busy(tasks)}"
        )

    def _where(self, who: Register) -> str:
        stage, index = who.task
        plan = self._job.plan
        steps = ", ".join(plan.vertices[vertex].name for vertex in plan.stages[stage].vertices)
        return f"process {who.process} on {who.host}, which runs subtask {index + 1} of stage {stage} ({steps})"

    def _what_is_busy(self, tasks: list[TaskKey]) -> str:
        """Return where tasks sit that have not come back from a function of the program, as they last said."""
        return "".join(
            f"\n  {self._where(self.processes[task])}, has not come back from a function for"
            f" {busy.millis / 1000:.0f} s. It sits in:\n{busy.stack}"
            for task in tasks
            if (busy := self._busy.get(task)) is not None and task in self.processes
        )

    def _reason(self, error: Exception) -> PenstockError:
        end = how_jvm_ended(_REPORT_SECONDS) if connection_lost(error) else None
        if end is not None:  # all workers went with it
            return _session_died(self._job.name, end)
        with self._changed:
            if not self._is_stopping:
                self._changed.wait_for(lambda: self._failure is not None or self._lost is not None, _REPORT_SECONDS)
                if self._failure is None:
                    # A worker whose connection is gone may say why over another one.
                    self._changed.wait_for(lambda: self._failure is not None, _LAST_WORD_SECONDS)
            if self._failure is not None:
                _log.debug("engine traceback of the failed task:\n%s", self._failure.engine_traceback)
                return self._failure.error
            if self._lost is not None:
                return self._lost_error(self._lost, error)
        return JobFailedError(f"Spark ended the job {self._job.name!r}: {first_lines(error)}")

    def _lost_error(self, lost: Register, error: Exception) -> WorkerLostError:
        message = (
            f"A worker of the job {self._job.name!r} died: {self._where(lost)}. It may have been killed,"
            " have run out of memory, or have crashed in native code.\n"
            f"  Spark says: {first_lines(error)}"
        )
        return WorkerLostError(message)


def addresses_of(context: SparkContext) -> tuple[str, str]:
    """Return the address to listen at and the one under which executors reach it."""
    if str(context.master).startswith("local"):
        return "127.0.0.1", "127.0.0.1"
    conf = context.getConf()
    advertised = str(conf.get("spark.driver.host", "127.0.0.1"))
    return str(conf.get("spark.driver.bindAddress", advertised)), advertised


def _session_died(job: str, end: str) -> JobFailedError:
    return JobFailedError(
        f"The job {job!r} failed because the JVM of its Spark session has ended ({end}). It may have run out of memory"
        " (spark.driver.memory) or have been killed. The next execute() starts a new session."
    )


def first_lines(error: Exception) -> str:
    """Return what Spark says without its stack trace."""
    text = str(getattr(error, "java_exception", None) or error)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " ".join(lines[:3])[:600]
