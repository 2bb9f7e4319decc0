"""What a task of the last stage hands over to the program, together with its success.

Nothing of it counts before all tasks have succeeded, and a task that ran twice is heard once: by the attempt that
Spark takes the result of. That is what makes output exactly once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import cloudpickle

__all__ = ["CollectedPart", "Committables", "Part", "PrintedPart", "pack_part", "unpack_part"]


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


def pack_part(part: Part) -> bytes:
    """Return a part in bytes; classes of the program are referred to by name where that is possible."""
    try:
        return pickle.dumps(part, protocol=5)
    except Exception:  # lambdas, local classes
        return bytes(cloudpickle.dumps(part, protocol=5))


def unpack_part(packed: bytes) -> Part:
    """Return the part that some bytes hold."""
    part: Part = pickle.loads(packed)
    return part
