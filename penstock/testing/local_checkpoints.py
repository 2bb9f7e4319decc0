"""Checkpoints of a job that runs in this process: the real coordinator and the real snapshots, kept in memory.

What is not simulated: the threads that store snapshots while records flow. Here they are stored when the test says so,
which may be many records later.
"""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.coordinator import CheckpointCoordinator
from penstock.checkpoint.coordinator_messages import (
    Abort,
    Action,
    CoordinatorSettings,
    FailJob,
    FinishJob,
    NotifyComplete,
    Recover,
    SavepointDone,
    SavepointFailed,
    StoreMetadata,
    Trigger,
)
from penstock.checkpoint.job_storage import try_savepoint_directory
from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.operator_ids import operator_infos, subtask_inputs, vertex_operators
from penstock.checkpoint.rescaling import plan_restore
from penstock.checkpoint.restored_parallelism import take_over_max_parallelism
from penstock.checkpoint.storage import CheckpointStore, StorageAccess, load_checkpoint
from penstock.errors import CheckpointError
from penstock.foundation.files.by_uri import files_of
from penstock.runtime.checkpoint.restoring import RestoredSubtask
from penstock.runtime.diagnostics.failure import explain_failure
from penstock.statestore.stored_classes import StoredClasses
from penstock.vocabulary.settings.checkpoint_storage import JobManagerCheckpointStorage

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.checkpoint.rescaling import RestorePlan
    from penstock.checkpoint.snapshot_storage import StoredFiles
    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.runtime.checkpoint.subtask_snapshots import TaskId
    from penstock.runtime.task.task import Task
    from penstock.statestore.handles import SnapshotTarget

__all__ = ["LocalCheckpoint", "LocalCheckpoints", "LocalLink"]

_NO_LIMIT = 1 << 62
_Word = Callable[[CheckpointCoordinator, int], list[Action]]
"""Tells the coordinator something, at a time."""


@dataclass(frozen=True)
class LocalCheckpoint:
    """A complete checkpoint, from which other runs can start.

    Attributes:
        metadata: What it holds.
        files: Where its bytes are.
        path: The directory of a savepoint; empty where everything is in memory.
    """

    metadata: CheckpointMetadata
    files: StoredFiles
    path: str = ""

    @property
    def checkpoint_id(self) -> int:
        """Return its number."""
        return self.metadata.checkpoint_id

    @property
    def timestamp(self) -> int:
        """Return the time of the run's clock at which it was taken."""
        return self.metadata.timestamp

    @staticmethod
    def load(path: str | Path) -> LocalCheckpoint:
        """Load a checkpoint or savepoint from its directory."""
        return LocalCheckpoint(*load_checkpoint(str(path), files_of), str(path))


class LocalLink:
    """How tasks of this process take part in checkpoints: whatever they have to say or to store waits in line."""

    def __init__(self, access: StorageAccess) -> None:
        self.to_store: deque[Callable[[], None]] = deque()
        self.said: deque[tuple[int | None, _Word]] = deque()
        """What tasks have to say, each with the checkpoint that it is about."""
        self._access = access

    def target(self, checkpoint_id: int, options: CheckpointOptions, task: TaskId) -> SnapshotTarget:
        """Return where a subtask stores its snapshot."""
        return self._access.target(checkpoint_id, options)

    def last_target(self, task: TaskId) -> SnapshotTarget:
        """Return where a subtask that has finished stores its state."""
        return self._access.last_target()

    def in_background(self, call: Callable[[], None]) -> None:
        """Put the asynchronous part of a snapshot in line."""
        self.to_store.append(call)

    def acknowledge(self, task: TaskId, checkpoint_id: int, state: SubtaskState) -> None:
        """Put in line that a snapshot is there."""
        self.said.append(
            (checkpoint_id, lambda coordinator, now: coordinator.acknowledge(task, checkpoint_id, state, now))
        )

    def decline(self, task: TaskId, checkpoint_id: int, reason: str, *, is_failure: bool) -> None:
        """Put in line that a snapshot will not come."""

        def say(coordinator: CheckpointCoordinator, now: int) -> list[Action]:
            return coordinator.decline(task, checkpoint_id, reason, now, is_failure=is_failure)

        self.said.append((checkpoint_id, say))

    def finished(self, task: TaskId) -> None:
        """Put in line that a subtask has processed all its input."""
        self.said.append((None, lambda coordinator, now: coordinator.task_finished(task, now)))


