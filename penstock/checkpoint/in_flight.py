"""Which subtask goes on with which of the records that an unaligned checkpoint holds in flight.

The records were on channels, and those change with the parallelism. A step whose barriers may overtake records is
linked to all subtasks of the steps before it (see ``Partitioning.keeps_barriers_in_line``), so a former channel is
known by the input and the sender alone. What was in flight to a former subtask moves, by today's way of spreading,

- with its key (``key_by``) or as the program's partitioner says: each subtask picks its records from all parts that may
  have some;
- otherwise as a whole, to the subtask whose number is the former one's modulo the parallelism.

Each part keeps its order, so the records of a key, and those of a channel, stay in theirs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from penstock.checkpoint.subtask_state import InFlight
from penstock.errors import StateRestoreError
from penstock.foundation.keys.groups import key_group_range

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.checkpoint.metadata import OperatorInfo, OperatorMetadata
    from penstock.checkpoint.subtask_state import InputInfo

__all__ = ["assign_in_flight"]

_BY_KEY = "HASH"
_BY_PROGRAM = "CUSTOM"


def assign_in_flight(operator_id: str, operator: OperatorMetadata, info: OperatorInfo) -> list[InFlight | None]:
    """Return what each subtask of an operator begins with.

    Raises:
        StateRestoreError: The operator has other inputs now.
    """
    if not operator.in_flight:
        return [None] * info.parallelism
    positions = _positions(operator.inputs, info.inputs)
    if positions is None:
        problem = (
            "The checkpoint is unaligned and holds records in flight to this step, and its inputs are others now."
            " Restore with the inputs that it had, take a savepoint (which holds no records in flight) and change the"
            " program then."
        )
        raise StateRestoreError(problem, f"{info.name} ({operator_id})")
    former = operator.info
    is_rescaled = (former.parallelism, former.max_parallelism) != (info.parallelism, info.max_parallelism)
    channels = tuple(
        (position, sender)
        for position, known in zip(positions, operator.inputs, strict=True)
        for sender in range(known.senders)
    )
    same_senders = frozenset(
        position
        for position, known in zip(positions, operator.inputs, strict=True)
        if info.inputs[position].senders == known.senders
    )
    result: list[InFlight | None] = []
    for subtask in range(info.parallelism):
        parts = tuple(
            (part, stored)
            for part, stored in sorted(operator.in_flight.items())
            if (_concerns(part, subtask, former, info) if is_rescaled else part == subtask)
        )
        result.append(InFlight(parts, channels, same_senders, is_rescaled) if parts else None)
    return result


def _positions(former: Sequence[InputInfo], today: Sequence[InputInfo]) -> list[int] | None:
    """Return the place of each former input among today's: that of its sender, else the same if all are alike."""
    if not former:  # a checkpoint of a version that did not note them
        return None
    places = {key: place for place, key in enumerate(_identities(today))}
    found = [places.get(key) for key in _identities(former)]
    known = [place for place in found if place is not None]
    if len(known) == len(found):
        return known
    is_alike = [each.input for each in former] == [each.input for each in today]
    return list(range(len(former))) if is_alike else None


def _identities(inputs: Sequence[InputInfo]) -> list[tuple[str, str | None, int, int]]:
    """Return what tells inputs apart; a stream that is united with itself counts."""
    seen: Counter[tuple[str, str | None, int]] = Counter()
    result = []
    for each in inputs:
        key = (each.sender, each.tag, each.input)
        result.append((*key, seen[key]))
        seen[key] += 1
    return result


def _concerns(part: int, subtask: int, former: OperatorInfo, info: OperatorInfo) -> bool:
    """Tell whether a subtask may find records of its own in the part of a former one."""
    spreads = {each.spread for each in info.inputs}
    if _BY_PROGRAM in spreads or part % info.parallelism == subtask:
        return True
    if _BY_KEY not in spreads:
        return False
    if former.max_parallelism != info.max_parallelism:
        return True
    before = key_group_range(part, former.parallelism, former.max_parallelism)
    now = key_group_range(subtask, info.parallelism, info.max_parallelism)
    return before.start < now.stop and now.start < before.stop
