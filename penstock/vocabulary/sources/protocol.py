"""What a source is: splits that are found on the driver and read by subtasks, each with a position to resume from."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Boundedness", "MalformedRecord", "ReaderContext", "Source", "SourceSplit", "SplitReader"]

T = TypeVar("T")


class Boundedness(enum.Enum):
    """Whether a source ends by itself."""

    BOUNDED = "bounded"
    CONTINUOUS_UNBOUNDED = "continuous unbounded"


@dataclass(frozen=True)
class SourceSplit:
    """A part of a source that is read by one subtask, in order."""

    id: str
    """Names the split in checkpoints and reports; unique within its source."""
    detail: Any = None
    """What the reader needs to know: a file, a partition, a range; picklable, it goes into checkpoints."""


@dataclass(frozen=True)
class ReaderContext:
    """The surroundings of a split reader."""

    subtask: int
    parallelism: int
    now: Callable[[], int] = lambda: 0
    """The clock, in milliseconds; somebody may set it back."""
    wake_up: Callable[[], None] = lambda: None
    """Says, from any thread, that there is something to read now: an idle subtask asks again at once."""
    side_output: Callable[[str, list[Any]], None] = lambda tag, records: None
    """Emits records into the side output with this id; to be called from ``read`` only."""
    is_checkpointed: bool = True
    """Whether the job takes checkpoints, so that ``committed`` will be called."""
    shared: dict[str, Any] = field(default_factory=dict)
    """Where the readers of one subtask keep what they share (one connection for all splits)."""
    elapsed: Callable[[], int] = lambda: 0
    """Milliseconds that only count on: for intervals, rates and timeouts. As ``now`` unless given."""

    def __post_init__(self) -> None:
        if self.elapsed is ReaderContext.elapsed:
            object.__setattr__(self, "elapsed", self.now)


class SplitReader(ABC, Generic[T]):
    """Reads one split."""

    wait_millis: int = 1000
    """How long the subtask may wait, after ``read`` had nothing, before it asks again without being woken up."""

    @abstractmethod
    def read(self, limit: int) -> tuple[list[T], list[int] | None] | None:
        """Return up to ``limit`` records with their timestamps (``None`` if they have none), without waiting for long.

        An empty list says that nothing is there now, ``None`` that the split is finished.
        """

    @abstractmethod
    def position(self) -> Any:
        """Return, picklable, where to go on reading: everything returned by ``read`` so far lies before it."""

    def committed(self, position: Any) -> None:
        """Take note that a checkpoint with this position is complete: nothing before it will be read again."""

    def close(self) -> None:
        """Release what the reader holds."""


class Source(ABC, Generic[T]):
    """A kind of input. The object is written in the program, pickled, and never runs itself.

    ``create_splits`` and ``discover_splits`` run on the driver, in one place, so that all subtasks see one division;
    the driver hands the splits to the subtasks. Everything else runs in the subtasks.
    """

    boundedness: Boundedness = Boundedness.BOUNDED
    is_parallel: bool = True
    """``False``: the source runs with parallelism 1, which keeps the order of its records."""
    is_replayable: bool = True
    """Whether records can be read again from a position. If not, a failure loses what was read and not yet kept."""
    discovery_interval: int | None = None
    """Every how many milliseconds the driver looks for new splits; ``None``: the splits at the start are all."""

    @abstractmethod
    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return all splits there are now; split i is read by subtask ``i % parallelism``."""

    def discover_splits(self, known: Sequence[SourceSplit]) -> Sequence[SourceSplit]:
        """Return the splits that have come since, beside the known ones; they take the next numbers.

        Called every ``discovery_interval``, and also right after a restart from a checkpoint.
        """
        return ()

    @abstractmethod
    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start reading a split, from the beginning (position ``None``) or from a position a reader gave before."""


@dataclass(frozen=True)
class MalformedRecord:
    """What a source puts into a side output instead of a record it cannot read, where the program wants that."""

    origin: str
    """The file, or the topic and partition, it was read from."""
    position: Any
    """Where it is there: a line number, an offset."""
    content: bytes | str
    """The record as it was found."""
    problem: str
    """Why it cannot be read."""
