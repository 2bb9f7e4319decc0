"""The matcher: takes the events of one key in their order and says which matches they complete.

It is a state machine without input or output: what is kept of a key comes in and is changed, nothing else happens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import note_function
from penstock.graph.cep.automaton import StateKind
from penstock.runtime.cep.decisions import Decisions, Outcome, Question
from penstock.runtime.cep.runs import Cell, Run, Taken, events_of
from penstock.runtime.cep.skipping import dropped_starts
from penstock.vocabulary.cep.conditions import IterativeCondition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.graph.cep.automaton import Automaton
    from penstock.runtime.cep.runs import KeyRuns, Match

__all__ = ["Matcher"]


class _ConditionContext(IterativeCondition.Context):
    """What iterative conditions see; one object, renewed for each run."""

    __slots__ = ("_clock", "_events", "_of", "cell", "time")

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.cell: Cell | None = None
        self.time = 0
        self._of: Cell | None = None
        self._events: Match = {}

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """Return the events that the run has taken for a part."""
        if self._of is not self.cell:
            self._of, self._events = self.cell, events_of(self.cell)
        found = self._events.get(name) if self.cell is not None else None
        return () if found is None else tuple(found)

    def timestamp(self) -> int:
        """Return the time of the event."""
        return self.time

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._clock()


class Matcher:
    """Runs one automaton; what it knows of a key is in the :class:`KeyRuns` that it is given."""

    def __init__(self, automaton: Automaton, clock: Callable[[], int], max_runs: int | None = None) -> None:
        self.automaton = automaton
        self._decisions = Decisions(automaton)
        self._roots = self._decisions.roots
        self._start = self._roots[automaton.start]
        self._blank: list[bool | None] = [None] * len(automaton.atoms)
        self._atoms = automaton.atoms
        self._context = _ConditionContext(clock)
        self._skip = automaton.skip
        self._skips = automaton.skip.is_skip_strategy()
        self._window = automaton.window
        self._state_windows = [state.window for state in automaton.states]
        self._has_state_windows = automaton.has_state_windows
        self._is_pending = [state.kind is StateKind.PENDING for state in automaton.states]
        self._max_runs = max_runs
        self.dropped: list[Cell] = []
        """The half matches that were given up because there were too many, until somebody takes them."""
        self.ended: tuple[Cell, int, Any, int, bool] | None = None
        """The fields of :class:`~penstock.runtime.cep.half_matches.Ended` for what ended last, until it is taken."""

    def begins(self, value: Any, timestamp: int) -> tuple[Outcome, list[bool | None]]:
        """Return what an event begins, and the answers that were given on the way."""
        answers = self._blank.copy()
        return self._decide(self._start, value, timestamp, None, answers), answers

    def start_test(self) -> Callable[[Any], Any] | None:
        """Return what tells of an event alone whether it begins anything, if one simple condition decides that."""
        root = self._start
        if not isinstance(root, Question) or not root.is_simple:
            return None
        otherwise = self._decisions.follow(root, answer=False)
        return root.ask if isinstance(otherwise, Outcome) and not otherwise.branches else None

    @property
    def start_atom(self) -> int | None:
        """Return the number of the condition that is asked first of an event that may begin something."""
        return self._start.atom if isinstance(self._start, Question) else None

    def condition(self, atom: int) -> Any:
        """Return the condition with a number, as the program has written it."""
        condition = self._atoms[atom].condition
        return getattr(condition, "function", condition)

    def begin(self, kept: KeyRuns, value: Any, timestamp: int) -> list[Cell]:
        """Take an event for which ``start_test`` held, when nothing is kept."""
        answers = self._blank.copy()
        root: Any = self._start
        answers[root.atom] = True
        outcome = root.if_true
        if outcome.__class__ is not Outcome:
            outcome = self._decide(root, value, timestamp, None, answers)
        return self.process(kept, value, timestamp, (outcome, answers))

    def is_over(self, kept: KeyRuns, time: int) -> bool:
        """Tell whether time may have run out for something, so that ``advance`` must be called."""
        if self._has_state_windows:
            return True
        runs = kept.runs
        return bool(runs) and 0 < self._window <= time - runs[0].cell.first.timestamp

    def process(
        self, kept: KeyRuns, value: Any, timestamp: int, begun: tuple[Outcome, list[bool | None]] | None = None
    ) -> list[Cell]:
        """Take an event and return the matches that come out; ``begun`` is what ``begins`` said of it, if it was asked.

        Time must have been advanced to the event's.
        """
        answers = self._blank.copy() if begun is None else begun[1]
        roots, decide = self._roots, self._decide
        event: Taken | None = None
        matches: list[Cell] = []
        runs = kept.runs
        new_runs: list[Run] | None = None
        for position, run in enumerate(runs):
            root = roots[run.state]
            outcome = root if root.__class__ is Outcome else decide(root, value, timestamp, run.cell, answers)
            if outcome.is_unchanged:
                if new_runs is not None:
                    new_runs.append(run)
                continue
            if new_runs is None:
                new_runs = runs[:position]
            if outcome.is_stopped or not outcome.branches:
                self.ended = (run.cell, run.state, value, timestamp, outcome.is_stopped)
            if outcome.branches:
                event = self._branch(kept, outcome, run.cell, value, timestamp, event, new_runs, matches)
        begins = decide(self._start, value, timestamp, None, answers) if begun is None else begun[0]
        if begins.branches:
            if new_runs is None:
                new_runs = runs
            self._branch(kept, begins, None, value, timestamp, event, new_runs, matches)
        if new_runs is not None:
            kept.runs = new_runs
            kept.is_changed = True
            if self._max_runs is not None and len(new_runs) > self._max_runs:
                self.dropped.extend(run.cell for run in new_runs[: -self._max_runs])
                del new_runs[: -self._max_runs]
        if not self._skips:
            return matches
        return self._release(kept, matches) if matches or kept.held else matches

    def advance(self, kept: KeyRuns, time: int) -> tuple[list[Cell], list[tuple[Cell, int]]]:
        """Move time on; return the matches that come out, and the half matches whose time was over, with the moment."""
        runs, window = kept.runs, self._window
        if not runs or (not self._has_state_windows and (window <= 0 or time - runs[0].cell.first.timestamp < window)):
            return [], []
        left: list[Run] = []
        matches: list[Cell] = []
        timed_out: list[tuple[Cell, int]] = []
        for run in runs:
            cell = run.cell
            gap = self._state_windows[run.state]
            if gap > 0 and time - cell.event.timestamp >= gap:
                over = cell.event.timestamp + gap
            elif 0 < window <= time - cell.first.timestamp:
                over = cell.first.timestamp + window
            else:
                left.append(run)
                continue
            if self._is_pending[run.state]:
                matches.append(cell)
            else:
                timed_out.append((cell, over))
        if len(left) == len(runs):
            return [], []
        kept.runs = left
        kept.is_changed = True
        return self._release(kept, matches) if self._skips else matches, timed_out

    def deadline(self, kept: KeyRuns) -> int | None:
        """Return when the time of the first run is over, ``None`` if there is no such moment."""
        runs = kept.runs
        if not runs:
            return None
        first = runs[0].cell.first.timestamp + self._window if self._window > 0 else None
        if not self._has_state_windows:
            return first
        gaps = self._state_windows
        ends = [run.cell.event.timestamp + gaps[run.state] for run in runs if gaps[run.state] > 0]
        if first is not None:
            ends.append(first)
        return min(ends, default=None)

    def answers(self, state: int, value: Any, timestamp: int, cell: Cell | None) -> dict[int, bool]:
        """Return what the conditions that decide on an event in a state say, in the order in which they are asked."""
        said: dict[int, bool] = {}
        node: Any = self._roots[state]
        context = self._context
        context.cell, context.time = cell, timestamp
        while node.__class__ is not Outcome:
            answer = said[node.atom] = bool(node.ask(value) if node.is_simple else node.ask(value, context))
            after = node.if_true if answer else node.if_false
            node = self._decisions.follow(node, answer) if after is None else after
        return said

    def _decide(self, node: Any, value: Any, timestamp: int, cell: Cell | None, answers: list[bool | None]) -> Outcome:
        """Ask the conditions of a state until it is clear what the event does to a run."""
        try:
            while node.__class__ is not Outcome:
                if node.is_simple:
                    answer = answers[node.atom]
                    if answer is None:
                        answer = answers[node.atom] = bool(node.ask(value))
                else:
                    context = self._context
                    context.cell = cell
                    context.time = timestamp
                    answer = bool(node.ask(value, context))
                after = node.if_true if answer else node.if_false
                node = self._decisions.follow(node, answer) if after is None else after
        except BaseException as error:
            note_function(error, self.condition(node.atom))
            raise
        return node

    @staticmethod
    def _branch(
        kept: KeyRuns,
        outcome: Outcome,
        cell: Cell | None,
        value: Any,
        timestamp: int,
        event: Taken | None,
        runs: list[Run],
        matches: list[Cell],
    ) -> Taken | None:
        """Add what becomes of a run; return the event, if it was taken now or before."""
        is_stopped = outcome.is_stopped
        for branch in outcome.branches:
            if branch.part is None:
                after = cell
            else:
                if event is None:
                    kept.last_number = number = kept.last_number + 1
                    event = Taken(number, timestamp, value)
                after = Cell(cell, branch.part, event)
            assert after is not None
            if branch.is_kept and not is_stopped:
                runs.append(Run(branch.state, after))
            if branch.is_match:
                matches.append(after)
        return event

    def _release(self, kept: KeyRuns, matches: list[Cell]) -> list[Cell]:
        """Let out matches that no run with an earlier first event holds back, and drop what is skipped."""
        held = kept.held
        if matches:
            held = sorted([*held, *matches], key=lambda cell: cell.first.number)
        out: list[Cell] = []
        while held:
            match = held[0]
            if kept.runs and kept.runs[0].cell.first.number < match.first.number:
                break
            out.append(match)
            skipped = dropped_starts(self._skip, match)
            held = [other for other in held[1:] if other.first.number not in skipped]
            if skipped:
                kept.runs = [run for run in kept.runs if run.cell.first.number not in skipped]
        kept.held = held
        kept.is_changed = True
        return out
