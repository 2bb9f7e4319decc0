"""The automaton that a pattern is compiled to: flat tables, so that it travels to the workers whatever its size.

A state has edges. *Take* consumes the event, *ignore* passes it by, *proceed* is free: it goes on to another state,
which looks at the same event. Each edge has a condition, an expression over *atoms*: the conditions of the program,
each of them once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy

__all__ = ["Action", "Atom", "Automaton", "Edge", "Expression", "State", "StateKind", "conjunction", "negation"]

Expression: TypeAlias = "bool | int | tuple[str, Any] | tuple[str, Any, Any]"
"""True or False, the number of an atom, ``("not", e)``, ``("and", e, e)`` or ``("or", e, e)``."""


class Action(Enum):
    """What an edge does with the event."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"


class StateKind(Enum):
    """What reaching a state means."""

    NORMAL = "normal"
    START = "start"
    FINAL = "final"
    STOP = "stop"
    PENDING = "pending"
    """The match is complete when the time is over."""


@dataclass(frozen=True)
class Atom:
    """A condition of the program and what it is for."""

    condition: Any
    is_simple: bool
    part: str
    role: str
    """``where`` or ``until``."""


@dataclass(frozen=True)
class Edge:
    """A way out of a state."""

    action: Action
    target: int
    condition: Expression


@dataclass(frozen=True)
class State:
    """A state; ``name`` is unique, ``part`` is what an event that it takes belongs to."""

    name: str
    part: str
    kind: StateKind
    edges: tuple[Edge, ...]
    window: int = 0
    """How long after the event before a half match may wait here, in milliseconds; 0: without end."""


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern."""

    states: tuple[State, ...]
    start: int
    atoms: tuple[Atom, ...]
    window: int
    """How long a match may take from its first event to its last, in milliseconds; 0: without end."""
    skip: AfterMatchSkipStrategy
    description: tuple[tuple[str, str], ...]
    """Each part with what was said about it, for comparison with the pattern of a snapshot."""

    @property
    def has_state_windows(self) -> bool:
        """Tell whether there are bounds on the time since the event before."""
        return any(state.window > 0 for state in self.states)

    @property
    def has_windows(self) -> bool:
        """Tell whether half matches can time out."""
        return self.window > 0 or self.has_state_windows

    def number_of(self, name: str) -> int | None:
        """Return the state of a name."""
        return next((number for number, state in enumerate(self.states) if state.name == name), None)


def negation(expression: Expression) -> Expression:
    """Return what holds where an expression does not."""
    if isinstance(expression, bool):
        return not expression
    if isinstance(expression, tuple) and expression[0] == "not":
        inner: Expression = expression[1]
        return inner
    return ("not", expression)


def conjunction(left: Expression, right: Expression) -> Expression:
    """Return what holds where both do; the left one is asked first."""
    if left is True or right is False:
        return right
    return left if right is True or left is False else ("and", left, right)
