"""Checkpoints of a job on Spark: carries out what the coordinator decides.

The coordinator (:mod:`penstock.checkpoint.coordinator`) is a pure state machine. Here are its clock, its threads, its
line to the tasks and its storage. Events come from the control channel's threads, from the storing thread and from the
ticker; a lock puts them in a row.
"""

from __future__ import annotations

import logging
import posixpath
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.checkpoint import coordinator_messages as orders
from penstock.checkpoint.coordinator import CheckpointCoordinator
from penstock.checkpoint.job_storage import try_savepoint_directory
from penstock.checkpoint.metadata import CheckpointMetadata
from penstock.checkpoint.operator_ids import operator_infos, subtask_inputs, subtask_names, vertex_operators
from penstock.checkpoint.rescaling import plan_restore
from penstock.checkpoint.storage import CheckpointStore, is_kept_after
from penstock.errors import CheckpointError, CorruptCheckpointError
from penstock.execution.spark.control.messages import (
    AbortCheckpoint,
    Acknowledged,
    CompleteCheckpoint,
    Declined,
    Release,
    SubtaskFinished,
    TriggerCheckpoint,
)
from penstock.execution.spark.driver.storage_thread import StorageThread
from penstock.execution.spark.worker.checkpoint_link import CheckpointAccess
from penstock.vocabulary.job import CompletableFuture
from penstock.vocabulary.settings.modes import CheckpointKind, RecoveryClaimMode

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from penstock.checkpoint.job_storage import JobStorage
    from penstock.execution.spark.control.server import ControlServer
    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.operations.checkpoint_history import CheckpointHistory

__all__ = ["Checkpoints"]

T = TypeVar("T")

_log = logging.getLogger("penstock.checkpoints")

_LOOK_SECONDS = 0.1
"""How soon who waits for storage notices that the job is cancelled."""


