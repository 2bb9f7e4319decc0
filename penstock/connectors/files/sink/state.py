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
    """Hidden files whose records are in this one; they are deleted once it has its name."""
    alternative: str = ""
    """The name it gets where another job, maybe one from the same savepoint, has taken its own."""
    shared: int = 0
    """How many bytes at its beginning such a job has written as well: they are seen once."""


@dataclass(frozen=True)
class OpenPart:
    """A file that was being written when the checkpoint was taken, up to its length at that moment."""

    bucket: str
    hidden: str
    target: str
    length: int
    created: int
    updated: int
    replaces: tuple[str, ...] = ()
    """Hidden files with which this one begins, from before a restart."""
    alternative: str = ""
    shared: int = 0

    def closed(self, size: int) -> PendingPart:
        """Return the file once it is closed, with so many bytes."""
        return PendingPart(self.bucket, self.hidden, self.target, size, self.replaces, self.alternative, self.shared)


@dataclass(frozen=True)
class WriterState:
    """The state of one subtask's writer."""

    subtask: int
    next_number: int
    """The number in the name of the next file."""
    begun: int
    """How many files it had begun: those that are counted from here on were begun after the checkpoint."""
    token: str
    """What the names of the sink's unfinished files have in common."""
    open_parts: tuple[OpenPart, ...] = ()
    waiting: tuple[tuple[int, tuple[PendingPart, ...]], ...] = ()
    """The files that wait for compaction by bucket, each group with the number of checkpoints it has waited for."""
    is_fork: bool = False
    """Whether the job has started from a savepoint that others may have started from as well."""
