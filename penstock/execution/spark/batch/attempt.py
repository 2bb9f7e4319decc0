"""One run of a batch job on Spark; a job that its strategy restarts has several."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from penstock.errors import JobFailedError, PenstockError
from penstock.execution.spark.batch.frame import build_frame
from penstock.execution.spark.batch.stage_main import BatchStageMain
from penstock.execution.spark.control.messages import Cancel, Failed, Finished, Go, Metrics, Register, Stopped, Stuck
from penstock.execution.spark.control.server import ControlServer
from penstock.execution.spark.driver.attempt import addresses_of, first_lines
from penstock.execution.spark.internals.context import cancel_jobs
from penstock.execution.spark.internals.errors import SPARK_ERRORS
from penstock.pyflink_alias import is_alias_installed
from penstock.runtime.batch.outcome import unpack_part

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.execution.spark.control.messages import TaskKey
    from penstock.graph.job import Job
    from penstock.runtime.batch.outcome import Part
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["BatchAttempt"]

_log = logging.getLogger("penstock.job")
_REPORT_SECONDS = 0.5
"""How long to wait for a task's own report after Spark has said that the job failed."""
_GRACE_SECONDS = 2.0
_LAST_WORDS_SECONDS = 2.0
"""How long the last metrics of tasks may be under way."""


class BatchAttempt:
    """Submits the job, listens to its tasks and finds out why it ended.

    Attributes:
        metrics: The last metrics of each task.
        begun: How often each task was begun.
        finished: The tasks that have come to their end.
        parts: What the tasks of the last stage have handed over, once the job has succeeded.
    """

    def __init__(
        self, job: Job, session: SparkSession, number: int, payload: bytes, splits: dict[str, dict[int, SourceSplit]]
    ) -> None:
        self.metrics: dict[TaskKey, dict[str, Any]] = {}
        self.begun: Counter[TaskKey] = Counter()
        self.finished: set[TaskKey] = set()
        self.parts: list[Part] = []
        self._job = job
        self._session = session
        self._number = number
        self._payload = payload
        self._splits = splits
        self._group = f"penstock-{job.id}-{number}"
        self._changed = threading.Condition()
        self._turns: dict[TaskKey, Register] = {}
        """Which attempt of a task has its turn."""
        self._active: set[Register] = set()
        self._failure: Failed | None = None
        self._is_stopping = False
        self._is_over = False
        config = job.execution_config
        self._cancel = Cancel(config.get_task_cancellation_interval(), config.get_task_cancellation_timeout())
        host, advertised = addresses_of(session.sparkContext)
        self._server = ControlServer(host, self._on_message, self._on_closed, advertised=advertised)

    def run(self) -> PenstockError | None:
        """Run to the end and return the reason of a failure, ``None`` after success."""
        context = self._session.sparkContext
        try:
            frame = build_frame(self._session, self._job.plan, self._entry)
            context.setJobGroup(self._group, f"Penstock: {self._job.name}", interruptOnCancel=True)
            self.parts = [unpack_part(bytes(row.b)) for row in frame.collect()]
        except (*SPARK_ERRORS, OSError) as error:  # the JVM may be gone
            return self._reason(error)
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
            self._server.let_go()
            self._server.drain(_LAST_WORDS_SECONDS)
            self._server.close()
        return None

    def stop(self) -> None:
        """End the attempt: tasks first get the chance to close their functions, then Spark cancels the job."""
        with self._changed:
            self._is_stopping = True
        self._wind_down()

    def _entry(self, stage: int) -> BatchStageMain:
        return BatchStageMain(
            self._payload,
            stage,
            self._server.address,
            self._server.key,
            tuple(sys.path),
            self._splits if stage == 0 else {},
            is_alias_installed(),
            self._number,
        )

    def _on_message(self, sender: Register, message: Any) -> None:
        task = sender.task
        with self._changed:
            match message:
                case Register():
                    self.begun[task] += 1
                    self._active.add(sender)
                    if self._is_stopping or self._failure is not None:
                        self._server.send(task, self._cancel)
                    elif self._turns.setdefault(task, sender) is sender:
                        self._server.send(task, Go(self.begun[task] - 1))
                case Metrics(values=values):
                    self.metrics[task] = values
                case Finished(metrics=values):
                    self.metrics[task] = values
                    self.finished.add(task)
                case Stopped():
                    self._active.discard(sender)
                case Stuck(stack=stack):
                    _log.error(
                        "A function of the job %r does not end; its process is. It sits in:\n%s", self._job.name, stack
                    )
                case Failed():
                    if self._failure is None:
                        self._failure = message
                        threading.Thread(target=self._wind_down, daemon=True).start()
            self._changed.notify_all()

    def _on_closed(self, sender: Register) -> None:
        with self._changed:
            self._active.discard(sender)
            if self._turns.get(sender.task) is sender:
                del self._turns[sender.task]
                waiting = next((other for other in self._active if other.task == sender.task), None)
                if waiting is not None:
                    # A second attempt, speculative or not, has waited for this one to end.
                    self._turns[sender.task] = waiting
                    self._server.send(sender.task, Go(self.begun[sender.task] - 1))
            self._changed.notify_all()

    def _wind_down(self) -> None:
        """Let the tasks close their functions, for as long as the job allows, and have Spark end what is left."""
        self._server.send_all(self._cancel)
        limit = self._cancel.timeout / 1000 + _GRACE_SECONDS if self._cancel.timeout else None
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not self._active, limit)
            if self._is_over:
                return
        cancel_jobs(self._session, self._group)

    def _reason(self, error: Exception) -> PenstockError:
        with self._changed:
            if not self._is_stopping:
                self._changed.wait_for(lambda: self._failure is not None, _REPORT_SECONDS)
            if self._failure is not None:
                _log.debug("engine traceback of the failed task:\n%s", self._failure.engine_traceback)
                return self._failure.error
        return JobFailedError(f"Spark ended the job {self._job.name!r}: {first_lines(error)}")
