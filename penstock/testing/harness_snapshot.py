"""Snapshots of an operator in a harness, from which other harnesses start, also with another parallelism."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import OperatorInfo, OperatorMetadata
from penstock.checkpoint.rescaling import redistribute_operator
from penstock.checkpoint.snapshot_storage import MemoryTarget, StoredFiles
from penstock.checkpoint.subtask_state import OperatorState, SubtaskState
from penstock.errors import CheckpointError, ProgramError
from penstock.foundation.files.local import local_files_of
from penstock.runtime.checkpoint.restoring import RestoredSubtask

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.runtime.checkpoint.subtask_snapshots import TaskId
    from penstock.runtime.task.context import SubtaskInfo
    from penstock.statestore.handles import SnapshotTarget

__all__ = ["HarnessLink", "HarnessSnapshot", "restored_from"]

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class HarnessSnapshot:
    """What one subtask of an operator had stored: keyed state, timers, operator state and the operator's own.

    Attributes:
        checkpoint_id: The number of the checkpoint.
        timestamp: The time of the harness's clock at which it was taken.
        subtask: The subtask whose snapshot it is.
        parallelism: How many subtasks there were.
        max_parallelism: The number of key groups.
    """

    checkpoint_id: int
    timestamp: int
    subtask: int
    parallelism: int
    max_parallelism: int
    state: OperatorState

    @property
    def size(self) -> int:
        """Return how many bytes the keyed state and the operator's own take."""
        files = [stored for handle in self.state.keyed for _, stored in handle.files]
        return sum(stored.size for stored in (*files, *self.state.own))


class HarnessLink:
    """How the subtask of a harness takes part in checkpoints: it stores at once, in memory."""

    def __init__(self) -> None:
        self._stored: dict[int, SubtaskState] = {}
        self._refusals: dict[int, str] = {}

    def target(self, checkpoint_id: int, options: CheckpointOptions, task: TaskId) -> SnapshotTarget:
        """Return a place in memory."""
        target = MemoryTarget(_NO_LIMIT)
        target.is_savepoint = options.kind.is_savepoint
        return target

    def last_target(self, task: TaskId) -> SnapshotTarget:
        """Return a place in memory."""
        return MemoryTarget(_NO_LIMIT)

    def in_background(self, call: Callable[[], None]) -> None:
        """Do it at once."""
        call()

    def acknowledge(self, task: TaskId, checkpoint_id: int, state: SubtaskState) -> None:
        """Keep a snapshot."""
        self._stored[checkpoint_id] = state

    def decline(self, task: TaskId, checkpoint_id: int, reason: str, *, is_failure: bool) -> None:
        """Keep the reason why there is no snapshot."""
        self._refusals[checkpoint_id] = reason

    def finished(self, task: TaskId) -> None:
        """Do nothing: a harness asks for the state after the end when it wants it."""

    def take(self, checkpoint_id: int, operator_id: str) -> OperatorState:
        """Return what a checkpoint has stored.

        Raises:
            CheckpointError: The snapshot failed.
        """
        state = self._stored.pop(checkpoint_id, None)
        if state is None:
            reason = self._refusals.pop(checkpoint_id, "the operator has not answered")
            message = f"The snapshot {checkpoint_id} was not taken: {reason}."
            raise CheckpointError(message)
        return state.operators[operator_id]


def restored_from(
    snapshots: Sequence[HarnessSnapshot], operator_id: str, info: SubtaskInfo, *, shares_own_state: bool
) -> RestoredSubtask:
    """Return what a subtask starts with, from the snapshots of all former subtasks.

    Raises:
        ProgramError: Snapshots are missing, or do not belong together.
        StateRestoreError: The max parallelism is another one.
    """
    first = snapshots[0]
    found = {snapshot.subtask: snapshot for snapshot in snapshots}
    alike = {(each.checkpoint_id, each.parallelism, each.max_parallelism) for each in snapshots}
    if len(alike) > 1 or len(found) < len(snapshots) or sorted(found) != list(range(first.parallelism)):
        have = ", ".join(f"{each.subtask + 1}/{each.parallelism} of {each.checkpoint_id}" for each in snapshots)
        message = (
            f"A harness is restored from one checkpoint of all former subtasks, but got the snapshots {have}."
            " Give each of them the same checkpoint_id, and restore from a list of all of them."
        )
        raise ProgramError(message)
    former = OperatorInfo(info.name, first.parallelism, first.max_parallelism, shares_own_state)
    metadata = OperatorMetadata(former, {number: snapshot.state for number, snapshot in found.items()})
    wanted = OperatorInfo(info.name, info.parallelism, info.max_parallelism, shares_own_state)
    state = redistribute_operator(operator_id, metadata, wanted)[info.index]
    files = StoredFiles(*local_files_of("."))
    return RestoredSubtask(first.checkpoint_id, SubtaskState({operator_id: state}), files)
