"""Takes checkpoints: a pure state machine without I/O, threads or a clock. Events go in, actions come out.

Why every record counts exactly once
------------------------------------

*A checkpoint is a consistent cut.* Sources note their positions and send a barrier; every task takes its snapshot
when the barriers of all its channels have come (:mod:`penstock.checkpoint.alignment`). The snapshots of all tasks
together hold the effect of exactly the records in front of the barriers: no record is in the state of one task and
behind the position of a source. A task whose input has ended is asked for its snapshot as well; the end of its
channels stands for all later barriers. Once such a snapshot is part of a complete checkpoint nothing changes any more,
and it stands in all later ones.

*It is complete or it does not exist.* A checkpoint is complete when every task has acknowledged a durable snapshot
(or has finished) and the metadata that lists them is published, which is one atomic step. Before that step nobody can
restore from it; after it everybody can, whatever dies. This is the commit point. Only then are the tasks notified,
and only then do sinks commit.

*Recovery starts from the newest complete checkpoint,* and never while the publication of a newer one is undecided:
``Recover`` waits for ``stored`` or ``store_failed``. Sources go back to their positions in it, so what came after it
is read again into a state that has not seen it. Output that was not committed is part of no complete checkpoint and
is rolled back; output that belongs to the restored checkpoint is committed (again): between the publication and the
commit of a sink may lie any number of crashes, and committing is idempotent. Hence state and committed output both
contain each record once.

*Nothing that is needed is deleted.* Older checkpoints go only after a newer one is published. Ids only grow, also
over restarts, and messages about a checkpoint that is not pending are ignored, so nothing of an earlier attempt can
complete a checkpoint of this one.

*Savepoints* are the same cuts, but belong to the user: they are not deleted, not counted as retained, not recovered
from, and, as the job may go back to an older checkpoint afterwards, sinks do not commit with them. The one exception
is the savepoint of a stopping job, behind which no record follows.

*The end of bounded input.* When all tasks have finished, their snapshots are a consistent cut without any barrier.
They become a final checkpoint, with a number and a time like all others, and its completion lets sinks commit the rest.
A job can ask for no checkpoints after a task has finished; it then ends without a final one, and the rest stays
uncommitted.

What the tasks must keep
------------------------

A task acknowledges or declines every checkpoint whose snapshot it took before it reports that it has finished, and a
finished task stays until ``FinishJob``, because it may still have to commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.coordinator_messages import (
    Abort,
    Action,
    CoordinatorSettings,
    Delete,
    Discard,
    FailJob,
    FinishJob,
    NotifyComplete,
    Recover,
    SavepointDone,
    SavepointFailed,
    StoreMetadata,
    TaskId,
    Trigger,
)
from penstock.checkpoint.options import CheckpointOptions
from penstock.vocabulary.settings.modes import CheckpointKind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

__all__ = ["CheckpointCoordinator"]


@dataclass
class _Pending:
    """A checkpoint under way."""

    options: CheckpointOptions
    awaited: set[TaskId]
    states: dict[TaskId, Any]
    finished: set[TaskId]
    inherited: frozenset[TaskId]
    """The tasks whose states earlier checkpoints hold as well."""
    begun: int
    """When it was triggered, by the clock of the events."""
    request: Hashable = None
    is_storing: bool = False
    """Whether all tasks have acknowledged and the metadata is being published."""
    is_last: bool = False
    """Whether the job ends with it, so that no other one begins."""


@dataclass
class _Attempt:
    """One run of the job's tasks."""

    inputs: dict[TaskId, frozenset[TaskId]]
    finished: set[TaskId] = field(default_factory=set)
    """The tasks that have processed all their input."""
    last: dict[TaskId, Any] = field(default_factory=dict)
    """Of those, the states that a complete checkpoint holds: nothing comes behind them, and nobody is asked again."""
    is_running: bool = False
    """Whether all tasks have started."""
    is_stopping: bool = False
    """Whether the job's last checkpoint is under way or done: no other one begins."""

    @property
    def is_finished(self) -> bool:
        """Tell whether all input is processed."""
        return len(self.finished) == len(self.inputs)

    def may_begin(self, *, after_tasks_finish: bool) -> bool:
        """Tell whether a checkpoint can begin: without one after tasks finish, all tasks must run."""
        return after_tasks_finish or not self.finished

    def heads(self) -> list[TaskId]:
        """Return the running tasks that no barrier will reach: sources, and tasks whose inputs have all finished."""
        done = self.finished
        return [task for task, inputs in self.inputs.items() if task not in done and inputs <= done]


