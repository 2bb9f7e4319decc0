"""What one subtask acknowledges for a checkpoint, and what it gets back when the job is restored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.statestore.handles import KeyedStateHandle, StoredBytes
    from penstock.statestore.stored_operator_state import StoredOperatorState

__all__ = ["InFlight", "InputInfo", "OperatorState", "SubtaskState"]


@dataclass(frozen=True)
class OperatorState:
    """The state of one operator of one subtask."""

    keyed: tuple[KeyedStateHandle, ...] = ()
    """Where the keyed state is; several handles after a change of the parallelism."""
    operator: StoredOperatorState | None = None
    """Lists, union lists and broadcast maps."""
    own: tuple[StoredBytes, ...] = ()
    """Pickles of what ``Operator.snapshot`` returned: source positions, pending transactions. After a change of the
    parallelism an operator gets those of all former subtasks."""

    def stored(self) -> Iterator[StoredBytes]:
        """Return the bytes that are stored on their own."""
        yield from self.own
        for handle in self.keyed:
            yield from (stored for _, stored in handle.files)


@dataclass(frozen=True)
class InputInfo:
    """What the job's plan says of one input of an operator."""

    sender: str
    """The id of the operator that sends."""
    tag: str | None
    """The side output that is sent; ``None`` for the main output."""
    input: int
    """Which input of the operator it is: a stream that is connected is the second."""
    senders: int
    """How many subtasks send."""
    spread: str
    """The label of the way of spreading."""


@dataclass(frozen=True)
class InFlight:
    """What was in flight to an operator, as far as it concerns one of its subtasks."""

    parts: tuple[tuple[int, StoredBytes], ...]
    """By former subtask, what was recorded there."""
    channels: tuple[tuple[int, int], ...]
    """Per former channel, the position of its input among today's inputs, and the sender."""
    same_senders: frozenset[int]
    """Positions of the inputs that have as many senders as before."""
    is_rescaled: bool
    """Whether the parts are of other subtasks than today's."""


@dataclass(frozen=True)
class SubtaskState:
    """The states of a subtask's operators, by operator id."""

    operators: dict[str, OperatorState] = field(default_factory=dict)
    in_flight: StoredBytes | None = None
    """What is acknowledged: the elements that an unaligned barrier has overtaken."""
    replayed: dict[str, InFlight] = field(default_factory=dict)
    """What it gets back: by operator, elements that are processed before anything else. The operator was the first of
    its chain, and may be in the middle of one now."""

    def stored(self) -> Iterator[StoredBytes]:
        """Return the bytes that are stored on their own."""
        for operator in self.operators.values():
            yield from operator.stored()
        if self.in_flight is not None:
            yield self.in_flight
