"""What may be done only when a checkpoint is complete: commits of sinks, acknowledgements of sources."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["AwaitingCompletion"]

T = TypeVar("T")


class AwaitingCompletion(Generic[T]):
    """Items in the order of the checkpoints that hold them.

    A checkpoint that is given up takes nothing with it: its items are in the next one too, and go with that.
    """

    def __init__(self) -> None:
        self._items: dict[int, T] = {}

    def add(self, checkpoint_id: int, item: T) -> None:
        """Add what the snapshot for a checkpoint holds."""
        self._items[checkpoint_id] = item

    def items(self) -> list[T]:
        """Return everything that waits, the oldest first."""
        return list(self._items.values())

    def completed(self, checkpoint_id: int) -> list[T]:
        """Return and forget what may be done now that a checkpoint is complete, the oldest first."""
        ready = [known for known in self._items if known <= checkpoint_id]
        return [self._items.pop(known) for known in ready]
