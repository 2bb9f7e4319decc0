"""One run of a job on Spark, from submission to its end; a restarted job has several."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from penstock.errors import JobFailedError, PenstockError, WorkerLostError
from penstock.execution.spark.control_server import ControlServer
from penstock.execution.spark.internals import run_plan
from penstock.execution.spark.messages import (
    AlignmentLimit,
    AlignmentReport,
    Failed,
    Finished,
    Metrics,
    Register,
    Running,
    TaskKey,
)
from penstock.execution.spark.pipeline import build_pipeline
from penstock.execution.spark.session import JOB_PROPERTIES
from penstock.runtime.watermark_alignment import AlignmentGroups

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from penstock.graph.job import Job

__all__ = ["Attempt"]

_log = logging.getLogger("penstock.job")

_REPORT_SECONDS = 1.5
"""How long to wait for the task's own report after Spark has said that the job failed."""
_POLITE_SECONDS = 3.0
"""How long tasks may take to close their functions after they were told to stop."""


class Attempt:
    """Submits the job, listens to its tasks and finds out why it ended."""

    def __init__(
        self,
        job: Job,
        session: SparkSession,
        number: int,
        *,
        on_data: Callable[[Any], None],
        on_running: Callable[[], None],
    ) -> None:
        self.metrics: dict[TaskKey, dict[str, Any]] = {}
        self._job = job
        self._context = session.sparkContext
        self._session = session
        self._number = number
        self._group = f"penstock-{job.id}-{number}"
        self._on_data = on_data
        self._on_running = on_running
        self._alignment = AlignmentGroups()
        self._changed = threading.Condition()
        self._processes: dict[TaskKey, Register] = {}
        self._running: set[TaskKey] = set()
        self._finished: set[TaskKey] = set()
        self._failure: Failed | None = None
        self._lost: Register | None = None
        self._is_stopping = False
        self._is_over = False

    def run(self) -> PenstockError | None:
        """Run to the end and return the reason of a failure, ``None`` after success."""
        is_local = str(self._context.master).startswith("local")
        host = "127.0.0.1" if is_local else self._context.getConf().get("spark.driver.host", "127.0.0.1")
        server = self._server = ControlServer(str(host), self._on_message, self._on_closed)
        try:
            plan = build_pipeline(
                self._session, self._job, address=server.address, key=server.key, attempt=self._number
            )
            self._context.setJobGroup(self._group, f"Penstock: {self._job.name}", interruptOnCancel=True)
            for key, value in JOB_PROPERTIES.items():
                self._context.setLocalProperty(key, value)
            run_plan(plan)
        except (Py4JError, PySparkException) as error:
            return self._reason(error)
        finally:
            self._is_over = True
            server.drain(_POLITE_SECONDS)
            server.close()
        return None

    def stop(self) -> None:
        """End the attempt: tasks first get the chance to close their functions, then Spark cancels the job."""
        with self._changed:
            self._is_stopping = True
        self._server.cancel_all()
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or not self._server.connected(), _POLITE_SECONDS)
        self._context.cancelJobGroup(self._group)

    def _on_message(self, sender: Register, message: Any) -> None:
        task = sender.task
        with self._changed:
            match message:
                case Register(purpose="control"):
                    self._processes[task] = message
                case Running():
                    self._running.add(task)
                    if len(self._running) == self._job.plan.spark_slots:
                        self._on_running()
                case Metrics(values=values):
                    self.metrics[task] = values
                case Finished(metrics=values):
                    self.metrics[task] = values
                    self._finished.add(task)
                case Failed():
                    self._failure = self._failure or message
                    self._cancel_soon()
                case AlignmentReport(group=group):
                    limit = self._alignment.report(group, message.member, message.watermark, message.drift)
                    self._server.send(task, AlignmentLimit(group, limit))
                case Register():
                    pass
                case _:
                    self._on_data(message)
                    return
            self._changed.notify_all()

    def _on_closed(self, sender: Register) -> None:
        with self._changed:
            if sender.purpose == "control" and sender.task not in self._finished:
                self._lost = self._lost or sender
            self._changed.notify_all()

    def _cancel_soon(self) -> None:
        """Have Spark end the other tasks now: a pipeline without one of its tasks goes nowhere."""
        threading.Thread(target=self._context.cancelJobGroup, args=(self._group,), daemon=True).start()

    def _reason(self, error: Exception) -> PenstockError:
        with self._changed:
            self._changed.wait_for(lambda: self._failure is not None, 0 if self._is_stopping else _REPORT_SECONDS)
            if self._failure is not None:
                _log.debug("engine traceback of the failed task:\n%s", self._failure.engine_traceback)
                return self._failure.error
            if self._lost is not None:
                return self._lost_error(self._lost, error)
        return JobFailedError(f"Spark ended the job {self._job.name!r}: {_first_lines(error)}")

    def _lost_error(self, lost: Register, error: Exception) -> WorkerLostError:
        stage, index = lost.task
        steps = ", ".join(self._job.plan.vertices[vertex].name for vertex in self._job.plan.stages[stage].vertices)
        message = (
            f"A worker of the job {self._job.name!r} died: process {lost.process} on {lost.host}, which ran"
            f" subtask {index + 1} of stage {stage} ({steps}). It may have been killed,"
            " have run out of memory, or have crashed in native code.\n"
            f"  Spark says: {_first_lines(error)}"
        )
        return WorkerLostError(message)


def _first_lines(error: Exception) -> str:
    """Return what Spark says without its stack trace."""
    text = str(getattr(error, "java_exception", None) or error)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " ".join(lines[:3])[:600]
