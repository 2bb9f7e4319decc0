"""Watermark alignment: sources of a group do not run further ahead of the slowest one than its drift allows."""

from __future__ import annotations

from collections import defaultdict

from penstock.runtime.exchange.elements import MAX_TIMESTAMP

__all__ = ["AlignmentGroups"]


class AlignmentGroups:
    """Knows how far each source subtask of each group has come; lives where all of them can be seen."""

    def __init__(self) -> None:
        self._watermarks: dict[str, dict[str, int]] = defaultdict(dict)

    def report(self, group: str, member: str, watermark: int | None, drift: int) -> int:
        """Take in the watermark of a member and return the one it may read up to.

        ``None`` takes the member out: it is idle or finished and does not hold the others back.
        """
        watermarks = self._watermarks[group]
        if watermark is None:
            watermarks.pop(member, None)
        else:
            watermarks[member] = watermark
        return min(min(watermarks.values(), default=MAX_TIMESTAMP) + drift, MAX_TIMESTAMP)
