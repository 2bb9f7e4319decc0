"""The entry point inside a Spark task's Python worker: runs one task of a stage."""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cloudpickle
from pyspark import TaskContext

from penstock.checkpoint.job_storage import try_checkpoint_directory
from penstock.errors import ClusterError, SerializationError
from penstock.execution.spark.control.client import ControlClient
from penstock.execution.spark.control.messages import (
    AlignmentLimit,
    AlignmentReport,
    Cancel,
    Failed,
    Finished,
    Heartbeat,
    Metrics,
    Running,
    Stopped,
    Stuck,
)
from penstock.execution.spark.worker.cancellation import Cancellation, TaskCancelledError
from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess, WorkerLink, obey_driver
from penstock.execution.spark.worker.exchange import InboxReader, InputLostError, to_batches
from penstock.execution.spark.worker.process_exits import exits_told
from penstock.execution.spark.worker.pulse import BusyWatch, Pulse
from penstock.foundation.clock import SystemClock
from penstock.graph.packing import unpack_job
from penstock.pyflink_alias import install_alias
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.task.loop import Blocks, Inbox, run_task
from penstock.runtime.task.report import report_task
from penstock.runtime.task.services import TaskServices
from penstock.runtime.task.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from penstock.execution.spark.control.heartbeats import HeartbeatSettings
    from penstock.graph.job import Job

__all__ = ["StageMain", "load_job"]

_REPORT_INTERVAL_MILLIS = 1000
_RELEASE_SECONDS = 10.0
"""How much longer than the others may take a stopped task waits to be let go; a driver that died does so at once."""


@dataclass(frozen=True)
class StageMain:
    """What Spark calls in each task of a stage."""

    payload: bytes = field(repr=False)
    """The packed job."""
    stage: int
    address: tuple[str, int]
    key: bytes = field(repr=False)
    attempt: int
    search_path: tuple[str, ...]
    """The driver's module search path: on the driver's own machine its entries hold the user's modules."""
    access: CheckpointAccess
    """The checkpoint storage and the state to start with."""
    heartbeat: HeartbeatSettings
    has_alias: bool = False
    """Whether the program knows Penstock as ``pyflink``."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task; rows in, rows out."""
        with contextlib.suppress(ValueError):
            # Ctrl-C reaches every process of the terminal; the driver decides what it means for the job.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        context = TaskContext.get()
        assert context is not None
        index = context.partitionId()
        inbox = Inbox()
        clients: list[ControlClient] = []
        cancellation = Cancellation(inbox, lambda stack: clients[0].send(Stuck(stack)))
        limits: dict[str, int] = {}
        tasks: list[Task] = []
        pulses: list[Pulse] = []

        def listen(message: Any) -> None:
            for pulse in pulses:
                pulse.heard()
            _obey(message, inbox, cancellation, limits, tasks)

        try:
            client = ControlClient(
                self.address,
                self.key,
                (self.stage, index),
                self.attempt,
                listen,
            )
        except OSError as error:
            message = (
                f"The worker cannot reach the driver of its job at {self.address}: {error}. Set spark.driver.host."
            )
            raise ClusterError(message) from error
        clients.append(client)
        pulse = Pulse(client, self.heartbeat, SystemClock(), BusyWatch(lambda: inbox.turns, cancellation.where_it_sits))
        pulses.append(pulse)
        pulse.start()
        try:
            reader = InboxReader(batches, inbox)
            if self.stage == 0:
                for _ in batches:  # the one row that makes Spark start this task
                    pass
                inbox.end()
            else:
                reader.start()
            services = _services(inbox, client, limits, self.access)
            with cancellation.interruptible(), exits_told(client.send):
                for batch in to_batches(self._run(index, inbox, reader, client, cancellation, services, tasks), index):
                    with cancellation.sending():
                        yield batch
        finally:
            pulse.close()
            client.close()

    def _run(
        self,
        index: int,
        inbox: Inbox,
        reader: InboxReader,
        client: ControlClient,
        cancellation: Cancellation,
        services: TaskServices,
        tasks: list[Task],
    ) -> Iterator[Blocks]:
        task: Task | None = None
        job: Job | None = None
        link = WorkerLink(self.access, client)
        try:
            if self.attempt == 0 and self.access.takes_checkpoints:
                try_checkpoint_directory(self.access.storage)  # the driver could; this machine may be set up otherwise
            job = load_job(self.payload, self.search_path, has_alias=self.has_alias)
            task = Task(
                job,
                self.stage,
                index,
                clock=SystemClock(),
                services=services,
                attempt=self.attempt,
                link=link,
            )
            tasks.append(task)
            running = task
            task.processing_time.schedule_every(_REPORT_INTERVAL_MILLIS, lambda _: self._report(running, inbox, client))
            inbox.command(lambda: client.send(Running()))
            yield from run_task(task, inbox, self.access.restored(index))
            cancellation.begin_stopping()
            link.close()
            client.send(Finished(report_task(task)))
        except GeneratorExit as error:
            if not _is_raised_by_program(error):
                _close(task)
                raise
            cancellation.begin_stopping()
            client.send(Failed(explain_failure(error, task), traceback.format_exc()))
            _leave(task, reader, client, cancellation, _release_seconds(job))
            message = "a function of the program raised GeneratorExit"
            raise RuntimeError(message) from error
        except (TaskCancelledError, InputLostError):
            cancellation.begin_stopping()
            _leave(task, reader, client, cancellation, _release_seconds(job))
            raise
        except BaseException as error:
            cancellation.begin_stopping()
            client.send(Failed(explain_failure(error, task), traceback.format_exc()))
            _leave(task, reader, client, cancellation, _release_seconds(job))
            raise

    def _report(self, task: Task, inbox: Inbox, client: ControlClient) -> None:
        client.send(Metrics(report_task(task)))
        if self.stage > 0 and inbox.is_ended and not inbox.has_blocks() and not task.is_finished:
            raise InputLostError


