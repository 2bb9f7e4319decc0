"""The conditions of a pattern as expressions: each condition of the program is one atom, however often it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.graph.cep.automaton import Atom, conjunction, negation
from penstock.vocabulary.cep.conditions import RichAndCondition, RichNotCondition, RichOrCondition, is_simple

if TYPE_CHECKING:
    from penstock.graph.cep.automaton import Expression
    from penstock.vocabulary.cep.pattern import Pattern

__all__ = ["Atoms"]


class Atoms:
    """Gathers the atoms of one pattern."""

    def __init__(self) -> None:
        self.found: list[Atom] = []
        self._numbers: dict[int, int] = {}

    def condition_of(self, part: Pattern[Any]) -> Expression:
        """Return the condition of a part."""
        condition = part._condition
        return True if condition is None else self._expression(condition, part, "where")

    def until_of(self, part: Pattern[Any]) -> Expression | None:
        """Return what ends a part that loops."""
        until = part.get_until_condition()
        return None if until is None else self._expression(until, part, "until")

    def _expression(self, condition: Any, part: Pattern[Any], role: str) -> Expression:
        kind = type(condition)
        # One whose parts are all simple stays whole: it is asked once for an event.
        if kind in (RichAndCondition, RichOrCondition, RichNotCondition) and not is_simple(condition):
            nested = [self._expression(inner, part, role) for inner in condition.nested]
            if kind is RichNotCondition:
                return negation(nested[0])
            return conjunction(*nested) if kind is RichAndCondition else ("or", nested[0], nested[1])
        number = self._numbers.get(id(condition))
        if number is None:
            number = self._numbers[id(condition)] = len(self.found)
            self.found.append(Atom(condition, is_simple(condition), part.get_name(), role))
        return number
