"""What a sink is: writers in its subtasks, and committers for what nobody may see before a checkpoint is complete.

The engine says when, the sink says what. With every checkpoint a writer hands over *committables*: descriptions of what
it has written and nobody may see yet (a closed file under a hidden name, a prepared transaction). They are part of the
checkpoint. Once it is complete they are committed; after a failure the restored ones are committed again, so
committing must be repeatable. Whatever is not part of a complete checkpoint is never committed, and is the sink's to
remove when its writer is restored.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.metrics import MetricGroup
    from penstock.vocabulary.settings.modes import CheckpointKind

__all__ = ["Committer", "Delivery", "DeliveryGuarantee", "GlobalCommitter", "Sink", "SinkWriter", "WriterContext"]


class DeliveryGuarantee(enum.Enum):
    """What a program asks of a sink; the job as a whole is as good as its weakest part."""

    EXACTLY_ONCE = "exactly-once"
    """Records become visible with the checkpoint they belong to, once."""
    AT_LEAST_ONCE = "at-least-once"
    """Records are flushed before each checkpoint; after a failure some come again."""
    NONE = "none"
    """Records are not waited for: a failure may lose or repeat some."""


class Delivery(enum.Enum):
    """What a sink does with records that are written again after a failure."""

    AT_MOST_ONCE = "at most once"
    """It may lose records that were not flushed when a checkpoint was taken."""
    AT_LEAST_ONCE = "at least once"
    """It has them twice."""
    IDEMPOTENT = "idempotent"
    """Writing a record again changes nothing."""
    WRITE_AHEAD = "write-ahead log"
    """It writes when a checkpoint is complete; a failure in the middle of that repeats a part."""
    TRANSACTIONAL = "two-phase commit"
    """It makes records visible together with the checkpoint, once."""


T = TypeVar("T")


@dataclass(frozen=True)
class WriterContext:
    """The surroundings of a writer or committer."""

    subtask: int
    parallelism: int
    attempt: int
    """How many times this run of the job was restarted before."""
    job_name: str
    operator_id: str
    """The uid of the step, by which it is known from one run of the program to the next."""
    now: Callable[[], int]
    """The clock, in milliseconds."""
    schedule: Callable[[int, Callable[[int], None]], object]
    """Has a function called, with the time, in the subtask's own thread when the clock reaches a time."""
    metrics: MetricGroup
    restored_checkpoint: int | None = None
    """The checkpoint the job was restored from."""
    shared_savepoint: CheckpointKind | None = None
    """The kind of the savepoint the job was restored from, if other jobs may start from it as well."""
    job_id: str = ""
    """The run of the job: another each time the program is started, the same after a failure."""
    checkpoint_timestamp: Callable[[], int] = field(default=lambda: 0)
    """When the checkpoint was triggered that is being taken, in milliseconds."""
    current_watermark: Callable[[], int] = field(default=lambda: -(1 << 63))
    patience: int = 600_000
    """How many milliseconds a call may wait for an outside system that does not answer: the checkpoint timeout."""


class SinkWriter(ABC, Generic[T]):
    """Writes the records of one subtask."""

    @abstractmethod
    def write(self, element: T, timestamp: int | None) -> None:
        """Write one record."""

    def write_run(self, elements: list[T], timestamps: list[int] | None) -> None:
        """Write a run of records; the form to override where many at a time are cheaper."""
        write = self.write
        if timestamps is None:
            for element in elements:
                write(element, None)
        else:
            for element, timestamp in zip(elements, timestamps, strict=True):
                write(element, timestamp)

    def flush(self, *, end_of_input: bool) -> None:
        """Make durable what was written; called before each checkpoint and when no more records come."""

    def prepare_commit(self) -> list[Any]:
        """Return, picklable, what is to be committed once the checkpoint that is being taken is complete.

        What is written from now on belongs to the next one.
        """
        return []

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        """Return the state of the writer, picklable; called after ``prepare_commit``."""
        return []

    def close(self) -> None:
        """Release what the writer holds; also called after a failure: nothing may be committed here."""


class Committer(ABC):
    """Makes visible what the writers have prepared. Repeating a commit changes nothing."""

    waits_for_checkpoints: bool = False
    """Whether what is left is tried again with the next checkpoint, if there is one, instead of every second."""

    @abstractmethod
    def commit(self, committables: list[Any]) -> list[Any]:
        """Commit, in this order; return those that are to be tried again later, and raise if it is hopeless."""

    def recover(self, committables: list[Any]) -> list[Any]:
        """Commit what a restored checkpoint holds: it may or may not have been committed before."""
        return self.commit(committables)

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the committer holds."""


class GlobalCommitter(ABC):
    """Commits for the whole sink, in one place: a table's new version, a manifest, a success marker."""

    @abstractmethod
    def combine(self, committables: list[Any]) -> Any:
        """Return one global committable of all that the writers prepared for one checkpoint."""

    @abstractmethod
    def commit(self, global_committables: list[Any]) -> list[Any]:
        """Commit, in this order; return those that are to be tried again later."""

    def filter_recovered(self, global_committables: list[Any]) -> list[Any]:
        """Return those of a restored checkpoint that were not committed yet."""
        return global_committables

    def end_of_input(self) -> None:  # noqa: B027 - most have nothing to do
        """Take note that everything is committed and no more will come."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Release what the committer holds."""


class Sink(ABC, Generic[T]):
    """A kind of output. The object is written in the program, pickled, and never runs itself."""

    delivery: Delivery = Delivery.AT_LEAST_ONCE
    function: Any = None
    """The function of the program that the sink is made of, if it is; it is told about checkpoints."""
    shares_writer_state: bool = False
    """Whether each writer is restored with the states of all subtasks instead of those it takes over."""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter[T]:
        """Start writing from nothing."""

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[T]:
        """Go on from the states of a checkpoint: those that this subtask had, or takes over from others that are gone.

        Called after what the checkpoint holds for this subtask was committed.
        """
        return self.create_writer(context)

    def create_committer(self, context: WriterContext) -> Committer | None:
        """Return what commits the committables of one subtask, ``None`` if there are none."""
        return None

    def create_global_committer(self, context: WriterContext) -> GlobalCommitter | None:
        """Return what commits the committables of all subtasks together."""
        return None

    def check(self, *, checkpoint_interval: int | None, checkpoint_timeout: int) -> None:
        """Raise a ``ProgramError`` if the sink cannot keep its promise with these settings, in milliseconds."""
