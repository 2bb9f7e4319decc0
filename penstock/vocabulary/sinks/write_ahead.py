"""Sinks that keep records until their checkpoint is complete, and write them then."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.sinks.protocol import Delivery

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CheckpointCommitter", "GenericWriteAheadSink"]

T = TypeVar("T")


class CheckpointCommitter(ABC):
    """Remembers, outside of the job, up to which checkpoint a subtask has written its records.

    What it remembers belongs to ``job_id`` and ``operator_id``, which are set before ``open``: store it under both. The
    numbers of checkpoints have a meaning in one run of the job only. Restarts after a failure are the same run.

    A run that starts from a checkpoint of another run finds batches of that run in it. For these the committer is
    opened with the id of the other run, then closed, and opened again with the id of its own.
    """

    job_id: str = ""
    """The run of the job: another each time the program is started."""
    operator_id: str = ""
    """The ``uid`` of the sink."""

    def open(self) -> None:  # noqa: B027 - a life cycle method is optional
        """Connect, for the run that ``job_id`` says."""

    def close(self) -> None:  # noqa: B027 - a life cycle method is optional
        """Disconnect."""

    @abstractmethod
    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        """Remember that a subtask has written everything up to a checkpoint."""

    @abstractmethod
    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        """Return whether a subtask has written everything up to a checkpoint."""


class GenericWriteAheadSink(Function, Generic[T]):
    """Writes the records of a checkpoint in one go when it is complete; works with every target.

    A failure in the middle of writing repeats what was written of that batch: at least once. A batch that could not be
    written is tried again with the next checkpoint, before those behind it; once the input has ended, every second.
    """

    delivery = Delivery.WRITE_AHEAD

    def __init__(self, committer: CheckpointCommitter) -> None:
        self.committer = committer

    @abstractmethod
    def send_values(self, values: Sequence[T], checkpoint_id: int, timestamp: int) -> bool:
        """Write the records of a checkpoint, in order; return False, or raise, to be called again later.

        Args:
            values: The records.
            checkpoint_id: The checkpoint they belong to.
            timestamp: The time of that checkpoint, in milliseconds.
        """
