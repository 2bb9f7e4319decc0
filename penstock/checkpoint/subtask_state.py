"""What one subtask acknowledges for a checkpoint, and what it gets back when the job is restored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.checkpoint.in_flight import InFlight
    from penstock.statestore.handles import KeyedStateHandle, StoredBytes
    from penstock.statestore.stored_operator_state import StoredOperatorState

__all__ = ["OperatorState", "SubtaskState"]


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
        """Returns the bytes that are stored on their own."""
        yield from self.own
        for handle in self.keyed:
            yield from (stored for _, stored in handle.files)


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
        """Returns the bytes that are stored on their own."""
        for operator in self.operators.values():
            yield from operator.stored()
        if self.in_flight is not None:
            yield self.in_flight
