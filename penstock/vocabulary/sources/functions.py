"""Sources written as a function with a loop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from penstock.vocabulary.time.generators import Watermark

__all__ = [
    "ParallelSourceFunction",
    "RichParallelSourceFunction",
    "RichSourceFunction",
    "SourceContext",
    "SourceFunction",
]

T = TypeVar("T")


class SourceContext(ABC, Generic[T]):
    """Takes the records and watermarks that a source function emits."""

    @abstractmethod
    def collect(self, element: T) -> None:
        """Emit a record without a timestamp of its own."""

    @abstractmethod
    def collect_with_timestamp(self, element: T, timestamp: int) -> None:
        """Emit a record with its event time in milliseconds."""

    @abstractmethod
    def emit_watermark(self, mark: Watermark) -> None:
        """Say that no record with a timestamp up to the watermark's will follow."""

    @abstractmethod
    def mark_as_temporarily_idle(self) -> None:
        """Say that downstream time need not wait for this source until its next record."""

    @abstractmethod
    def get_checkpoint_lock(self) -> AbstractContextManager[Any]:
        """Return the lock under which a record is emitted and the source's position updated as one step."""


class SourceFunction(Function, Generic[T]):
    """Produces records in a loop; runs with parallelism 1.

    ``run`` emits until the input is over or ``cancel`` was called, which comes from another thread and usually
    sets a flag that the loop looks at.
    """

    SourceContext: TypeAlias = SourceContext

    @abstractmethod
    def run(self, ctx: SourceContext[T]) -> None:
        """Emit records through ``ctx``; the stream ends when it returns."""

    @abstractmethod
    def cancel(self) -> None:
        """Make ``run`` return soon."""


class ParallelSourceFunction(SourceFunction[T]):
    """Is a source function that may run in several subtasks at once."""


class RichSourceFunction(SourceFunction[T]):
    """Is a SourceFunction under Java's name for functions with a life cycle."""


class RichParallelSourceFunction(RichSourceFunction[T], ParallelSourceFunction[T]):
    """Is a ParallelSourceFunction under Java's name for functions with a life cycle."""
