"""The source of consecutive numbers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NumberSequenceSource"]


class NumberSequenceSource(Source[int]):
    """Emits the numbers from ``start`` to ``end``, both included, divided evenly over the subtasks."""

    boundedness = Boundedness.BOUNDED

    def __init__(self, start: int, end: int) -> None:
        if end < start - 1:
            message = f"NumberSequenceSource({start}, {end}): the end must not lie before the start."
            raise ProgramError(message)
        self.start = start
        self.end = end

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return one range per subtask."""
        count = self.end - self.start + 1
        bounds = [self.start + count * index // parallelism for index in range(parallelism + 1)]
        return [
            SourceSplit(f"{first}-{last - 1}", (first, last))
            for first, last in itertools.pairwise(bounds)
            if first < last
        ]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        """Start reading a range."""
        first, last = split.detail
        return _RangeReader(first if position is None else position, last)


class _RangeReader(SplitReader[int]):
    def __init__(self, first: int, last: int) -> None:
        self._next = first
        self._last = last

    def read(self, limit: int) -> tuple[list[int], list[int] | None] | None:
        start = self._next
        if start >= self._last:
            return None
        self._next = min(start + limit, self._last)
        return list(range(start, self._next)), None

    def position(self) -> int:
        return self._next