class CheckpointCoordinator:
    """Decides when checkpoints begin, when they are complete or given up, and what the job restarts from.

    Every event returns the actions to perform, in order. All times are milliseconds of one clock that never goes
    back.

    Args:
        settings: When checkpoints are taken.
        next_id: The id of the next checkpoint; greater than that of the checkpoint the job was started from.
        name_of: How reasons name a task.
        claimed: The id of the checkpoint that the job was started from, if it owns it now.
        time_of_day: What checkpoints are dated by; otherwise the time of the event that begins them.
    """

    def __init__(
        self,
        settings: CoordinatorSettings,
        next_id: int = 1,
        name_of: Callable[[TaskId], str] = str,
        *,
        claimed: int | None = None,
        time_of_day: Callable[[], int] | None = None,
    ) -> None:
        self._settings = settings
        self._time_of_day = time_of_day
        self._name_of = name_of
        self._next_id = next_id
        self._attempt: _Attempt | None = None
        self._pending: dict[int, _Pending] = {}
        self._claimed = claimed
        self._retained: list[int] = [] if claimed is None else [claimed]
        self._recoverable: int | None = None
        self._failures_in_a_row = 0
        self._due: int | None = None
        self._last_end: int | None = None
        self._is_recovering = False
        self._interval = None if settings.interval is None else max(settings.interval, settings.min_pause)
        # A pause between checkpoints leaves no room for two at a time.
        self._max_concurrent = 1 if settings.min_pause > 0 else settings.max_concurrent

    @property
    def retained(self) -> tuple[int, ...]:
        """Return the complete checkpoints that exist, the oldest first."""
        return tuple(self._retained)

    @property
    def pending(self) -> Mapping[int, CheckpointOptions]:
        """Return the checkpoints under way."""
        return {checkpoint_id: pending.options for checkpoint_id, pending in self._pending.items()}

    def next_tick(self) -> int | None:
        """Return when ``tick`` has something to do, unless another event comes first."""
        times = [self._expiry(pending) for pending in self._pending.values() if not pending.is_storing]
        trigger = self._next_trigger()
        return min(times if trigger is None else [*times, trigger], default=None)

    def job_started(self, inputs: Mapping[TaskId, Iterable[TaskId]]) -> None:
        """Take note of a new run of the job; ``inputs`` lists its tasks and, for each, those it receives from."""
        self._attempt = _Attempt({task: frozenset(sources) for task, sources in inputs.items()})
        self._is_recovering = False
        self._last_end = None
        self._due = None

    def tasks_running(self, now: int) -> None:
        """Take note that all tasks have started: the first checkpoint is due after one interval."""
        if self._attempt is not None:
            self._attempt.is_running = True
            self._due = None if self._interval is None else now + self._interval

    def tick(self, now: int) -> list[Action]:
        """Give up what takes too long and begin what is due."""
        actions: list[Action] = []
        has_given_up = False
        for checkpoint_id, pending in list(self._pending.items()):
            if not pending.is_storing and now >= self._expiry(pending):
                has_given_up = has_given_up or pending.options.kind is not CheckpointKind.FINAL
                missing = ", ".join(sorted(map(self._name_of, pending.awaited))[:5])
                reason = f"it took longer than {self._settings.timeout} ms; no acknowledgement from {missing}"
                actions += self._give_up(checkpoint_id, reason, now, is_failure=True)
        if has_given_up:
            actions += self._finish_if_done(now)
        trigger = self._next_trigger()
        if trigger is not None and now >= trigger:
            self._due = None if self._interval is None else now + self._interval
            is_last = self._attempt is not None and self._attempt.is_finished
            actions += self._finish_if_done(now) if is_last else self._begin(CheckpointKind.PERIODIC, now)
        return actions

    def checkpoint_requested(self, now: int, *, is_full: bool = False) -> list[Action]:
        """Begin a checkpoint at once, whatever the interval says; a full one shares no file with earlier ones."""
        attempt = self._attempt
        if attempt is None or not attempt.is_running or attempt.is_stopping:
            return []
        if not attempt.may_begin(after_tasks_finish=self._settings.after_tasks_finish):
            return []
        return self._begin(CheckpointKind.PERIODIC, now, is_full=is_full)

    def savepoint_requested(
        self,
        request: Hashable,
        now: int,
        *,
        location: str | None = None,
        stop: bool = False,
        drain: bool = False,
        cancel: bool = False,
    ) -> list[Action]:
        """Begin a savepoint at once; ``stop`` ends the job with it, ``drain`` lets windows and timers fire first.

        With ``cancel`` the job is cancelled as soon as it is taken. Until then no checkpoint begins: sinks would commit
        what a job that starts from the savepoint gives them again.
        """
        attempt = self._attempt
        if attempt is None or not attempt.is_running or attempt.is_stopping or attempt.is_finished:
            return [SavepointFailed(request, "the job is not running, or is about to end")]
        if not attempt.may_begin(after_tasks_finish=self._settings.after_tasks_finish):
            return [SavepointFailed(request, _NOT_AFTER_TASKS_FINISH)]
        kind = CheckpointKind.STOP if stop else CheckpointKind.SAVEPOINT
        attempt.is_stopping = stop or cancel
        begun = self._begin(kind, now, request=request, location=location, is_draining=drain)
        self._pending[self._next_id - 1].is_last = stop or cancel
        return begun

    def acknowledge(self, task: TaskId, checkpoint_id: int, state: Any, now: int) -> list[Action]:
        """Take note that a task's snapshot is durable."""
        pending = self._pending.get(checkpoint_id)
        if pending is None or task not in pending.awaited:
            is_used = pending is not None or checkpoint_id in self._retained or checkpoint_id == self._recoverable
            return [] if is_used else [Discard(checkpoint_id, state)]
        pending.awaited.discard(task)
        pending.states[task] = state
        return self._store_if_acknowledged(checkpoint_id)

    def decline(
        self, task: TaskId, checkpoint_id: int, reason: str, now: int, *, is_failure: bool = True
    ) -> list[Action]:
        """Take note that a task will not acknowledge; ``is_failure`` is false where a newer checkpoint overtook it."""
        pending = self._pending.get(checkpoint_id)
        if pending is None or pending.is_storing:
            return []
        reason = f"{self._name_of(task)} declined it: {reason}"
        actions = self._give_up(checkpoint_id, reason, now, is_failure=is_failure)
        return actions if pending.options.kind is CheckpointKind.FINAL else actions + self._finish_if_done(now)

    def task_finished(self, task: TaskId, now: int) -> list[Action]:
        """Take note that a task has processed all its input; no barrier makes it answer any more, so it is asked."""
        attempt = self._attempt
        if attempt is None or task in attempt.finished:
            return []
        attempt.finished.add(task)
        actions: list[Action] = []
        for checkpoint_id, pending in list(self._pending.items()):
            is_too_late = not self._settings.after_tasks_finish and pending.options.kind is not CheckpointKind.STOP
            if task in pending.awaited and is_too_late:
                actions += self._give_up(checkpoint_id, _NOT_AFTER_TASKS_FINISH, now)
            elif task in pending.awaited:
                pending.finished.add(task)
                actions.append(Trigger(checkpoint_id, pending.options, (task,)))
        return actions + self._finish_if_done(now)

    def stored(self, checkpoint_id: int, now: int) -> list[Action]:
        """Take note that the metadata is published: the checkpoint is complete."""
        pending = self._pending.pop(checkpoint_id, None)
        if pending is None:
            return []
        kind = pending.options.kind
        actions: list[Action] = []
        if not kind.is_savepoint:
            self._last_end = now
            self._failures_in_a_row = 0
            if self._attempt is not None:
                self._attempt.last |= {task: pending.states[task] for task in pending.finished}
        if kind is CheckpointKind.SAVEPOINT:
            actions.append(SavepointDone(pending.request, checkpoint_id))
        elif self._recoverable is not None and checkpoint_id < self._recoverable:
            actions.append(Delete(checkpoint_id))  # a newer one was published first
        else:
            self._recoverable = checkpoint_id
            if not self._is_recovering:
                actions.append(NotifyComplete(checkpoint_id))
            actions += self._subsume(checkpoint_id, now)
            if kind is CheckpointKind.STOP:
                actions.append(SavepointDone(pending.request, checkpoint_id, is_stop=True))
            else:
                self._retained.append(checkpoint_id)
                actions += self._delete_surplus()
        return actions + self._after_storing(now)

    def store_failed(self, checkpoint_id: int, reason: str, now: int) -> list[Action]:
        """Take note that the metadata could not be published, and that it is certain not to be there."""
        if checkpoint_id not in self._pending:
            return []
        is_final = self._pending[checkpoint_id].options.kind is CheckpointKind.FINAL
        actions = self._give_up(checkpoint_id, f"its metadata could not be stored: {reason}", now, is_failure=True)
        return actions if is_final and not self._is_recovering else actions + self._after_storing(now)

    def job_failed(self, now: int) -> list[Action]:
        """Take note that the tasks are gone; say what to restart from as soon as that is certain."""
        if self._is_recovering:
            return self._after_storing(now)
        self._attempt = None
        self._is_recovering = True
        actions: list[Action] = []
        for checkpoint_id, pending in list(self._pending.items()):
            if not pending.is_storing:
                actions += self._give_up(checkpoint_id, "the job failed", now)
        return actions + self._after_storing(now)

    def checkpoint_damaged(self, checkpoint_id: int) -> int | None:
        """Take note that a checkpoint cannot be read; return the newest one that is left to restart from."""
        self._retained = [each for each in self._retained if each != checkpoint_id]
        self._recoverable = self._retained[-1] if self._retained else None
        return self._recoverable

    def _next_trigger(self) -> int | None:
        attempt = self._attempt
        if self._due is None or attempt is None or attempt.is_stopping:
            return None
        if not attempt.may_begin(after_tasks_finish=self._settings.after_tasks_finish):
            return None
        if len(self._pending) >= self._max_concurrent:
            return None
        pause_ends = self._due if self._last_end is None else self._last_end + self._settings.min_pause
        return max(self._due, pause_ends)

    def _expiry(self, pending: _Pending) -> int:
        return pending.begun + self._settings.timeout

    def _begin(
        self,
        kind: CheckpointKind,
        now: int,
        *,
        request: Hashable = None,
        location: str | None = None,
        is_draining: bool = False,
        is_full: bool = False,
    ) -> list[Action]:
        attempt = self._attempt
        if attempt is None:
            return []
        settings = self._settings
        options = CheckpointOptions(
            kind=kind,
            timestamp=now if self._time_of_day is None else self._time_of_day(),
            is_exactly_once=settings.is_exactly_once,
            is_unaligned=settings.is_unaligned and not kind.is_savepoint,
            aligned_timeout=settings.aligned_timeout,
            reusable=None if kind.is_savepoint or is_full else self._reusable(),
            is_draining=is_draining,
            location=location,
        )
        checkpoint_id = self._next_id
        self._next_id += 1
        self._pending[checkpoint_id] = _Pending(
            options=options,
            awaited=attempt.inputs.keys() - attempt.last.keys(),
            states=dict(attempt.last),
            finished=set(attempt.finished),
            inherited=frozenset(attempt.last),
            begun=now,
            request=request,
        )
        asked = (*attempt.heads(), *(task for task in attempt.inputs if task in attempt.finished - attempt.last.keys()))
        return [Trigger(checkpoint_id, options, asked)] if asked else self._store_if_acknowledged(checkpoint_id)

    def _reusable(self) -> int | None:
        """Return the checkpoint whose files the next one may share: one of this run."""
        own = [each for each in self._retained if each != self._claimed]
        return own[-1] if own else None

    def _store_if_acknowledged(self, checkpoint_id: int) -> list[Action]:
        pending = self._pending[checkpoint_id]
        if pending.awaited:
            return []
        pending.is_storing = True
        return [StoreMetadata(checkpoint_id, pending.options, pending.states, frozenset(pending.finished))]

    def _finish_if_done(self, now: int) -> list[Action]:
        """Let a job whose input is processed end, with a final checkpoint if it takes checkpoints at all."""
        attempt = self._attempt
        if attempt is None or not attempt.is_finished or self._pending:
            return []
        if self._interval is None or attempt.is_stopping or not self._settings.after_tasks_finish:
            return [FinishJob()]
        attempt.is_stopping = True
        return self._begin(CheckpointKind.FINAL, now)

    def _after_storing(self, now: int) -> list[Action]:
        """Go on with what had to wait for the end of a publication: recovery, or the end of the job."""
        if self._is_recovering:
            is_certain = not self._pending
            return [Recover(self._recoverable)] if is_certain else []
        return self._finish_if_done(now)

    def _subsume(self, checkpoint_id: int, now: int) -> list[Action]:
        """Give up checkpoints that are older than a complete one; savepoints are wanted for themselves."""
        actions: list[Action] = []
        for older, pending in list(self._pending.items()):
            if older < checkpoint_id and not pending.is_storing and not pending.options.kind.is_savepoint:
                actions += self._give_up(older, f"checkpoint {checkpoint_id} is complete", now)
        return actions

    def _delete_surplus(self) -> list[Action]:
        surplus = self._retained[: -self._settings.retained]
        self._retained = self._retained[-self._settings.retained :]
        return [Delete(checkpoint_id) for checkpoint_id in surplus]

    def _give_up(self, checkpoint_id: int, reason: str, now: int, *, is_failure: bool = False) -> list[Action]:
        pending = self._pending.pop(checkpoint_id)
        kind = pending.options.kind
        actions: list[Action] = [] if self._is_recovering else [Abort(checkpoint_id, reason)]
        actions.append(Delete(checkpoint_id))
        if kind.is_savepoint:
            actions.append(SavepointFailed(pending.request, reason))
            if pending.is_last and self._attempt is not None:
                self._attempt.is_stopping = False
                if pending.options.is_draining:
                    # Windows have fired as if the input had ended: the job cannot just read on.
                    actions.append(FailJob(f"the savepoint that was to drain it failed: {reason}"))
            return actions
        lost = (pending.finished & pending.states.keys()) - pending.inherited
        # What a finished task stored is not in the checkpoint's own directory, and it will be asked again.
        actions += [Discard(checkpoint_id, pending.states[task]) for task in sorted(lost, key=str)]
        self._last_end = now
        if is_failure and not self._is_recovering:
            self._failures_in_a_row += 1
            if kind is CheckpointKind.FINAL and self._attempt is not None:
                self._attempt.is_stopping = False  # the end of the job needs one that succeeds
                # The next one waits for its turn, instead of trying a full disk in a loop.
                self._due = now + (self._interval or 0)
            if self._failures_in_a_row > self._settings.tolerable_failures:
                actions.append(FailJob(_too_many(self._failures_in_a_row, self._settings.tolerable_failures, reason)))
                self._failures_in_a_row = 0
        return actions


_NOT_AFTER_TASKS_FINISH = (
    "a task has finished, and execution.checkpointing.checkpoints-after-tasks-finish.enabled is false"
)


def _too_many(failures: int, tolerable: int, reason: str) -> str:
    return (
        f"{failures} checkpoint(s) in a row failed, {tolerable} are tolerated. The last one: {reason}."
        " set_tolerable_checkpoint_failure_number() allows more."
    )
