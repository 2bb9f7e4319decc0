"""What an event does to a half match in a state, as a tree of questions that grows as they are asked.

For each state the tree asks conditions one after the other, in the order in which the edges are looked at, and ends in
an :class:`Outcome`. A condition is asked only if the answer matters, and a simple one once for an event: its answer is
kept while the event is matched, for all half matches and all states. A branch is worked out when an event takes it for
the first time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.cep.automaton import Action, StateKind
from penstock.vocabulary.cep.conditions import CallableCondition, IterativeCallableCondition

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.cep.automaton import Atom, Automaton, Expression, State

__all__ = ["Branch", "Decisions", "Outcome", "Question"]


@dataclass(frozen=True, slots=True)
class Branch:
    """What becomes of a half match: one of several, if it branches."""

    part: str | None
    """What the event is taken for, ``None`` if it is passed by."""
    state: int
    is_kept: bool
    """Whether there is a half match in that state from now on."""
    is_match: bool
    """Whether the match is complete."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an event does to a half match."""

    branches: tuple[Branch, ...]
    is_unchanged: bool
    """Whether nothing happens but that the event is passed by."""
    is_stopped: bool
    """Whether what must not happen has happened, so that nothing of the half match is kept."""


class Question:
    """A condition to ask; the answer leads to the next question or to the outcome."""

    __slots__ = ("ask", "atom", "if_false", "if_true", "is_simple", "known", "state")

    def __init__(self, state: int, atom: int, known: dict[int, bool], ask: Callable[..., Any], is_simple: bool) -> None:  # noqa: FBT001
        self.state = state
        self.atom = atom
        self.known = known
        self.ask = ask
        self.is_simple = is_simple
        self.if_true: Question | Outcome | None = None
        self.if_false: Question | Outcome | None = None


class _UnknownError(Exception):
    """The answer to a condition is needed."""

    def __init__(self, atom: int) -> None:
        super().__init__(atom)
        self.atom = atom


class Decisions:
    """The trees of one automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self._states = automaton.states
        self._start = automaton.start
        self._atoms = automaton.atoms
        self._asks = [_ask(atom) for atom in automaton.atoms]
        self.roots: list[Question | Outcome] = [self._grow(number, {}) for number in range(len(automaton.states))]

    def follow(self, question: Question, answer: bool) -> Question | Outcome:  # noqa: FBT001 - it is the answer
        """Return what comes after an answer, for the first time that it is given."""
        grown = self._grow(question.state, {**question.known, question.atom: answer})
        if answer:
            question.if_true = grown
        else:
            question.if_false = grown
        return grown

    def _grow(self, state: int, known: dict[int, bool]) -> Question | Outcome:
        try:
            return self._outcome(state, known)
        except _UnknownError as unknown:
            atom = unknown.atom
            return Question(state, atom, known, self._asks[atom], self._atoms[atom].is_simple)

    def _outcome(self, number: int, known: dict[int, bool]) -> Outcome:
        branches: list[Branch] = []
        is_stopped = False
        is_start = number == self._start
        to_visit: list[tuple[int, frozenset[int]]] = [(number, frozenset())]
        while to_visit:
            current, way = to_visit.pop()
            source = self._states[current]
            for edge in source.edges:
                if not _holds(edge.condition, known):
                    continue
                if edge.action is Action.PROCEED:
                    if edge.target not in way and edge.target != current:
                        to_visit.append((edge.target, way | {current}))
                elif source.kind is StateKind.STOP:
                    is_stopped = True
                elif edge.action is Action.TAKE:
                    branches.append(self._taking(source, edge.target, known))
                elif not is_start:
                    is_match = self._states[edge.target].kind is StateKind.FINAL
                    branches.append(Branch(None, edge.target, not is_match, is_match))
        is_unchanged = not is_stopped and branches == [Branch(None, number, is_kept=True, is_match=False)]
        return Outcome(tuple(branches), is_unchanged, is_stopped)

    def _taking(self, source: State, target: int, known: dict[int, bool]) -> Branch:
        is_final = self._states[target].kind is StateKind.FINAL
        return Branch(source.part, target, not is_final, is_final or self._reaches_final(target, known))

    def _reaches_final(self, state: int, known: dict[int, bool]) -> bool:
        """Tell whether the way to the end is free on this event."""
        to_visit, seen = [state], {state}
        while to_visit:
            for edge in self._states[to_visit.pop()].edges:
                if edge.action is Action.PROCEED and _holds(edge.condition, known):
                    if self._states[edge.target].kind is StateKind.FINAL:
                        return True
                    if edge.target not in seen:
                        seen.add(edge.target)
                        to_visit.append(edge.target)
        return False


def _holds(expression: Expression, known: dict[int, bool]) -> bool:
    if isinstance(expression, bool):
        return expression
    if isinstance(expression, int):
        answer = known.get(expression)
        if answer is None:
            raise _UnknownError(expression)
        return answer
    if expression[0] == "not":
        return not _holds(expression[1], known)
    _, left, right = expression  # type: ignore[misc]
    if expression[0] == "and":
        return _holds(left, known) and _holds(right, known)
    return _holds(left, known) or _holds(right, known)


def _ask(atom: Atom) -> Callable[..., Any]:
    """Return what is called to ask a condition: the program's own function, where it is nothing but one."""
    condition = atom.condition
    if type(condition) in (CallableCondition, IterativeCallableCondition):
        function: Callable[..., Any] = condition.function
        return function
    if atom.is_simple and hasattr(condition, "nested"):
        return lambda value: condition.filter(value, None)
    filter_: Callable[..., Any] = condition.filter
    return filter_
