"""Takes the snapshots of one subtask: frozen between two records, stored in the background, then acknowledged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from penstock.checkpoint.subtask_state import OperatorState, SubtaskState
from penstock.foundation.failure_context import noting
from penstock.foundation.keys.groups import key_group_range
from penstock.runtime.checkpoint.barriers import Snapshots, barrier
from penstock.runtime.checkpoint.checkpointed_functions import notify_aborted, notify_complete, snapshot_function
from penstock.statestore.stored_operator_state import StoredOperatorState
from penstock.statestore.value_codec import store_value
from penstock.vocabulary.settings.modes import CheckpointKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.runtime.checkpoint.recording import Recording
    from penstock.runtime.operators.operator import Operator
    from penstock.runtime.task.chain import Chain
    from penstock.statestore.backend import StateSnapshot
    from penstock.statestore.handles import SnapshotTarget, StoredBytes
    from penstock.statestore.operator_state import OperatorStateSnapshot

__all__ = ["CheckpointLink", "SubtaskSnapshots", "TaskId"]

TaskId = tuple[int, int]
"""The vertex and the index of a subtask."""


class CheckpointLink(Protocol):
    """How a task reaches the coordinator and the checkpoint storage."""

    def target(self, checkpoint_id: int, options: CheckpointOptions, task: TaskId) -> SnapshotTarget:
        """Return where a subtask stores its snapshot."""

    def last_target(self, task: TaskId) -> SnapshotTarget:
        """Return where a subtask that has finished stores its state; all later checkpoints may refer to it."""

    def in_background(self, call: Callable[[], None]) -> None:
        """Run the asynchronous part of a snapshot."""

    def acknowledge(self, task: TaskId, checkpoint_id: int, state: SubtaskState) -> None:
        """Say that a snapshot is durable."""

    def decline(self, task: TaskId, checkpoint_id: int, reason: str, *, is_failure: bool) -> None:
        """Say that a snapshot will not come."""

    def finished(self, task: TaskId) -> None:
        """Say that a subtask has processed all its input."""


@dataclass
class _Frozen:
    """The synchronous part of an operator's snapshot."""

    operator_id: str
    keyed: StateSnapshot | None
    operator: OperatorStateSnapshot | None
    own: bytes | None
    subtask: int

    def store(self, target: SnapshotTarget) -> OperatorState:
        keyed = () if self.keyed is None else (self.keyed.store(target, self.operator_id),)
        operator = None if self.operator is None else StoredOperatorState.encode(self.operator, self.subtask)
        return OperatorState(keyed, operator, () if self.own is None else (self._store_own(target),))

    def _store_own(self, target: SnapshotTarget) -> StoredBytes:
        output = target.create(f"{self.operator_id}-own")
        output.write(self.own or b"")
        return output.finish()


