"""How a task on Spark takes part in checkpoints: what it is given, and how it answers."""

from __future__ import annotations

import contextlib
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.errors import JobFailedError
from penstock.execution.spark.control.messages import (
    AbortCheckpoint,
    Acknowledged,
    AddSplits,
    CompleteCheckpoint,
    Declined,
    Failed,
    Release,
    SubtaskFinished,
    TriggerCheckpoint,
)
from penstock.runtime.checkpoint.restoring import RestoredSubtask

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.checkpoint.snapshot_storage import StoredFiles
    from penstock.checkpoint.storage import StorageAccess
    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.execution.spark.control.client import ControlClient
    from penstock.runtime.checkpoint.subtask_snapshots import TaskId
    from penstock.runtime.task.task import Task
    from penstock.statestore.handles import SnapshotTarget
    from penstock.vocabulary.settings.modes import CheckpointKind
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["CheckpointAccess", "WorkerLink", "obey_driver"]


@dataclass(frozen=True)
class CheckpointAccess:
    """What the driver gives to all tasks of an attempt."""

    storage: StorageAccess
    takes_checkpoints: bool
    """Whether there will be checkpoints, besides savepoints that somebody asks for."""
    checkpoint_id: int = 0
    states: dict[TaskId, SubtaskState] | None = None
    """What each subtask starts with, ``None`` on a fresh start."""
    files: StoredFiles | None = None
    is_own: bool = False
    """Whether the state is of a checkpoint that this run of the job has taken."""
    shared_savepoint: CheckpointKind | None = None
    """The kind of the savepoint that the state comes from, if other jobs may start from it as well."""
    splits: dict[str, dict[int, SourceSplit]] = field(default_factory=dict)
    """The splits of each source, by operator id and number."""

    def restored(self, index: int) -> dict[int, RestoredSubtask] | None:
        """Return the states of the subtasks with an index, by vertex."""
        if self.states is None or self.files is None:
            return None
        return {
            vertex: RestoredSubtask(self.checkpoint_id, state, self.files, self.is_own, self.shared_savepoint)
            for (vertex, subtask), state in self.states.items()
            if subtask == index
        }


class WorkerLink:
    """Stores snapshots in a thread of its own, one after the other, and reports to the coordinator."""

    def __init__(self, access: CheckpointAccess, client: ControlClient) -> None:
        self._storage = access.storage
        self._client = client
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock snapshots")

    def target(self, checkpoint_id: int, options: CheckpointOptions, task: TaskId) -> SnapshotTarget:
        """Return where a subtask stores its snapshot."""
        return self._storage.target(checkpoint_id, options)

    def last_target(self, task: TaskId) -> SnapshotTarget:
        """Return where a subtask that has finished stores its state."""
        return self._storage.last_target()

    def in_background(self, call: Callable[[], None]) -> None:
        """Run the asynchronous part of a snapshot after those before it."""
        self._thread.submit(self._guarded, call)

    def acknowledge(self, task: TaskId, checkpoint_id: int, state: SubtaskState) -> None:
        """Say that a snapshot is durable."""
        self._tell(Acknowledged(task, checkpoint_id, state))

    def decline(self, task: TaskId, checkpoint_id: int, reason: str, *, is_failure: bool) -> None:
        """Say that a snapshot will not come."""
        self._tell(Declined(task, checkpoint_id, reason, is_failure))

    def finished(self, task: TaskId) -> None:
        """Say that a subtask has processed all its input."""
        self._tell(SubtaskFinished(task))

    def close(self) -> None:
        """Wait for what is being stored."""
        self._thread.shutdown(wait=True)

    def _guarded(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            reason = JobFailedError(f"A snapshot could not be taken: {type(error).__name__}: {error}")
            self._tell(Failed(reason, traceback.format_exc()))

    def _tell(self, message: Any) -> None:
        # A driver that has gone, or does not listen any more, ends the task by itself.
        with contextlib.suppress(OSError):
            self._client.send(message)


def obey_driver(message: Any, task: Task) -> None:
    """Do what the driver says; runs in the task's own thread."""
    match message:
        case TriggerCheckpoint(checkpoint_id=checkpoint_id, options=options, vertices=vertices):
            for vertex in vertices:
                task.subtasks[vertex].trigger(checkpoint_id, options)
        case CompleteCheckpoint(checkpoint_id=checkpoint_id):
            for subtask in task.subtasks.values():
                subtask.on_complete(checkpoint_id)
        case AbortCheckpoint(checkpoint_id=checkpoint_id):
            for subtask in task.subtasks.values():
                subtask.on_abort(checkpoint_id)
        case AddSplits(vertex=vertex, splits=splits):
            task.subtasks[vertex].add_splits(splits)
        case Release():
            task.release()
