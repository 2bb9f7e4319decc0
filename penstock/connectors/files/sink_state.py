"""What a file sink puts into checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OpenPart", "PendingPart", "WriterState"]


@dataclass(frozen=True)
class PendingPart:
    """A closed file under its hidden name: what is committed."""

    bucket: str
    hidden: str
    target: str
    size: int
    replaces: tuple[str, ...] = ()
    """Hidden files whose records are in this one; they are deleted when it has its name."""


@dataclass(frozen=True)
class OpenPart:
    """A file that was being written when the checkpoint was taken, up to its length at that moment."""

    bucket: str
    hidden: str
    target: str
    length: int
    created: int
    updated: int


@dataclass(frozen=True)
class WriterState:
    """The state of one subtask's writer."""

    subtask: int
    next_number: int
    """The number of the next file: every file with this or a larger one was begun after the checkpoint."""
    token: str
    """What the names of the sink's unfinished files have in common."""
    open_parts: tuple[OpenPart, ...] = ()
    waiting: tuple[tuple[int, tuple[PendingPart, ...]], ...] = ()
    """The files that wait for compaction by bucket, each group with the number of checkpoints it has waited for."""
