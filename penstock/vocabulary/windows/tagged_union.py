"""What the windows of a join or co-group hold: a record, and which of the two streams it came from."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TaggedUnion"]


class TaggedUnion(NamedTuple):
    """A record of one of two streams, as triggers, evictors, dynamic gaps and late side outputs of joins see it."""

    input: int
    """0 for the first stream, 1 for the second."""
    value: Any
    """The record."""

    def is_one(self) -> bool:
        """Returns whether the record came from the first stream."""
        return self.input == 0

    def is_two(self) -> bool:
        """Returns whether the record came from the second stream."""
        return self.input == 1

    def get_one(self) -> Any:
        """Returns the record of the first stream, None if it came from the second."""
        return self.value if self.input == 0 else None

    def get_two(self) -> Any:
        """Returns the record of the second stream, None if it came from the first."""
        return self.value if self.input == 1 else None