class LocalCheckpoints:
    """Takes the checkpoints of one run and gives subtasks the state they start with.

    Attributes:
        complete: The complete checkpoints, the oldest first; all are kept.
        plan: What was restored, is new and was left behind; ``None`` where the run starts afresh.
        failure: Why the coordinator wants the job to fail, if it does.
        notifies: Whether subtasks are told at once that a checkpoint is complete.
        unannounced: The complete checkpoints that subtasks do not know of yet.
        job: The job, as what it starts from shapes it.
    """

    def __init__(self, job: Job, clock: Clock, restore: LocalCheckpoint | None) -> None:
        self.complete: list[LocalCheckpoint] = []
        self.plan: RestorePlan | None = None
        self.failure: str | None = None
        self.notifies = True
        self.unannounced: list[int] = []
        if restore is not None and job.renamed_classes:
            restore = replace(restore, files=restore.files.with_classes(StoredClasses(job.renamed_classes)))
        job = job if restore is None else take_over_max_parallelism(job, restore.metadata)
        self.job = self._job = job
        self._clock = clock
        self._start = restore
        self._restored: LocalCheckpoint | None = None
        self._infos = operator_infos(job.plan)
        self._access = StorageAccess(JobManagerCheckpointStorage(max_state_size=_NO_LIMIT), job.id, files_of)
        self._access.savepoint_directory = job.savepoint_directory
        self._store = CheckpointStore(self._access)
        settings = replace(CoordinatorSettings.of(job.checkpoints), retained=_NO_LIMIT)
        self.link = LocalLink(self._access)
        next_id = 1 if restore is None else restore.checkpoint_id + 1
        self._coordinator = CheckpointCoordinator(settings, next_id)
        self._answers: dict[str, str | CheckpointError] = {}
        self._tasks: list[Task] = []
        self._recovery: Recover | None = None
        self._start_from(restore)

    @property
    def is_idle(self) -> bool:
        """Tell whether nobody has anything to store or to say."""
        return not self.link.to_store and not self.link.said

    @property
    def pending(self) -> list[int]:
        """Return the checkpoints under way."""
        return list(self._coordinator.pending)

    @property
    def restored_states(self) -> tuple[dict[TaskId, SubtaskState] | None, StoredFiles | None]:
        """Return what all subtasks start with, and where the bytes of it are."""
        if self.plan is None or self._restored is None:
            return None, None
        return self.plan.states, self._restored.files

    def restored(self, index: int) -> dict[int, RestoredSubtask] | None:
        """Return what the subtasks with an index start with, by vertex."""
        if self.plan is None or self._restored is None:
            return None
        number, files = self._restored.checkpoint_id, self._restored.files
        is_own, shared = self._restored is not self._start, self._restored.metadata.shared_kind(self._job.claim_mode)
        return {
            vertex: RestoredSubtask(number, state, files, is_own, None if is_own else shared)
            for (vertex, subtask), state in self.plan.states.items()
            if subtask == index
        }

    def start(self, tasks: list[Task]) -> None:
        """Take note that all tasks run."""
        self._tasks = tasks
        self._coordinator.job_started(subtask_inputs(self._job.plan))
        self._coordinator.tasks_running(self._clock.elapsed())

    def recover(self) -> None:
        """Take note that all tasks are gone; the next ones start from the newest complete checkpoint."""
        self._tasks = []
        self._perform(self._coordinator.job_failed(self._clock.elapsed()))
        assert self._recovery is not None  # publishing is never under way here
        number = self._recovery.checkpoint_id
        found = {checkpoint.checkpoint_id: checkpoint for checkpoint in self.complete}
        self._start_from(self._start if number is None else found[number])
        self.link = LocalLink(self._access)
        self.unannounced.clear()
        self.failure = None

    def begin(self) -> int | None:
        """Begin a checkpoint and return its id; barriers are on their way, nothing is stored yet."""
        before = set(self._coordinator.pending)
        self._perform(self._coordinator.checkpoint_requested(self._clock.elapsed()))
        return next((each for each in self._coordinator.pending if each not in before), None)

    def begin_savepoint(self, directory: str | None, *, stop: bool, drain: bool) -> str:
        """Begin a savepoint and return the directory it will be in."""
        # The path below is the request, too, by which its answer is found.
        location = self._access.new_savepoint_directory(directory)
        try_savepoint_directory(self._access, posixpath.dirname(location))
        self._perform(
            self._coordinator.savepoint_requested(
                location, self._clock.elapsed(), location=location, stop=stop, drain=drain
            )
        )
        return location

    def savepoint_done(self, location: str) -> str:
        """Return the path of a savepoint; raises the reason if it has failed."""
        answer = self._answers.pop(location, CheckpointError("The savepoint is not complete."))
        if isinstance(answer, CheckpointError):
            raise answer
        return answer

    def give_up(self, checkpoint_id: int, reason: str, *, is_failure: bool = True) -> None:
        """Let a checkpoint fail, as if a subtask had declined it."""
        now = self._clock.elapsed()
        self._perform(self._coordinator.decline("the test", checkpoint_id, reason, now, is_failure=is_failure))

    def announce(self, checkpoint_id: int) -> None:
        """Tell the subtasks that a checkpoint is complete, where that was put off."""
        self.unannounced.remove(checkpoint_id)
        self._each(lambda subtask, task: subtask.on_complete(checkpoint_id))

    def has_word_of(self, checkpoint_id: int) -> bool:
        """Tell whether something is to be stored, or said about a checkpoint."""
        return bool(self.link.to_store) or any(about in (None, checkpoint_id) for about, _ in self.link.said)

    def work(self, only: int | None = None) -> None:
        """Store what waits to be stored, hear what subtasks have to say and do what follows.

        Args:
            only: The checkpoint to hear about; what is said of others goes on waiting.
        """
        link = self.link
        while not self.is_idle if only is None else self.has_word_of(only):
            while link.to_store:
                link.to_store.popleft()()
            said, link.said = link.said, deque()
            for about, word in said:
                if only is None or about in (None, only):
                    self._perform(word(self._coordinator, self._clock.elapsed()))
                else:
                    link.said.append((about, word))

    def _start_from(self, checkpoint: LocalCheckpoint | None) -> None:
        self._restored = checkpoint
        self.plan = None
        if checkpoint is not None:
            self.plan = plan_restore(
                checkpoint.metadata,
                vertex_operators(self._job.plan),
                self._infos,
                allow_non_restored_state=self._job.allows_non_restored_state,
            )

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Trigger(checkpoint_id=checkpoint_id, options=options, tasks=chosen):
                    self._each(lambda subtask, task: subtask.trigger(checkpoint_id, options), chosen)
                case StoreMetadata():
                    self._publish(action)
                case NotifyComplete(checkpoint_id=checkpoint_id):
                    self.unannounced.append(checkpoint_id)
                    if self.notifies:
                        self.announce(checkpoint_id)
                case Recover():
                    self._recovery = action
                case Abort(checkpoint_id=checkpoint_id):
                    self._each(lambda subtask, task: subtask.on_abort(checkpoint_id))
                case SavepointDone(request=request, checkpoint_id=checkpoint_id):
                    self._answers[str(request)] = self._store.path_of(checkpoint_id)
                case SavepointFailed(request=request, reason=reason):
                    self._answers[str(request)] = CheckpointError(reason)
                case FailJob(reason=reason):
                    self.failure = reason
                case FinishJob():
                    for task in self._tasks:
                        task.release()

    def _each(self, call: Callable[[Any, TaskId], None], chosen: tuple[Any, ...] | None = None) -> None:
        for task in self._tasks:
            for vertex, subtask in task.subtasks.items():
                if chosen is None or (vertex, task.index) in chosen:
                    try:
                        call(subtask, (vertex, task.index))
                    except Exception as error:
                        raise explain_failure(error, task) from error

    def _publish(self, action: StoreMetadata) -> None:
        checkpoint_id, now = action.checkpoint_id, self._clock.elapsed()
        try:
            metadata = CheckpointMetadata.of(self._job.id, action, self._infos)
            path = self._store.publish(metadata, action.options)
        except OSError as error:
            self._perform(self._coordinator.store_failed(checkpoint_id, str(error), now))
            return
        self.complete.append(LocalCheckpoint.load(path) if path else LocalCheckpoint(*self._store.load(checkpoint_id)))
        self._perform(self._coordinator.stored(checkpoint_id, now))
