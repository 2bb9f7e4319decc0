"""Operator state and the life of checkpoints, as functions take part in them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.vocabulary.functions.contexts import KeyedStateStore
    from penstock.vocabulary.state.handles import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
]


class FunctionSnapshotContext(ABC):
    """Tells about the checkpoint being taken."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Return the id of the checkpoint; ids increase."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """Return when the checkpoint was triggered, in milliseconds since the epoch."""


class FunctionInitializationContext(ABC):
    """Gives access to state when a function starts, for the first time or again."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Return whether the function starts from a checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Return the id of the restored checkpoint, None on a fresh start."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Return the store of state that belongs to the subtask."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Return the store of state that belongs to keys; only on keyed streams."""


class CheckpointedFunction(ABC):
    """Is mixed into a function that keeps operator state."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Bring the state handles up to date; run when a checkpoint barrier passes."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Get the state handles and read back what was restored; run before ``open``."""


class CheckpointListener(ABC):
    """Is mixed into a function that wants to know what became of a checkpoint."""

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Take note that all subtasks have completed the checkpoint; may be skipped if a later one completes."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:  # noqa: B027 - most listeners do not care
        """Take note that the checkpoint was given up."""
