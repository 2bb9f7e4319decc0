"""How one checkpoint is taken: travels with its trigger and its barriers."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.vocabulary.settings.modes import CheckpointKind

__all__ = ["CheckpointOptions"]


@dataclass(frozen=True)
class CheckpointOptions:
    """The settings of one checkpoint, the same for all subtasks."""

    kind: CheckpointKind = CheckpointKind.PERIODIC
    timestamp: int = 0
    """When it was triggered, in milliseconds since the epoch."""
    is_exactly_once: bool = True
    """Whether channels wait for each other; otherwise records may count twice after a recovery, and nobody waits."""
    is_unaligned: bool = False
    """Whether records in flight go into the snapshot instead of being waited for; never for savepoints."""
    aligned_timeout: int = 0
    """How many milliseconds an unaligned checkpoint tries to be an aligned one."""
    reusable: int | None = None
    """The newest complete checkpoint whose files an incremental one may refer to."""
    is_draining: bool = False
    """For ``STOP``: whether time jumps to its end, so that windows and timers fire before the savepoint."""
    location: str | None = None
    """For savepoints: the directory asked for."""
