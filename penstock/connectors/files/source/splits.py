"""The unit of reading, a file or a range of its bytes, and which subtask reads which of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["FileSourceSplit", "FileSplitAssigner", "FileSplitAssignerProvider"]


@dataclass(frozen=True)
class FileSourceSplit:
    """A file, or a range of its bytes. A record belongs to the range in which it begins."""

    path: str
    """Where the file is: a path or a URI."""
    size: int
    """How many bytes it had when it was found."""
    start: int = 0
    end: int | None = None
    """The first byte behind the range; ``None``: up to the end of the file."""

    @property
    def length(self) -> int:
        """Return about how many bytes there are to read."""
        return (self.size if self.end is None else self.end) - self.start

    def divided(self, ranges: int) -> list[FileSourceSplit]:
        """Return the same in equal ranges."""
        bounds = [self.size * number // ranges for number in range(ranges)]
        return [
            FileSourceSplit(self.path, self.size, start, end)
            for start, end in zip(bounds, [*bounds[1:], None], strict=True)
        ]

    def __str__(self) -> str:
        return self.path if self.start == 0 and self.end is None else f"{self.path}[{self.start}:{self.end or ''}]"


class FileSplitAssigner:
    """Deals files and ranges of files out to subtasks: each, in its order, to the one with the fewest bytes so far.

    So all subtasks are in about the same place of the input at any time. Subclasses may deal differently.
    """

    def assign(self, splits: Sequence[FileSourceSplit], lanes: int) -> list[list[FileSourceSplit]]:
        """Return what each of so many subtasks reads, one after the other."""
        dealt: list[list[FileSourceSplit]] = [[] for _ in range(lanes)]
        bytes_of = [0] * lanes
        for split in splits:
            least = bytes_of.index(min(bytes_of))
            dealt[least].append(split)
            bytes_of[least] += split.length
        return dealt


class FileSplitAssignerProvider:
    """Names the ways to deal files out to subtasks."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssigner:
        """Return the assigner that a file source has anyway.

        Spark decides on which host a subtask runs, so there are no near and far files to choose between: it goes by
        order and size alone.
        """
        return FileSplitAssigner()
