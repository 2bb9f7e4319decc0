"""The kinds of keyed state, and what is said when a state changes its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError, ProgramError, StateRestoreError
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from penstock.statestore.snapshot_format import KeyedStateReader

__all__ = ["KINDS", "kind_mismatch", "kind_of", "require_max_parallelism"]

KINDS: dict[str, type[StateDescriptor]] = {
    "value": ValueStateDescriptor,
    "list": ListStateDescriptor,
    "map": MapStateDescriptor,
    "reducing": ReducingStateDescriptor,
    "aggregating": AggregatingStateDescriptor,
}
"""The descriptor of each kind."""


def kind_of(descriptor: StateDescriptor) -> str:
    """Return the kind that a descriptor describes."""
    for kind, described in KINDS.items():
        if isinstance(descriptor, described):
            return kind
    message = (
        f"{descriptor!r} describes no keyed state; use one of {', '.join(each.__name__ for each in KINDS.values())}."
    )
    raise ProgramError(message)


def kind_mismatch(name: str, known: str, asked: str, operator: str, *, is_restored: bool) -> PenstockError:
    """Return the error for a state that is of another kind than its descriptor says."""
    kinds = f"{KINDS[known].__name__} and {KINDS[asked].__name__}"
    if is_restored:
        problem = (
            f"The restored state and its descriptor are of different kinds: {kinds}. Give the new one another name."
        )
        return StateRestoreError(problem, operator or None, name)
    message = f"The state {name!r} is declared twice with different kinds: {kinds}. Give one of them another name."
    return ProgramError(message)


def require_max_parallelism(reader: KeyedStateReader, max_parallelism: int, operator: str) -> None:
    """Refuse state whose keys were spread over another number of key groups."""
    if reader.max_parallelism != max_parallelism:
        problem = (
            f"The state was taken with a max parallelism of {reader.max_parallelism}, and the job has"
            f" {max_parallelism}. Call set_max_parallelism({reader.max_parallelism})."
        )
        raise StateRestoreError(problem, operator or reader.operator)
