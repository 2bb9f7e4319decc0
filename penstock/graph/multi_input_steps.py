"""The steps that read two streams: connected functions, broadcast state, joins.

The first input is the stream that the program calls the method on, the second the one it hands over.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.steps import KeySelectorFunction, Step, WindowStep

if TYPE_CHECKING:
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.state.descriptors import MapStateDescriptor

__all__ = [
    "BroadcastProcessStep",
    "CoFlatMapStep",
    "CoGroupStep",
    "CoMapStep",
    "CoProcessStep",
    "IntervalJoinStep",
    "JoinKind",
    "JoinStep",
    "TwoInputStep",
    "tagged_key",
]


class JoinKind(enum.Enum):
    """Which records without a partner come out, too."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"

    @property
    def keeps_left(self) -> bool:
        """Tell whether records of the left side come out without a partner."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        """Tell whether records of the right side come out without a partner."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)


@dataclass(frozen=True, kw_only=True)
class TwoInputStep(Step):
    """What all of them have in common; ``key`` belongs to the first input."""

    second_key: KeySelectorFunction | None = None
    """How the key of a record of the second input is found, where that input is keyed."""

    @property
    def has_keyed_state(self) -> bool:
        """Tell whether an input is keyed: one is enough, the other then has no current key."""
        return self.key is not None or self.second_key is not None


@dataclass(frozen=True, kw_only=True)
class CoMapStep(TwoInputStep):
    """One result per record, by a function of its own for each input."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class CoFlatMapStep(TwoInputStep):
    """Any number of results per record, by a function of its own for each input."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class CoProcessStep(TwoInputStep):
    """A process function of two inputs, keyed or not."""

    function: Any


@dataclass(frozen=True, kw_only=True)
class BroadcastProcessStep(TwoInputStep):
    """A process function whose second input fills state that every subtask holds in full."""

    function: Any
    descriptors: tuple[MapStateDescriptor[Any, Any], ...]


@dataclass(frozen=True, kw_only=True)
class IntervalJoinStep(TwoInputStep):
    """Pairs records of equal key where ``left + lower <= right <= left + upper``, in milliseconds of event time."""

    function: Any
    lower: int
    upper: int
    kind: JoinKind = JoinKind.INNER
    left_late_tag: OutputTag[Any] | None = None
    right_late_tag: OutputTag[Any] | None = None


@dataclass(frozen=True, kw_only=True)
class CoGroupStep(WindowStep):
    """Windows that hold the records of two streams as :class:`TaggedUnion`, which ``key`` takes.

    The function gets all records of both sides, or each pair of them if it is a join.
    """

    input_keys: tuple[KeySelectorFunction, KeySelectorFunction]
    """How the key of a record of each stream is found."""
    kind: JoinKind | None = None
    """What is done with records without a partner; ``None`` where the function sees both groups."""


def tagged_key(first: KeySelectorFunction, second: KeySelectorFunction) -> KeySelectorFunction:
    """Return how the key of a tagged record is found."""

    def key(tagged: tuple[int, Any]) -> Any:
        return second(tagged[1]) if tagged[0] else first(tagged[1])

    return key


@dataclass(frozen=True, kw_only=True)
class JoinStep(TwoInputStep):
    """Pairs each record with all records of equal key that the other side has sent so far."""

    function: Any
    kind: JoinKind = JoinKind.INNER
    state_ttl: int | None = None
    """How long a record is kept, in milliseconds of processing time; ``None``: for ever."""
    has_row_kinds: bool = False
    """Whether results come as ``(RowKind, result)``, with those taken back that have become wrong."""
