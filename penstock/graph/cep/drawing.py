"""Draws an automaton: states from left to right, ways onward as arcs above, free ways and loops below."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from penstock.graph.cep.automaton import Action, StateKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.cep.automaton import Automaton, Expression

__all__ = ["draw"]

_STEP, _RADIUS, _MARGIN = 190, 32, 60
_STYLES = {Action.TAKE: "", Action.IGNORE: ' stroke-dasharray="6 4"', Action.PROCEED: ' stroke-dasharray="2 3"'}
_COLOURS = {Action.TAKE: "#1a5e20", Action.IGNORE: "#777777", Action.PROCEED: "#1a3e7a"}


def draw(automaton: Automaton, text_of: Callable[[Automaton, Expression], str]) -> str:
    """Return the automaton as SVG; ``text_of`` puts conditions into words."""
    order = _from_left_to_right(automaton)
    places = {state: _MARGIN + _STEP // 2 + _STEP * position for position, state in enumerate(order)}
    widest = max(1, len(order) - 1)
    middle = _MARGIN + 46 * min(widest, 5)
    width, height = _MARGIN * 2 + _STEP * len(order), 2 * middle
    body: list[str] = []
    for number in order:
        state = automaton.states[number]
        own = 0
        for edge in state.edges:
            if state.kind is StateKind.STOP or edge.target not in places:
                continue
            said = f"{edge.action.value}: {text_of(automaton, edge.condition)}"
            if edge.target == number:
                body += _loop(places[number], middle, said, edge.action, own)
                own += 1
            else:
                body += _arc(places[number], places[edge.target], middle, said, edge.action)
        body += _circle(places[number], middle, "match" if state.kind is StateKind.FINAL else state.name, state.kind)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        ' font-family="sans-serif" font-size="12" text-anchor="middle">'
    )
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    )
    return "\n".join([head, marker, *body, "</svg>"])


def _from_left_to_right(automaton: Automaton) -> list[int]:
    """Return the states by their distance from the start, the final one last."""
    distance, to_visit = {automaton.start: 0}, [automaton.start]
    while to_visit:
        current = to_visit.pop(0)
        for edge in automaton.states[current].edges:
            if edge.target not in distance:
                distance[edge.target] = distance[current] + 1
                to_visit.append(edge.target)
    return sorted(
        distance, key=lambda number: (automaton.states[number].kind is StateKind.FINAL, distance[number], number)
    )


def _circle(x: int, y: int, text: str, kind: StateKind) -> list[str]:
    fill = {StateKind.START: "#e3f2e6", StateKind.FINAL: "#fff4d6", StateKind.STOP: "#fbe0e0"}.get(kind, "white")
    dashes = ' stroke-dasharray="4 3"' if kind is StateKind.PENDING else ""
    shapes = [f'<circle cx="{x}" cy="{y}" r="{_RADIUS}" fill="{fill}" stroke="black"{dashes}/>']
    if kind is StateKind.FINAL:
        shapes.append(f'<circle cx="{x}" cy="{y}" r="{_RADIUS - 4}" fill="none" stroke="black"/>')
    return [*shapes, f'<text x="{x}" y="{y + 4}">{escape(text)}</text>']


def _arc(left: int, right: int, y: int, text: str, action: Action) -> list[str]:
    up = -1 if action is Action.TAKE else 1
    rise = 26 + 40 * min(5, abs(right - left) // _STEP)
    start, end = y + up * _RADIUS, y + up * (_RADIUS + 3)
    peak = y + up * (rise + _RADIUS)
    path = f"M{left} {start} Q{(left + right) // 2} {peak + up * 26} {right} {end}"
    return [
        f'<path d="{path}" fill="none" stroke="{_COLOURS[action]}"{_STYLES[action]} marker-end="url(#tip)"/>',
        f'<text x="{(left + right) // 2}" y="{y + up * (rise // 2 + 26) + 6}" fill="{_COLOURS[action]}">'
        f"{escape(text)}</text>",
    ]


def _loop(x: int, y: int, text: str, action: Action, number: int) -> list[str]:
    up = -1 if action is Action.TAKE else 1
    reach = y + up * (_RADIUS + 44 + 22 * number)
    path = f"M{x - 14} {y + up * 29} C{x - 36} {reach} {x + 36} {reach} {x + 14} {y + up * 31}"
    return [
        f'<path d="{path}" fill="none" stroke="{_COLOURS[action]}"{_STYLES[action]} marker-end="url(#tip)"/>',
        f'<text x="{x}" y="{reach + up * 6}" fill="{_COLOURS[action]}">{escape(text)}</text>',
    ]
