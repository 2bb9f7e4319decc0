"""What a source is: splits that are found on the driver and read by subtasks, each with a position to resume from."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Boundedness", "ReaderContext", "Source", "SourceSplit", "SplitReader"]

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


class SplitReader(ABC, Generic[T]):
    """Reads one split."""

    @abstractmethod
    def read(self, limit: int) -> tuple[list[T], list[int] | None] | None:
        """Return up to ``limit`` records with their timestamps (``None`` if they have none), without waiting for long.

        An empty list says that nothing is there now, ``None`` that the split is finished.
        """

    @abstractmethod
    def position(self) -> Any:
        """Return, picklable, where to go on reading: everything returned by ``read`` so far lies before it."""

    def close(self) -> None:
        """Release what the reader holds."""


class Source(ABC, Generic[T]):
    """A kind of input. The object is written in the program, pickled, and never runs itself."""

    boundedness: Boundedness = Boundedness.BOUNDED
    is_parallel: bool = True
    """``False``: the source runs with parallelism 1, which keeps the order of its records."""

    @abstractmethod
    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return all splits; split i is read by subtask ``i % parallelism``."""

    def restore_splits(self, parallelism: int, known: Sequence[SourceSplit]) -> Sequence[SourceSplit]:
        """Return all splits of a job that starts from a checkpoint with the given ones.

        A bounded source goes on with what it was divided into, whatever the parallelism is now; one without an end
        also takes what is new.
        """
        if self.boundedness is Boundedness.BOUNDED:
            return known
        ids = {split.id for split in known}
        return [*known, *(split for split in self.create_splits(parallelism) if split.id not in ids)]

    @abstractmethod
    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start reading a split, from the beginning (position ``None``) or from a position a reader gave before."""
