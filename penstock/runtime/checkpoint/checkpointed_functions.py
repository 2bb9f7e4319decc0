"""How functions of the program take part in checkpoints: ``CheckpointedFunction`` and ``CheckpointListener``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.vocabulary.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)

if TYPE_CHECKING:
    from penstock.vocabulary.functions.contexts import KeyedStateStore
    from penstock.vocabulary.state.handles import OperatorStateStore

__all__ = ["initialize_function", "notify_aborted", "notify_complete", "snapshot_function"]


class _InitializationContext(FunctionInitializationContext):
    """What a function sees before it is opened."""

    def __init__(self, restored: int | None, own: OperatorStateStore, keyed: KeyedStateStore) -> None:
        self._restored = restored
        self._own = own
        self._keyed = keyed

    def is_restored(self) -> bool:
        """Tell whether the function starts from a checkpoint or savepoint."""
        return self._restored is not None

    def get_restored_checkpoint_id(self) -> int | None:
        """Return the id of the restored checkpoint."""
        return self._restored

    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of state that belongs to the subtask."""
        return self._own

    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys."""
        return self._keyed


class _SnapshotContext(FunctionSnapshotContext):
    """What a function sees when a checkpoint is taken."""

    def __init__(self, checkpoint_id: int, timestamp: int) -> None:
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        """Return the id of the checkpoint."""
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """Return when the checkpoint was triggered."""
        return self._timestamp


def initialize_function(
    function: Any, *, restored_checkpoint_id: int | None, operator_state: OperatorStateStore, keyed: KeyedStateStore
) -> None:
    """Let a function get and read its state; called once, before ``open``, with restored state in place."""
    if isinstance(function, CheckpointedFunction):
        function.initialize_state(_InitializationContext(restored_checkpoint_id, operator_state, keyed))


def snapshot_function(function: Any, checkpoint_id: int, timestamp: int) -> None:
    """Let a function bring its state up to date; called before the state of its operator is frozen."""
    if isinstance(function, CheckpointedFunction):
        function.snapshot_state(_SnapshotContext(checkpoint_id, timestamp))


def notify_complete(function: Any, checkpoint_id: int) -> None:
    """Tell a function that a checkpoint is complete."""
    if isinstance(function, CheckpointListener):
        function.notify_checkpoint_complete(checkpoint_id)


def notify_aborted(function: Any, checkpoint_id: int) -> None:
    """Tell a function that a checkpoint was given up."""
    if isinstance(function, CheckpointListener):
        function.notify_checkpoint_aborted(checkpoint_id)