def load_job(payload: bytes, search_path: tuple[str, ...], *, has_alias: bool) -> Job:
    """Return the job in a worker, which finds the program's modules where the driver does."""
    if has_alias:
        install_alias()
    for entry in search_path:
        if entry not in sys.path and Path(entry).exists():
            sys.path.append(entry)
    try:
        job = unpack_job(payload)
    except (ImportError, AttributeError) as error:
        message = (
            f"The job cannot be unpickled in a worker: {error}. A module of the program is not there; send it with"
            " env.add_python_file(), or install it on the workers."
        )
        raise SerializationError(message) from error
    _publish_program_classes()
    return job


def _is_raised_by_program(error: GeneratorExit) -> bool:
    """Tell whether a function raised it: where Spark ends the task, it comes up where rows are handed over."""
    current = error.__traceback__
    while current is not None and current.tb_next is not None:
        current = current.tb_next
    frame = None if current is None else current.tb_frame
    return frame is not None and frame.f_code is not run_task.__code__ and frame.f_globals is not globals()


def _obey(message: Any, inbox: Inbox, cancellation: Cancellation, limits: dict[str, int], tasks: list[Task]) -> None:
    if isinstance(message, Heartbeat):
        return
    if isinstance(message, AlignmentLimit):
        limits[message.group] = message.limit
    elif isinstance(message, Cancel):
        cancellation.request(message.interval, message.timeout)
    else:
        # Commands run in the task's thread, so there is a task by then.
        inbox.command(lambda: obey_driver(message, tasks[0]))


def _services(inbox: Inbox, client: ControlClient, limits: dict[str, int], access: CheckpointAccess) -> TaskServices:
    """Return what the executor lends to the operators of a task."""

    def align(group: str, member: str, watermark: int | None, drift: int) -> int:
        client.send(AlignmentReport(group, member, watermark, drift))
        return limits.get(group, MAX_TIMESTAMP)  # the answer to the last report

    return TaskServices(
        print_lines=client.print_lines,
        collect=client.collect,
        wake_up=inbox.wake_up,
        align=align,
        run_commands=inbox.run_commands,
        splits=access.splits,
    )


def _leave(
    task: Task | None, reader: InboxReader, client: ControlClient, cancellation: Cancellation, seconds: float | None
) -> None:
    """Close the task's functions and wait for the other tasks to do the same.

    Spark ends all tasks of a job as soon as one of them raises, so nobody raises before the driver lets go.
    """
    reader.discard()
    _close(task)
    cancellation.end()
    client.send(Stopped())
    client.wait_for_release(seconds)


def _release_seconds(job: Job | None) -> float | None:
    """Return how long a stopped task waits for the driver to let go: as long as the driver waits for the others."""
    timeout = 0 if job is None else job.execution_config.get_task_cancellation_timeout()
    return None if job is not None and timeout == 0 else timeout / 1000 + _RELEASE_SECONDS


def _close(task: Task | None) -> None:
    if task is not None:
        with contextlib.suppress(Exception):  # the first error is the one that counts
            task.close()


def _publish_program_classes() -> None:
    """Make classes of the user's script known as attributes of ``__main__``.

    They came by value with the job, so plain pickle, which looks them up by name, would not find them and every block
    with their instances would take cloudpickle's slow road.
    """
    main = sys.modules["__main__"]
    for known in list(cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS):
        if known.__module__ == "__main__" and "." not in known.__qualname__:
            setattr(main, known.__qualname__, known)
