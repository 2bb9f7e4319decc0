"""The source of ``from_collection``: records that are part of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CollectionSource"]

T = TypeVar("T")


class CollectionSource(Source[T]):
    """Emits the elements of a collection in their order, with parallelism 1."""

    boundedness = Boundedness.BOUNDED
    is_parallel = False

    def __init__(self, elements: Iterable[T]) -> None:
        self._elements = list(elements)

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return the one split there is."""
        return [SourceSplit("collection")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start reading at an index."""
        return _CollectionReader(self._elements, position or 0)


class _CollectionReader(SplitReader[T]):
    def __init__(self, elements: list[T], start: int) -> None:
        self._elements = elements
        self._next = start

    def read(self, limit: int) -> tuple[list[T], list[int] | None] | None:
        values = self._elements[self._next : self._next + limit]
        self._next += len(values)
        return (values, None) if values else None

    def position(self) -> int:
        return self._next
