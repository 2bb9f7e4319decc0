"""What one subtask acknowledges for a checkpoint, and what it gets back when the job is restored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


@dataclass(frozen=True)
class SubtaskState:
    """The states of a subtask's operators, by operator id."""

    operators: dict[str, OperatorState] = field(default_factory=dict)
    in_flight: StoredBytes | None = None
    """What is acknowledged: the elements that an unaligned barrier has overtaken."""
    replayed: dict[str, InFlight] = field(default_factory=dict)
    """What it gets back: by operator, elements that are processed before anything else. The operator was the first of
    its chain, and may be in the middle of one now."""
