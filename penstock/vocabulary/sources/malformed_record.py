"""A record that a source could not read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["MalformedRecord"]


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
