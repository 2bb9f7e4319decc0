"""How the records of one step are spread over the subtasks of the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Broadcast",
    "Custom",
    "Forward",
    "Global",
    "KeyGroups",
    "Partitioning",
    "Rebalance",
    "Rescale",
    "Shuffle",
    "sources_of",
    "targets_of",
]


@dataclass(frozen=True)
class Partitioning:
    """What all ways of spreading have in common."""

    @property
    def label(self) -> str:
        """Return the name Flink shows in its plans."""
        return type(self).__name__.upper()

    @property
    def is_pointwise(self) -> bool:
        """Tell whether a subtask talks to some of its successors only."""
        return False

    @property
    def keeps_barriers_in_line(self) -> bool:
        """Tell whether barriers must not overtake records, also where checkpoints are unaligned.

        Records in flight between two subtasks that belong together have no other place to go, and copies of one record
        would be in the state of some subtasks and in flight to others.
        """
        return self.is_pointwise

    @property
    def is_by_record(self) -> bool:
        """Tell whether a record says itself, and always the same, which successor it goes to."""
        return False


@dataclass(frozen=True)
class Forward(Partitioning):
    """Subtask i sends to subtask i; chains where nothing speaks against it."""

    @property
    def is_pointwise(self) -> bool:
        """Tell that subtask i feeds subtask i only."""
        return True


@dataclass(frozen=True)
class Rebalance(Partitioning):
    """Round-robin over all successors."""


@dataclass(frozen=True)
class Rescale(Partitioning):
    """Round-robin over the successors that belong to this subtask."""

    @property
    def is_pointwise(self) -> bool:
        """Tell that each subtask feeds its own share of the successors."""
        return True


@dataclass(frozen=True)
class Broadcast(Partitioning):
    """A copy to every successor."""

    @property
    def keeps_barriers_in_line(self) -> bool:
        """Tell that all successors must have seen the same records in front of a barrier."""
        return True


@dataclass(frozen=True)
class Global(Partitioning):
    """Everything to the first successor."""


@dataclass(frozen=True)
class Shuffle(Partitioning):
    """A random successor for each record."""


@dataclass(frozen=True)
class Custom(Partitioning):
    """The program decides: ``partition(key(value), number of successors)``."""

    partition: Callable[[Any, int], int]
    key: Callable[[Any], Any]

    @property
    def is_by_record(self) -> bool:
        """Tell that the program says where each record goes."""
        return True


@dataclass(frozen=True)
class KeyGroups(Partitioning):
    """By key, with Flink's key groups."""

    key: Callable[[Any], Any]

    @property
    def label(self) -> str:
        """Return the name Flink shows in its plans."""
        return "HASH"

    @property
    def is_by_record(self) -> bool:
        """Tell that each record goes where its key is."""
        return True


def targets_of(partitioning: Partitioning, source: int, sources: int, targets: int) -> range:
    """Return the successors that a subtask has a channel to."""
    if isinstance(partitioning, Forward):
        return range(source, source + 1)
    if isinstance(partitioning, Rescale):
        if targets >= sources:
            return range(-(-source * targets // sources), -(-(source + 1) * targets // sources))
        first = source * targets // sources
        return range(first, first + 1)
    return range(targets)


def sources_of(partitioning: Partitioning, target: int, sources: int, targets: int) -> range:
    """Return the predecessors that a subtask has a channel from."""
    if not partitioning.is_pointwise:
        return range(sources)
    linked = [source for source in range(sources) if target in targets_of(partitioning, source, sources, targets)]
    return range(linked[0], linked[-1] + 1) if linked else range(0)
