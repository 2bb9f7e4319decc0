"""What is dropped when a match comes out, by skip strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import JobFailedError
from penstock.runtime.cep.runs import events_of
from penstock.vocabulary.cep.skip_strategy import SkipKind

if TYPE_CHECKING:
    from penstock.runtime.cep.runs import Cell
    from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = ["dropped_starts"]


def dropped_starts(strategy: AfterMatchSkipStrategy, match: Cell) -> range:
    """Return the numbers of the first events of what is dropped when a match comes out."""
    first = match.first.number
    if strategy.kind is SkipKind.SKIP_TO_NEXT:
        return range(first, first + 1)
    if strategy.kind is SkipKind.SKIP_PAST_LAST_EVENT:
        # What began before the match has ended by now, or the match would have been held back.
        return range(match.event.number + 1)
    wanted = _numbers_of(match, strategy.pattern_name)
    if not wanted:
        if strategy.throws_on_miss:
            message = (
                f"{strategy}: the match has no event for {strategy.pattern_name!r}. Match: {events_of(match)!r:.500}"
            )
            raise JobFailedError(message)
        return range(0)
    target = min(wanted) if strategy.kind is SkipKind.SKIP_TO_FIRST else max(wanted)
    if strategy.throws_on_miss and target == first:
        message = (
            f"{strategy}: the event to skip to is the first one of the match, which would find the same match again."
            f" Match: {events_of(match)!r:.500}"
        )
        raise JobFailedError(message)
    return range(target)


def _numbers_of(match: Cell, part: str | None) -> list[int]:
    found = []
    cell: Cell | None = match
    while cell is not None:
        if cell.part == part:
            found.append(cell.event.number)
        cell = cell.previous
    return found
