"""Brings a subtask back to the state of a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import CheckpointError, StateRestoreError
from penstock.foundation.keys.groups import key_group_range
from penstock.runtime.checkpoint.replay import Replay
from penstock.statestore.value_codec import load_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.graph.partitioning import Partitioning
    from penstock.runtime.operators.operator import Operator
    from penstock.runtime.task.chain import Chain
    from penstock.runtime.task.context import SubtaskInfo
    from penstock.statestore.handles import StateFiles, StoredBytes
    from penstock.statestore.snapshot_format import Timer
    from penstock.vocabulary.settings.modes import CheckpointKind

__all__ = ["RestoredSubtask"]


@dataclass(frozen=True)
class RestoredSubtask:
    """The state a subtask starts with, and where its bytes are."""

    checkpoint_id: int
    state: SubtaskState
    files: StateFiles
    is_own: bool = False
    """Whether the checkpoint is one of this run of the job, whose files later checkpoints may refer to."""
    shared_savepoint: CheckpointKind | None = None
    """What kind of savepoint it is, if it stays the user's, so that other jobs may start from it as well."""

    def open_chain(self, chain: Chain, info: SubtaskInfo) -> None:
        """Put state in place, open the chain, then bring timers back: an operator has its timers once it is open."""
        timers = [self._restore(operator, info) for operator in chain.operators]
        chain.open()
        for operator, waiting in zip(chain.operators, timers, strict=True):
            if waiting:
                operator.restore_timers(waiting)

    def replay(self, operator: Operator, ways: Sequence[Partitioning]) -> Replay | None:
        """Return what an unaligned barrier had overtaken on its way to an operator with inputs of these ways."""
        context = operator.context
        in_flight = self.state.replayed.get(context.operator_id)
        return None if in_flight is None else Replay(in_flight, self.files, context.info, ways)

    def _restore(self, operator: Operator, info: SubtaskInfo) -> list[Timer]:
        context = operator.context
        context.restored_checkpoint_id = self.checkpoint_id
        context.shared_savepoint = self.shared_savepoint
        state = self.state.operators.get(context.operator_id)
        if state is None:
            return []
        name = f"{context.info.name} ({context.operator_id})"
        if state.operator is not None:
            context.operator_state.restore(state.operator.decode(name, self.files.classes))
        if state.own:
            operator.restore([self._own(own, name) for own in state.own])
        if context.state is None or not state.keyed:
            return []
        groups = key_group_range(info.index, info.parallelism, info.max_parallelism)
        own_checkpoint = self.checkpoint_id if self.is_own else None
        return context.state.restore_handles(state.keyed, self.files, groups, info.max_parallelism, own_checkpoint)

    def _own(self, stored: StoredBytes, operator: str) -> Any:
        try:
            return load_value(self.files.read(stored), self.files.classes)
        except CheckpointError:
            raise
        except Exception as error:
            problem = f"What the step keeps for itself cannot be read by this program: {error}."
            raise StateRestoreError(problem, operator) from error
