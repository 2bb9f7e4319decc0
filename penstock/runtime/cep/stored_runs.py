"""What is kept of a key as plain data, and back: events once, cells by number, states by name.

``(version, last number, timer, events, cells, runs, held)`` with an event as ``(number, timestamp, value)``, a cell as
``(number of the cell before or -1, part, number of the event)``, a run as ``(state, number of the cell)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import StateRestoreError
from penstock.runtime.cep.runs import Cell, KeyRuns, Run, Taken

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.cep.automaton import Automaton

__all__ = ["RUNS", "RunCodec"]

RUNS = "nfaStateName"
"""The name of the state, which is Flink's."""
_VERSION = 1


class RunCodec:
    """Turns what is kept of a key into plain data and back."""

    def __init__(self, automaton: Automaton) -> None:
        self._names = [state.name for state in automaton.states]
        self._numbers = {name: number for number, name in enumerate(self._names)}

    def encode(self, kept: KeyRuns, isolated: Callable[[Any], Any] | None = None) -> tuple[Any, ...]:
        """Return plain data; ``isolated`` makes copies of events that the program could still change."""
        cells: dict[int, int] = {}
        stored_cells: list[tuple[int, str, int]] = []
        events: dict[int, int] = {}
        stored_events: list[tuple[int, int, Any]] = []

        def number_of(last: Cell) -> int:
            chain: list[Cell] = []
            cell: Cell | None = last
            while cell is not None and id(cell) not in cells:
                chain.append(cell)
                cell = cell.previous
            for each in reversed(chain):
                event = each.event
                if event.number not in events:
                    events[event.number] = len(stored_events)
                    value = event.value if isolated is None else isolated(event.value)
                    stored_events.append((event.number, event.timestamp, value))
                before = -1 if each.previous is None else cells[id(each.previous)]
                cells[id(each)] = len(stored_cells)
                stored_cells.append((before, each.part, events[event.number]))
            return cells[id(last)]

        names = self._names
        runs = [(names[run.state], number_of(run.cell)) for run in kept.runs]
        held = [number_of(cell) for cell in kept.held]
        return _VERSION, kept.last_number, kept.timer, stored_events, stored_cells, runs, held

    def decode(self, stored: tuple[Any, ...]) -> KeyRuns:
        """Return what was kept."""
        version, last_number, timer, stored_events, stored_cells, runs, held = stored
        if version != _VERSION:
            problem = f"Half matches were stored in form {version}, but only form {_VERSION} is known."
            raise StateRestoreError(problem, state=RUNS)
        events = [Taken(*event) for event in stored_events]
        cells: list[Cell] = []
        for before, part, event in stored_cells:
            cells.append(Cell(None if before < 0 else cells[before], part, events[event]))
        kept = KeyRuns()
        kept.last_number = last_number
        kept.timer = timer
        kept.runs = [Run(self._number_of(state), cells[cell]) for state, cell in runs]
        kept.held = [cells[cell] for cell in held]
        return kept

    def _number_of(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            problem = (
                f"State {name} does not exist in the pattern, but a half match in the snapshot is in it. Start with the"
                " pattern that the snapshot was taken with, or give the step another uid to begin without its half"
                " matches."
            )
            raise StateRestoreError(problem, state=RUNS)
        return number
