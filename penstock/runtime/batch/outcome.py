"""What a task of the last stage hands over to the program, together with its success.

Nothing of it counts before all tasks have succeeded, and a task that ran twice is heard once: by the attempt that
Spark takes the result of. That is what makes output exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CollectedPart", "Committables", "Part", "PrintedPart"]


@dataclass(frozen=True)
class PrintedPart:
    """Lines for standard output."""

    lines: list[str]


@dataclass(frozen=True)
class CollectedPart:
    """Records for the program."""

    collection: str
    values: list[Any]


@dataclass(frozen=True)
class Committables:
    """What a subtask of a sink has prepared."""

    node: int
    subtask: int
    prepared: list[Any]


Part = PrintedPart | CollectedPart | Committables
