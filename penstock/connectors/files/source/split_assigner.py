"""Which subtask reads which files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.connectors.files.source.split import FileSourceSplit

__all__ = ["FileSplitAssigner", "FileSplitAssignerProvider"]


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
