"""The entry point inside a Spark task's Python worker: runs one task of a batch stage."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import TaskContext

from penstock.errors import ClusterError
from penstock.execution.spark.control.client import ControlClient
from penstock.execution.spark.control.messages import Cancel, Failed, Finished, Go, Metrics, Stopped, Stuck
from penstock.execution.spark.worker.cancellation import Cancellation, TaskCancelledError
from penstock.execution.spark.worker.exchange import InputLostError
from penstock.execution.spark.worker.stage_main import load_job
from penstock.foundation.clock import SystemClock
from penstock.runtime.batch.outcome import pack_part
from penstock.runtime.batch.rows import Row
from penstock.runtime.batch.task import BatchTask
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.runtime.task.loop import Inbox
from penstock.runtime.task.report import report_task
from penstock.runtime.task.services import TaskServices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["BatchStageMain"]

_REPORT_INTERVAL_MILLIS = 1000
_RELEASE_SECONDS = 10.0
_SCHEMA = pa.schema([("p", pa.int32()), ("o", pa.binary()), ("b", pa.binary())])


@dataclass(frozen=True)
class BatchStageMain:
    """What Spark calls in each task of a stage."""

    payload: bytes
    """The packed job."""
    stage: int
    address: tuple[str, int]
    key: bytes
    search_path: tuple[str, ...]
    splits: dict[str, dict[int, SourceSplit]]
    has_alias: bool
    attempt: int
    """How often the whole job has been begun before."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task; rows in, rows out."""
        with contextlib.suppress(ValueError):
            # Ctrl-C reaches every process of the terminal; the driver decides what it means for the job.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        context = TaskContext.get()
        assert context is not None
        index = context.partitionId()
        inbox, may_go = Inbox(), threading.Event()
        begun_before: list[int] = []
        clients: list[ControlClient] = []
        cancellation = Cancellation(inbox, lambda stack: clients[0].send(Stuck(stack)))

        def obey(message: Any) -> None:
            if isinstance(message, Cancel):
                cancellation.request(message.interval, message.timeout)
            else:
                assert isinstance(message, Go)
                begun_before.append(message.attempt)
            may_go.set()

        try:
            client = ControlClient(self.address, self.key, (self.stage, index), context.taskAttemptId(), obey)
        except OSError as error:
            message = (
                f"The worker cannot reach the driver of its job at {self.address}: {error}. Set spark.driver.host."
            )
            raise ClusterError(message) from error
        clients.append(client)
        try:
            may_go.wait()  # another attempt of the same task may still be writing
            attempt = self.attempt + sum(begun_before)
            with cancellation.interruptible():
                for rows in self._run(index, attempt, _rows_of(batches, self.stage), inbox, client, cancellation):
                    with cancellation.sending():
                        yield _batch(rows)
        finally:
            client.close()

    def _run(
        self,
        index: int,
        attempt: int,
        rows: Iterator[Row],
        inbox: Inbox,
        client: ControlClient,
        cancellation: Cancellation,
    ) -> Iterator[list[Row]]:
        task: BatchTask | None = None
        try:
            inbox.run_commands()
            job = load_job(self.payload, self.search_path, has_alias=self.has_alias)
            services = TaskServices(splits=self.splits)
            task = BatchTask(job, self.stage, index, clock=SystemClock(), services=services, attempt=attempt)
            running = task
            task.processing_time.schedule_every(
                _REPORT_INTERVAL_MILLIS, lambda _: client.send(Metrics(report_task(running)))
            )
            for sent in task.run(rows):
                inbox.run_commands()
                parts = [Row(index, b"", pack_part(part)) for part in task.take_parts()]
                if sent or parts:
                    yield sent + parts
            cancellation.begin_stopping()
            client.send(Finished(report_task(task)))
        except (GeneratorExit, InputLostError):
            _close(task)
            raise
        except TaskCancelledError:
            cancellation.begin_stopping()
            self._leave(task, client, cancellation)
            raise
        except BaseException as error:
            cancellation.begin_stopping()
            client.send(Failed(explain_failure(error, task), traceback.format_exc()))
            self._leave(task, client, cancellation)
            raise

    @staticmethod
    def _leave(task: BatchTask | None, client: ControlClient, cancellation: Cancellation) -> None:
        """Close the functions and wait until the driver has ended the job: Spark would try a task again that raises."""
        _close(task)
        cancellation.end()
        client.send(Stopped())
        client.wait_for_release(_RELEASE_SECONDS)


def _close(task: BatchTask | None) -> None:
    if task is not None:
        with contextlib.suppress(Exception):  # the first error is the one that counts
            task.close()


def _rows_of(batches: Iterator[pa.RecordBatch], stage: int) -> Iterator[Row]:
    """Return the rows of a task.

    Raises:
        InputLostError: The JVM gives no more of them, because an executor died that had some. Spark knows, computes
            what was lost and runs this task again, so it is no failure of the job.
    """
    try:
        for batch in batches:
            if stage > 0:  # the first stage has one row per task, which makes Spark start it
                for task, order, block in zip(*(batch.column(number).to_pylist() for number in range(3)), strict=True):
                    yield Row(task, order, block)
    except (pa.ArrowException, EOFError, OSError) as error:
        raise InputLostError from error


def _batch(rows: list[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
