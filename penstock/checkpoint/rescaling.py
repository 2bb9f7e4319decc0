"""Which subtask gets which state of a checkpoint, also when the program or its parallelism has changed.

Operators are matched by their ids. Keyed state follows its key groups: a subtask gets every handle that holds some of
its groups and reads those groups only. The elements of operator lists are spread evenly, union lists go to everybody
in full, a broadcast map, the same everywhere, is handed on. What an operator keeps besides (transactions to commit,
source positions) stays with its subtask if the parallelism is the same; otherwise, and in sources always, every
subtask gets the parts of all, and the operator picks what is its own. Records in flight:
:mod:`penstock.checkpoint.in_flight`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.checkpoint.in_flight import assign_in_flight
from penstock.checkpoint.subtask_state import OperatorState, SubtaskState
from penstock.errors import StateRestoreError
from penstock.foundation.keys.groups import key_group_range
from penstock.graph.nodes import GENERATED
from penstock.statestore.stored_operator_state import redistribute_stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.checkpoint.metadata import CheckpointMetadata, OperatorInfo, OperatorMetadata

__all__ = ["RestorePlan", "is_same_operator", "plan_restore", "redistribute_operator"]


@dataclass(frozen=True)
class RestorePlan:
    """What each subtask starts with, and what that means for the program's operators."""

    states: dict[tuple[int, int], SubtaskState]
    """By vertex and subtask."""
    restored: tuple[str, ...]
    """Operators that continue."""
    new: tuple[str, ...]
    """Operators that start empty."""
    dropped: tuple[str, ...]
    """Operators of the checkpoint that the program has no more."""

    def describe(self) -> str:
        """Return lines that say what was restored, is new and was dropped."""
        parts = {"restored": self.restored, "new": self.new, "dropped": self.dropped}
        return "\n".join(f"{name:<9} {', '.join(operators) or '-'}" for name, operators in parts.items())


def plan_restore(
    metadata: CheckpointMetadata,
    vertices: Mapping[int, Sequence[str]],
    infos: Mapping[str, OperatorInfo],
    *,
    allow_non_restored_state: bool = False,
) -> RestorePlan:
    """Give the state of a checkpoint to the subtasks of a job.

    Args:
        metadata: The checkpoint or savepoint.
        vertices: The operator ids of each vertex, the first one takes its input.
        infos: The operators of the job.
        allow_non_restored_state: Whether state may be left behind.

    Raises:
        StateRestoreError: State has no operator any more, or does not fit it.
    """
    matched = {
        key
        for key, operator in metadata.operators.items()
        if key in infos and is_same_operator(key, operator, infos[key].name)
    }
    dropped = [key for key, operator in metadata.operators.items() if key not in matched and _has_state(operator)]
    if dropped and not allow_non_restored_state:
        names = ", ".join(f"{metadata.operators[key].info.name!r} ({key})" for key in dropped)
        problem = (
            f"Checkpoint {metadata.checkpoint_id} holds state of operators that the program does not have: {names}."
            " Give the operators the same uid() as before, or start with allow_non_restored_state to leave that state"
            " behind."
        )
        raise StateRestoreError(problem)
    for key in sorted(matched):
        misfit = _misfit(metadata.operators[key], infos[key])
        if misfit is None:
            continue
        if not allow_non_restored_state:
            raise StateRestoreError(misfit, f"{infos[key].name} ({key})")
        matched.discard(key)
        dropped.append(key)
    parts = {
        key: redistribute_operator(key, metadata.operators[key], info) for key, info in infos.items() if key in matched
    }
    in_flight = {
        key: assign_in_flight(key, metadata.operators[key], info) for key, info in infos.items() if key in matched
    }
    states: dict[tuple[int, int], SubtaskState] = {}
    for vertex, keys in vertices.items():
        for subtask in range(infos[keys[0]].parallelism):
            replayed = {key: in_flight[key][subtask] for key in keys if key in matched}
            states[vertex, subtask] = SubtaskState(
                {key: parts[key][subtask] for key in keys if key in parts},
                replayed={key: found for key, found in replayed.items() if found is not None},
            )
    restored = [key for key in parts if _has_state(metadata.operators[key])]
    return RestorePlan(states, tuple(restored), tuple(key for key in infos if key not in matched), tuple(dropped))


def redistribute_operator(operator_id: str, operator: OperatorMetadata, info: OperatorInfo) -> list[OperatorState]:
    """Return what each subtask of an operator starts with."""
    former = [operator.subtasks[subtask] for subtask in sorted(operator.subtasks)]
    has_keyed = any(state.keyed for state in former)
    if has_keyed and operator.info.max_parallelism != info.max_parallelism:
        problem = (
            f"The state was taken with a max parallelism of {operator.info.max_parallelism}, and the operator has"
            f" {info.max_parallelism}: it shares a chain with operators whose state has that many. Call"
            " start_new_chain() on it."
        )
        raise StateRestoreError(problem, f"{info.name} ({operator_id})")
    own = tuple(part for state in former for part in state.own)
    is_same = operator.info.parallelism == info.parallelism
    if is_same:
        former = [operator.subtasks.get(subtask, OperatorState()) for subtask in range(info.parallelism)]
    # Also where nothing else moves: union lists go to everybody in full.
    lists = redistribute_stored([state.operator for state in former], info.parallelism)
    if is_same:
        return [
            OperatorState(state.keyed, lists[subtask] or None, own if info.is_source else state.own)
            for subtask, state in enumerate(former)
        ]
    result = []
    for subtask in range(info.parallelism):
        groups = key_group_range(subtask, info.parallelism, info.max_parallelism)
        keyed = tuple(
            handle
            for state in former
            for handle in state.keyed
            if handle.start < groups.stop and groups.start < handle.stop
        )
        result.append(OperatorState(keyed, lists[subtask] or None, own))
    return result


def is_same_operator(key: str, operator: OperatorMetadata, name: str) -> bool:
    """Tell whether an operator of the program, by its id and its name, is the one of the checkpoint.

    An id that the program did not give is only the number of the step: after a change of the program it may be the
    number of another one.
    """
    return not key.startswith(GENERATED) or operator.info.name == name


def _misfit(operator: OperatorMetadata, info: OperatorInfo) -> str | None:
    """Return why a step cannot go on with the state under its id, if so: it would be left behind without a word."""
    states = operator.subtasks.values()
    former = operator.info.kind
    if any(state.own for state in states) and former and info.kind and former != info.kind:
        problem = f"The checkpoint holds what a {former} step kept under this id, and the step is a {info.kind} now."
    elif any(state.keyed for state in states) and not info.has_keys:
        problem = "The checkpoint holds keyed state under this id, and the step is not on a keyed stream any more."
    else:
        return None
    return f"{problem} Give it another uid(), and start with allow_non_restored_state to leave that state behind."


def _has_state(operator: OperatorMetadata) -> bool:
    return bool(operator.in_flight) or any(
        state.keyed or state.operator or state.own for state in operator.subtasks.values()
    )
