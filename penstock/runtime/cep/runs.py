"""Half matches. What several of them have in common is kept once: they are linked cells that nothing changes.

A half match, called a *run*, is a state and the cell of the event that it took last. A cell points to the cell of the
event before; runs that branched point to the same cells, and an event is kept once however many cells hold it.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Cell", "KeyRuns", "Match", "Run", "Taken", "events_of"]

Match = dict[str, list[Any]]
"""The events of each part, in the order in which they were taken."""


class Taken:
    """An event that at least one run has taken; later ones of a key have higher numbers."""

    __slots__ = ("number", "timestamp", "value")

    def __init__(self, number: int, timestamp: int, value: Any) -> None:
        self.number = number
        self.timestamp = timestamp
        self.value = value


class Cell:
    """An event in its place in a run."""

    __slots__ = ("event", "first", "part", "previous")

    def __init__(self, previous: Cell | None, part: str, event: Taken) -> None:
        self.previous = previous
        self.part = part
        self.event = event
        self.first: Taken = event if previous is None else previous.first


class Run:
    """A half match: the state it is in, and what it has taken."""

    __slots__ = ("cell", "state")

    def __init__(self, state: int, cell: Cell) -> None:
        self.state = state
        self.cell = cell


class KeyRuns:
    """What is kept of one key: its runs in the order of their first events, and matches that are held back."""

    __slots__ = ("held", "is_changed", "last_number", "runs", "timer")

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.held: list[Cell] = []
        """Matches that wait until no run with an earlier first event is left, in the order of their first events."""
        self.last_number = 0
        self.timer: int | None = None
        """When the operator wants to be woken for this key, if it does."""
        self.is_changed = False
        """Whether it differs from what is stored."""

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to keep."""
        return not self.runs and not self.held


def events_of(cell: Cell | None) -> Match:
    """Return the events of a match or half match."""
    cells: list[Cell] = []
    while cell is not None:
        cells.append(cell)
        cell = cell.previous
    found: Match = {}
    for each in reversed(cells):
        events = found.get(each.part)
        if events is None:
            found[each.part] = [each.event.value]
        else:
            events.append(each.event.value)
    return found
