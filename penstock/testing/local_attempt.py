"""The tasks of a job in this process, from their start to their end or to a failure; a restart makes new ones."""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.graph.packing import unpack_job
from penstock.runtime.async_io.wait import AsyncWaitOperator
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.runtime.sources.splits import SourceOperator
from penstock.runtime.task.task import Task
from penstock.testing.local_splits import LocalSplits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.runtime.operators.operator import Operator
    from penstock.runtime.task.services import TaskServices
    from penstock.testing.local_checkpoints import LocalCheckpoints

__all__ = ["LocalAttempt"]


class LocalAttempt:
    """Builds the tasks and carries blocks between them.

    Attributes:
        stages: The tasks of each stage.
        tasks: All tasks.
        inboxes: The blocks that wait for each task, by its stage and its index.
    """

    def __init__(
        self,
        job: Job,
        packed: bytes,
        number: int,
        *,
        clock: Clock,
        checkpoints: LocalCheckpoints,
        services: TaskServices,
    ) -> None:
        self._clock = clock
        self._checkpoints = checkpoints
        self._splits = LocalSplits(job, clock.now(), *checkpoints.restored_states)
        services = replace(services, splits=self._splits.numbered)
        self.stages = [
            [
                Task(
                    unpack_job(packed),
                    stage.index,
                    index,
                    clock=clock,
                    services=services,
                    attempt=number,
                    link=checkpoints.link,
                )
                for index in range(stage.parallelism)
            ]
            for stage in job.plan.stages
        ]
        self.tasks = [task for tasks in self.stages for task in tasks]
        self.inboxes: dict[tuple[int, int], deque[bytes]] = {(task.stage, task.index): deque() for task in self.tasks}
        self._is_open = False

    @property
    def is_open(self) -> bool:
        """Tell whether subtasks have been opened, or one of them tried to."""
        return self._is_open

    @property
    def is_finished(self) -> bool:
        """Tell whether all tasks have come to their end."""
        return all(task.is_finished for task in self.tasks) and not any(self.inboxes.values())

    @property
    def has_running_source(self) -> bool:
        """Tell whether records may come at any time from a thread."""
        return any(task.has_running_source for task in self.tasks)

    @property
    def has_unfinished_commits(self) -> bool:
        """Tell whether a sink still has to commit what belongs to a complete checkpoint."""
        return any(task.has_unfinished_commits for task in self.tasks)

    def open(self) -> None:
        """Open all subtasks, the last stage first."""
        if not self._is_open:
            self._is_open = True
            for task in reversed(self.tasks):
                _guarded(task, task.open, self._checkpoints.restored(task.index))
            self._checkpoints.start(self.tasks)

    def settle(self) -> bool:
        """Deliver everything that is under way, but ask no source; tell whether there was something."""
        self._splits.discover(self._clock.now(), self.tasks)
        has_worked = False
        is_busy = True
        while is_busy:
            is_busy = False
            for task in self.tasks:
                inbox = self.inboxes[task.stage, task.index]
                _guarded(task, task.processing_time.fire_due)
                while inbox and not task.is_full:
                    is_busy = has_worked = True
                    _guarded(task, task.receive, inbox.popleft())
                # A call without end is not waited for, unless something else has to.
                while (task.is_waited_for or (inbox and task.is_full)) and _guarded(task, task.work_off):
                    is_busy = has_worked = True
                if self._send(task):
                    is_busy = has_worked = True
        return has_worked

    def deliver(self) -> bool:
        """Deliver the next block to one task; tell whether there was one."""
        for task in self.tasks:
            self._send(task)
        for task in self.tasks:
            inbox = self.inboxes[task.stage, task.index]
            if inbox and not task.is_full:
                _guarded(task, task.receive, inbox.popleft())
                self._send(task)
                return True
        return False

    def poll(self) -> bool:
        """Ask every source once; tell whether one had something."""
        has_emitted = False
        for task in self.tasks:
            has_emitted = _guarded(task, task.work_off) or has_emitted
            has_emitted = _guarded(task, task.poll_sources) or has_emitted
        return has_emitted

    def due(self) -> list[int]:
        """Return when tasks or sources have something to do by the clock."""
        times = [*(task.processing_time.next_time() for task in self.tasks), self._splits.next_time()]
        return [time for time in times if time is not None]

    def close(self) -> None:
        """Close all subtasks; raise the first error after all are closed."""
        first_error: Exception | None = None
        for task in self.tasks:
            try:
                _guarded(task, task.close)
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def abandon(self) -> None:
        """Drop everything as it is, as if the processes had died: no function is closed but those that have a thread.

        A thread cannot be killed, so a source function is cancelled and an event loop is stopped.
        """
        for operator in self._operators():
            has_thread = isinstance(operator, SourceOperator) and operator.has_thread
            if self._is_open and (has_thread or isinstance(operator, AsyncWaitOperator)):
                with contextlib.suppress(Exception):
                    operator.close()
            if operator.context.state is not None:
                operator.context.state.close()

    def _operators(self) -> Iterator[Operator]:
        for task in self.tasks:
            for subtask in task.subtasks.values():
                yield from subtask.chain.operators

    def _send(self, task: Task) -> bool:
        """Put what a task has to send into the inboxes; tell whether there was something."""
        _guarded(task, task.flush)
        blocks = task.take_outbox()
        for target, block in blocks:
            self.inboxes[task.stage + 1, target].append(block)
        return bool(blocks)


def _guarded(task: Task, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        raise explain_failure(error, task) from error
