"""A pattern and its automaton, explained: as text, as a drawing in SVG, or in the language of Graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.graph.cep.automaton import Action, StateKind
from penstock.graph.cep.compiler import compile_pattern
from penstock.graph.cep.drawing import draw
from penstock.graph.cep.pattern_warnings import warnings_of
from penstock.vocabulary.time.durations import format_duration

if TYPE_CHECKING:
    from penstock.graph.cep.automaton import Automaton, Edge, Expression
    from penstock.vocabulary.cep.pattern import Pattern

__all__ = ["condition_text", "explain"]

_SHAPES = {
    StateKind.START: "shape=circle style=bold",
    StateKind.FINAL: "shape=doublecircle",
    StateKind.STOP: "shape=octagon",
    StateKind.PENDING: "shape=circle style=dashed",
    StateKind.NORMAL: "shape=circle",
}
_LINES = {Action.TAKE: "solid", Action.IGNORE: "dashed", Action.PROCEED: "dotted"}


def explain(pattern: Pattern[Any], form: str = "text") -> str:
    """Return what a pattern does: its parts, its automaton, and what to beware of.

    Args:
        pattern: The pattern.
        form: ``text``, ``svg`` for a drawing, or ``dot`` for Graphviz; the drawings show the automaton only.
    """
    automaton = compile_pattern(pattern)
    if form == "text":
        return _text(pattern, automaton)
    if form == "dot":
        return _dot(automaton)
    if form == "svg":
        return draw(automaton, condition_text)
    message = f"explain() gives text, svg or dot, not {form!r}."
    raise ProgramError(message)


def condition_text(automaton: Automaton, expression: Expression) -> str:
    """Return a condition in words: the parts whose conditions it asks."""
    if isinstance(expression, bool):
        return "any event" if expression else "no event"
    if isinstance(expression, int):
        atom = automaton.atoms[expression]
        return f"until of {atom.part}" if atom.role == "until" else f"is {atom.part}"
    if expression[0] == "not":
        inner = expression[1]
        if isinstance(inner, int) and automaton.atoms[inner].role == "where":
            return f"is not {automaton.atoms[inner].part}"
        return f"not ({condition_text(automaton, inner)})"
    _, left, right = expression  # type: ignore[misc]
    return f"{condition_text(automaton, left)} {expression[0]} {condition_text(automaton, right)}"


def _text(pattern: Pattern[Any], automaton: Automaton) -> str:
    lines = ["parts"]
    lines += [f"  {name}: {said}" for name, said in automaton.description]
    lines.append(f"after a match: {automaton.skip}")
    lines.append(f"from first to last event: {_bound(automaton.window)}")
    lines.append("states")
    for number in _in_order(automaton):
        state = automaton.states[number]
        kind = "" if state.kind is StateKind.NORMAL else f" ({state.kind.value})"
        gap = f", at most {format_duration(state.window)} after the event before" if state.window else ""
        lines.append(f"  {state.name}{kind}{gap}")
        if state.kind is not StateKind.STOP:
            lines += [f"    {_edge_text(automaton, edge)}" for edge in state.edges]
    lines += [f"beware: {text}" for text in warnings_of(pattern)]
    return "\n".join(lines)


def _bound(window: int) -> str:
    return f"less than {format_duration(window)}" if window > 0 else "any time"


def _edge_text(automaton: Automaton, edge: Edge) -> str:
    target = automaton.states[edge.target].name
    return f"{edge.action.value} -> {target}: {condition_text(automaton, edge.condition)}"


def _in_order(automaton: Automaton) -> list[int]:
    """Return the states that can be reached, the start first, the end last."""
    found, to_visit = [automaton.start], [automaton.start]
    while to_visit:
        for edge in automaton.states[to_visit.pop(0)].edges:
            if edge.target not in found:
                found.append(edge.target)
                to_visit.append(edge.target)
    return sorted(found, key=lambda number: automaton.states[number].kind is StateKind.FINAL)


def _dot(automaton: Automaton) -> str:
    lines = ["digraph pattern {", "  rankdir=LR;"]
    for number in _in_order(automaton):
        state = automaton.states[number]
        label = "match" if state.kind is StateKind.FINAL else _quoted(state.name)
        lines.append(f'  s{number} [label="{label}" {_SHAPES[state.kind]}];')
        for edge in state.edges:
            if state.kind is not StateKind.STOP:
                said = _quoted(f"{edge.action.value}: {condition_text(automaton, edge.condition)}")
                lines.append(f'  s{number} -> s{edge.target} [label="{said}" style={_LINES[edge.action]}];')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