class SubtaskSnapshots(Snapshots):
    """The snapshots of one chain."""

    def __init__(self, task: TaskId, chain: Chain, link: CheckpointLink) -> None:
        self._task = task
        self._chain = chain
        self._link = link
        self._incomplete: dict[int, tuple[list[_Frozen], CheckpointOptions]] = {}
        self._newest = -1
        self._suspended_by: int | None = None

    @property
    def is_suspended(self) -> bool:
        """Tell whether the job stops with a savepoint from which it will go on: its input then does not end here."""
        return self._suspended_by is not None

    def take(self, checkpoint_id: int, options: CheckpointOptions, *, has_recording: bool) -> None:
        """Freeze the state and send the barrier on; the subtask goes on while the rest is stored."""
        frozen = self._freeze(checkpoint_id, options.timestamp)
        self._newest = checkpoint_id
        if options.kind is CheckpointKind.STOP and not options.is_draining:
            self._suspended_by = checkpoint_id
        self._chain.broadcast(barrier(checkpoint_id, options))
        self._chain.flush()
        if has_recording:
            self._incomplete[checkpoint_id] = (frozen, options)
        else:
            self._store(checkpoint_id, options, frozen)

    def take_last(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Take part in a checkpoint after the end; nothing will come behind this state."""
        if checkpoint_id > self._newest:
            self._newest = checkpoint_id
            self._store(checkpoint_id, options, self._freeze(checkpoint_id, options.timestamp), is_last=True)

    def complete(self, checkpoint_id: int, recorded: Recording) -> None:
        """Store a snapshot together with what its barrier has overtaken."""
        waiting = self._incomplete.pop(checkpoint_id, None)
        if waiting is not None:
            frozen, options = waiting
            self._store(checkpoint_id, options, frozen, recorded)

    def decline(self, checkpoint_id: int, reason: str) -> None:
        """Give a checkpoint up that a newer one has overtaken."""
        self._forget(checkpoint_id)
        self._link.decline(self._task, checkpoint_id, reason, is_failure=False)

    def aborted(self, checkpoint_id: int) -> None:
        """Take note that the coordinator has given a checkpoint up."""
        self._forget(checkpoint_id)
        if self._suspended_by == checkpoint_id:
            self._suspended_by = None
        for operator in self._chain.operators:
            noting(operator, operator.notify_aborted)(checkpoint_id)
            noting(operator, notify_aborted)(operator.function, checkpoint_id)

    def completed(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint is complete."""
        for operator in self._chain.operators:
            noting(operator, operator.notify_complete)(checkpoint_id)
            noting(operator, notify_complete)(operator.function, checkpoint_id)

    def finish(self) -> None:
        """Say that the input has ended, behind the answers to the checkpoints before."""
        self._link.in_background(lambda: self._link.finished(self._task))

    def _freeze(self, checkpoint_id: int, timestamp: int) -> list[_Frozen]:
        for operator in self._chain.operators:
            operator.context.checkpoint_timestamp = timestamp
            noting(operator, operator.prepare_snapshot)(checkpoint_id)
        return [
            noting(operator, self._freeze_operator)(operator, checkpoint_id, timestamp)
            for operator in self._chain.operators
        ]

    @staticmethod
    def _freeze_operator(operator: Operator, checkpoint_id: int, timestamp: int) -> _Frozen:
        context = operator.context
        snapshot_function(operator.function, checkpoint_id, timestamp)
        own: Any = operator.snapshot(checkpoint_id)
        info = context.info
        keyed, timers = None, operator.snapshot_timers()
        # A step on a keyed stream that keeps nothing has no state that somebody would miss.
        if context.state is not None and (timers or not context.state.is_empty):
            groups = key_group_range(info.index, info.parallelism, info.max_parallelism)
            keyed = context.state.snapshot(groups, info.max_parallelism, timers)
        return _Frozen(
            context.operator_id,
            keyed,
            context.operator_state.snapshot() or None,
            None if own is None else store_value(own),
            info.index,
        )

    def _store(
        self,
        checkpoint_id: int,
        options: CheckpointOptions,
        frozen: list[_Frozen],
        recorded: Recording | None = None,
        *,
        is_last: bool = False,
    ) -> None:
        is_shared = is_last and not options.kind.is_savepoint

        def store() -> None:
            try:
                link, task = self._link, self._task
                target = link.last_target(task) if is_shared else link.target(checkpoint_id, options, task)
                state = _stored(frozen, target, recorded)
            except Exception as error:  # a checkpoint that fails must not take the job with it
                self._link.decline(self._task, checkpoint_id, f"{type(error).__name__}: {error}", is_failure=True)
                return
            self._link.acknowledge(self._task, checkpoint_id, state)

        self._link.in_background(store)

    def _forget(self, checkpoint_id: int) -> None:
        frozen, _ = self._incomplete.pop(checkpoint_id, ([], None))
        _discard(frozen)


def _discard(frozen: list[_Frozen]) -> None:
    """Give up what was frozen and not stored; what was stored already is not touched."""
    for part in frozen:
        if part.keyed is not None:
            part.keyed.discard()


def _stored(frozen: list[_Frozen], target: SnapshotTarget, recorded: Recording | None = None) -> SubtaskState:
    try:
        operators = {part.operator_id: part.store(target) for part in frozen}
    except BaseException:
        _discard(frozen)
        raise
    if not recorded:
        return SubtaskState(operators)
    output = target.create("in-flight")
    output.write(recorded.encode())
    return SubtaskState(operators, output.finish())