class Checkpoints:
    """The checkpoints and savepoints of one job, over all its attempts."""

    def __init__(self, job: Job, clock: Clock, storage: JobStorage, history: CheckpointHistory) -> None:
        self._job = job
        self._clock = clock
        self._history = history
        self._settings = orders.CoordinatorSettings.of(job.checkpoints)
        self._access = storage.access
        self._store = CheckpointStore(self._access)
        self._infos = operator_infos(job.plan)
        self._start = storage.start
        next_id = 1 if self._start is None else self._start[0].checkpoint_id + 1
        self._claimed = self._claim(job)
        self._coordinator = CheckpointCoordinator(
            self._settings, next_id, subtask_names(job.plan).__getitem__, claimed=self._claimed, time_of_day=clock.now
        )
        self._changed = threading.Condition()
        self._storage = StorageThread(job.name)
        self._patience = job.execution_config.get_task_cancellation_timeout() / 1000 or None
        """How many seconds storage that does not answer may hold up the end of the job."""
        self._savepoints: dict[str, CompletableFuture[str]] = {}
        self._wanted: dict[int, CompletableFuture[int]] = {}
        """Who waits for a checkpoint that was asked for."""
        self._stopping: tuple[CompletableFuture[str], str] | None = None
        """Who waits for the end of the job, with the path of the savepoint that it stops with."""
        self._server: ControlServer | None = None
        self._fail: Callable[[str], None] | None = None
        self._is_given_up: Callable[[], bool] = lambda: False
        self._recovery: orders.Recover | None = None
        self._is_closed = False
        self._is_cancelled = False
        self._ticker = threading.Thread(target=self._tick, name="penstock checkpoint ticker", daemon=True)
        self._ticker.start()

    def _claim(self, job: Job) -> int | None:
        """Own the snapshot that the job starts from, if it is to; return its id."""
        if self._start is None or job.claim_mode is not RecoveryClaimMode.CLAIM:
            return None
        metadata = self._start[0]
        self._store.claim(str(job.restore_path), metadata)
        return metadata.checkpoint_id

    # -- attempts

    def access(self, recover_from: int | None) -> CheckpointAccess:
        """Return what the tasks of the next attempt need: the storage, and the state to start with."""
        found = self._start if recover_from is None else self._store.load(recover_from)
        takes_checkpoints = self._settings.interval is not None
        if found is None:
            return CheckpointAccess(self._access, takes_checkpoints)
        metadata, files = found
        plan = plan_restore(
            metadata,
            vertex_operators(self._job.plan),
            self._infos,
            allow_non_restored_state=self._job.allows_non_restored_state,
        )
        level = logging.INFO if recover_from is not None else logging.WARNING
        source = self._job.restore_path if recover_from is None else f"checkpoint {recover_from}"
        _log.log(level, "job %r starts from %s\n%s", self._job.name, source, plan.describe())
        path = str(self._job.restore_path) if recover_from is None else self._store.path_of(recover_from)
        self._history.restored_from(
            metadata.checkpoint_id, path, self._clock.now(), is_savepoint=metadata.kind.is_savepoint
        )
        return CheckpointAccess(
            self._access,
            takes_checkpoints,
            metadata.checkpoint_id,
            plan.states,
            files,
            is_own=recover_from is not None and recover_from != self._claimed,
            shared_savepoint=metadata.shared_kind(self._job.claim_mode) if recover_from is None else None,
        )

    def attempt_begins(
        self, server: ControlServer, fail: Callable[[str], None], is_given_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Take note of a new attempt, with the line to its tasks and the way to make it fail.

        ``is_given_up`` tells whether this driver has stood still for so long that somebody else may run the job: then
        nothing is completed any more.
        """
        with self._changed:
            self._is_given_up = is_given_up
            self._server = server
            self._fail = fail
            self._coordinator.job_started(subtask_inputs(self._job.plan))

    def tasks_running(self) -> None:
        """Take note that all tasks of the attempt run."""
        with self._changed:
            self._coordinator.tasks_running(self._clock.elapsed())
            self._changed.notify_all()

    def attempt_failed(self) -> int | None:
        """Take note that the attempt is over; return the checkpoint to restart from as soon as that is certain."""
        self.answer_stop(has_stopped=False)
        self._recovery = None
        self._event(self._coordinator.job_failed)
        with self._changed:
            # An undecided publication is waited for, however long: the job must not go back behind a checkpoint that is
            # complete. The storage thread says so in the log; only somebody who cancels the job ends the wait.
            self._changed.wait_for(lambda: self._recovery is not None or self._is_cancelled)
            return None if self._recovery is None else self._recovery.checkpoint_id

    def read(self, what: str, call: Callable[[], T]) -> T | None:
        """Return what is read from storage, ``None`` where the job was cancelled before storage had answered."""
        pending = self._storage.submit(what, call)
        while not pending.is_done.wait(_LOOK_SECONDS):
            if self._is_cancelled:
                return None
        return pending.result()

    def cancel(self) -> None:
        """Take note that the job is cancelled: nobody waits for storage any longer than the job allows."""
        with self._changed:
            self._is_cancelled = True
            self._changed.notify_all()

    def waiting_for(self) -> tuple[str, float] | None:
        """Return what storage has not answered yet, and for how many seconds."""
        return self._storage.waiting_for()

    def drop_damaged(self, checkpoint_id: int, damage: CorruptCheckpointError) -> bool:
        """Restart from an older checkpoint than one that cannot be read; tell whether there is one."""
        with self._changed:
            older = self._coordinator.checkpoint_damaged(checkpoint_id)
        if older is None:
            return False
        _log.error(
            "job %r: checkpoint %d cannot be used: %s %s. The job goes back to checkpoint %d; sinks get again what they"
            " were given since then.",
            self._job.name,
            checkpoint_id,
            damage.file,
            damage.problem,
            older,
        )
        return True

    def on_message(self, message: Any) -> bool:
        """Take what a task says; tell whether it was about checkpoints."""
        match message:
            case Acknowledged(subtask=subtask, checkpoint_id=checkpoint_id, state=state):
                self._history.acknowledged(checkpoint_id, subtask, state.stored(), self._clock.now())
                self._event(lambda now: self._coordinator.acknowledge(subtask, checkpoint_id, state, now))
            case Declined(subtask=subtask, checkpoint_id=checkpoint_id, reason=reason, is_failure=is_failure):
                self._event(
                    lambda now: self._coordinator.decline(subtask, checkpoint_id, reason, now, is_failure=is_failure)
                )
            case SubtaskFinished(subtask=subtask):
                self._event(lambda now: self._coordinator.task_finished(subtask, now))
            case _:
                return False
        return True

    # -- savepoints

    def checkpoint(self, *, is_full: bool) -> CompletableFuture[int]:
        """Take a checkpoint now and return the future of its number; a full one shares no file with earlier ones."""
        future: CompletableFuture[int] = CompletableFuture()
        if self._settings.interval is None:
            message = (
                "The job takes no checkpoints; set execution.checkpointing.interval (enable_checkpointing), or take a"
                " savepoint."
            )
            future.complete_exceptionally(CheckpointError(message))
            return future
        with self._changed:
            actions = self._coordinator.checkpoint_requested(self._clock.elapsed(), is_full=is_full)
            begun = [
                action.checkpoint_id for action in actions if isinstance(action, orders.Trigger | orders.StoreMetadata)
            ]
            if begun:
                self._wanted[begun[0]] = future
            else:
                future.complete_exceptionally(CheckpointError("The job is not running, or is about to end."))
            self._perform(actions)
            self._changed.notify_all()
        return future

    def savepoint(
        self, directory: str | None, *, stop: bool = False, drain: bool = False, cancel: bool = False
    ) -> CompletableFuture[str]:
        """Take a savepoint and return the future of its path; with ``stop`` it is done when the job has ended.

        With ``cancel`` no checkpoint begins behind it: the job is about to be cancelled.
        """
        future: CompletableFuture[str] = CompletableFuture()
        try:
            location = self._access.new_savepoint_directory(directory)
            try_savepoint_directory(self._access, posixpath.dirname(location))
        except CheckpointError as error:
            future.complete_exceptionally(error)
            return future
        self._savepoints[location] = future
        self._event(
            lambda now: self._coordinator.savepoint_requested(
                location, now, location=location, stop=stop, drain=drain, cancel=cancel
            )
        )
        return future

    # -- the end

    def answer_stop(self, *, has_stopped: bool) -> None:
        """Tell who stopped the job with a savepoint that it has come to its end, or has failed on its way there."""
        with self._changed:
            stopping, self._stopping = self._stopping, None
        if stopping is None:
            return
        future, path = stopping
        if has_stopped:
            future.complete(path)
        else:
            problem = f"The savepoint {path} was taken, but then the job did not come to its end: see its result."
            future.complete_exceptionally(CheckpointError(problem))

    def close(self, end: Literal["finished", "cancelled", "failed"]) -> None:
        """End everything; keeps or deletes checkpoints as the job's retention says."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._settings.interval is not None:
            self._clean("cleaning up", self._clean_up, end)
        is_done = self._storage.close(self._patience)
        for future in self._savepoints.values():
            future.complete_exceptionally(CheckpointError("The job ended before the savepoint was taken."))
        for wanted in self._wanted.values():
            wanted.complete_exceptionally(CheckpointError("The job ended before the checkpoint was complete."))
        if not is_done:
            what, seconds = self._storage.waiting_for() or ("cleaning up", 0.0)
            _log.error(
                "job %r ends although the checkpoint storage does not answer: %s has taken %.0f s so far, and what"
                " comes of it is not known. Look into the directory of the checkpoints before the job is started again:"
                " a checkpoint is complete if its file _metadata is there. Nothing is cleaned up.",
                self._job.name,
                what,
                seconds,
            )

    def _clean_up(self, end: Literal["finished", "cancelled", "failed"]) -> None:
        if is_kept_after(end, self._job.checkpoints.get_externalized_checkpoint_retention()):
            kept = [self._store.path_of(each) for each in self._coordinator.retained]
            _log.info("job %r: checkpoints kept: %s", self._job.name, ", ".join(filter(None, kept)) or "none")
        else:
            self._store.delete_all()
            # One that a job could not even start from is left for those who look into it.
            if self._claimed in self._coordinator.retained and end != "failed":
                self._quietly(self._store.delete, self._claimed)

    # -- events and actions

    def _event(self, event: Callable[[int], list[orders.Action]]) -> None:
        with self._changed:
            self._perform(event(self._clock.elapsed()))
            self._changed.notify_all()

    def _tick(self) -> None:
        with self._changed:
            while not self._is_closed:
                due = self._coordinator.next_tick()
                now = self._clock.elapsed()
                if due is None or due > now:
                    self._changed.wait(None if due is None else (due - now) / 1000)
                else:
                    self._perform(self._coordinator.tick(now))

    def _perform(self, actions: list[orders.Action]) -> None:
        for action in actions:
            match action:
                case orders.Trigger(checkpoint_id=checkpoint_id, options=options):
                    self._history.begun(checkpoint_id, options)
                    self._trigger(action)
                case orders.StoreMetadata(checkpoint_id=checkpoint_id, options=options):
                    self._history.begun(checkpoint_id, options)
                    if action.options.kind is CheckpointKind.FINAL:
                        self._store.begin(action.checkpoint_id)  # it may have no trigger
                    what = f"storing the metadata of checkpoint {action.checkpoint_id}"
                    self._storage.submit(what, partial(self._publish, action))
                case orders.NotifyComplete(checkpoint_id=checkpoint_id):
                    self._tell_all(CompleteCheckpoint(checkpoint_id))
                case orders.Abort(checkpoint_id=checkpoint_id, reason=reason):
                    _log.warning("job %r: checkpoint %d is given up: %s", self._job.name, checkpoint_id, reason)
                    self._history.given_up(checkpoint_id, reason, self._clock.now())
                    self._tell_all(AbortCheckpoint(checkpoint_id))
                case orders.Delete(checkpoint_id=checkpoint_id):
                    self._history.deleted(checkpoint_id, self._clock.now())
                    self._answer_wanted(checkpoint_id, is_complete=False)
                    self._clean(f"deleting checkpoint {checkpoint_id}", self._store.delete, checkpoint_id)
                case orders.Discard(checkpoint_id=checkpoint_id, state=state):
                    what = f"deleting state of checkpoint {checkpoint_id}, which is given up,"
                    self._clean(what, self._store.discard, checkpoint_id, state)
                case orders.SavepointDone(request=request, checkpoint_id=checkpoint_id, is_stop=is_stop):
                    future, path = self._savepoints.pop(str(request)), self._store.path_of(checkpoint_id)
                    if is_stop:
                        self._stopping = (future, path)
                    else:
                        future.complete(path)
                case orders.SavepointFailed(request=request, reason=reason):
                    self._clean(f"deleting the savepoint {request}", self._store.delete_failed_savepoint, str(request))
                    self._savepoints.pop(str(request)).complete_exceptionally(CheckpointError(reason))
                case orders.Recover():
                    self._recovery = action
                case orders.FailJob(reason=reason):
                    if self._fail is not None:
                        self._fail(reason)
                case orders.FinishJob():
                    self._tell_all(Release())

    def _trigger(self, action: orders.Trigger) -> None:
        self._store.begin(action.checkpoint_id)
        by_task: dict[tuple[int, int], list[int]] = {}
        tasks: tuple[tuple[int, int], ...] = action.tasks  # type: ignore[assignment]
        for vertex, index in tasks:
            by_task.setdefault((self._job.plan.vertices[vertex].stage, index), []).append(vertex)
        if self._server is not None:
            for key, vertices in by_task.items():
                self._server.send(key, TriggerCheckpoint(action.checkpoint_id, action.options, tuple(vertices)))

    def _tell_all(self, message: Any) -> None:
        if self._server is not None:
            self._server.send_all(message)

    def _publish(self, action: orders.StoreMetadata) -> None:
        checkpoint_id = action.checkpoint_id
        try:
            self._check_not_given_up()
            metadata = CheckpointMetadata.of(self._job.id, action, self._infos)
            self._store.publish(metadata, action.options)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self._event(lambda now: self._coordinator.store_failed(checkpoint_id, reason, now))
        else:
            self._history.done(checkpoint_id, self._store.path_of(checkpoint_id), self._clock.now())
            self._answer_wanted(checkpoint_id, is_complete=True)
            self._event(lambda now: self._coordinator.stored(checkpoint_id, now))

    def _check_not_given_up(self) -> None:
        if self._is_given_up():
            message = "the driver did not run for longer than heartbeat.timeout, and somebody else may run the job"
            raise CheckpointError(message)

    def _clean(self, what: str, call: Callable[..., None], *arguments: Any) -> None:
        self._storage.submit(what, lambda: self._quietly(call, *arguments))

    def _answer_wanted(self, checkpoint_id: int, *, is_complete: bool) -> None:
        future = self._wanted.pop(checkpoint_id, None)
        if future is None:
            return
        if is_complete:
            future.complete(checkpoint_id)
        else:
            facts = self._history.get(checkpoint_id)
            reason = "it is not known why" if facts is None else facts.failure
            future.complete_exceptionally(CheckpointError(f"Checkpoint {checkpoint_id} was given up: {reason}"))

    def _quietly(self, call: Callable[..., None], *arguments: Any) -> None:
        try:
            call(*arguments)
        except OSError as error:
            _log.warning("job %r: files of a checkpoint could not be removed: %s", self._job.name, error)
