"""Tells why a pattern has not matched: how far the half matches of a key are, and what the last event lacked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.cep.automaton import Action, StateKind
from penstock.runtime.calls.functions import describe_function
from penstock.runtime.cep.runs import events_of
from penstock.vocabulary.time.durations import format_duration

if TYPE_CHECKING:
    from penstock.graph.cep.automaton import Automaton
    from penstock.runtime.cep.matcher import Matcher
    from penstock.runtime.cep.runs import Cell, KeyRuns, Match

__all__ = ["Ended", "HalfMatch", "half_matches", "waits_for", "why_no_match"]


@dataclass(frozen=True)
class HalfMatch:
    """A half match as a person wants to see it."""

    events: Match
    waits_for: tuple[str, ...]
    """The parts that may take the next event."""
    started: int
    """The timestamp of its first event."""
    ends: int | None
    """When its time is over, ``None`` if never."""


@dataclass(frozen=True)
class Ended:
    """A half match that an event has ended."""

    cell: Cell
    state: int
    value: Any
    timestamp: int
    is_stopped: bool
    """Whether the event is one that must not happen; otherwise it was not the next one that was needed."""


def waits_for(automaton: Automaton, state: int) -> tuple[str, ...]:
    """Return the parts whose event a half match in a state may take next; those it must not have are left out."""
    found: dict[str, None] = {}
    to_visit, seen = [state], {state}
    while to_visit:
        current = automaton.states[to_visit.pop()]
        if current.kind is StateKind.STOP:
            continue
        if current.kind is StateKind.PENDING:
            found[f"the time to pass without {current.part}"] = None
        for edge in current.edges:
            if edge.action is Action.TAKE:
                found[current.part] = None
            elif edge.action is Action.PROCEED and edge.target not in seen:
                seen.add(edge.target)
                to_visit.append(edge.target)
    return tuple(found)


def half_matches(automaton: Automaton, kept: KeyRuns | None) -> list[HalfMatch]:
    """Return the half matches of a key, the oldest first."""
    found = []
    for run in [] if kept is None else kept.runs:
        cell, gap = run.cell, automaton.states[run.state].window
        ends = [cell.first.timestamp + automaton.window] if automaton.window > 0 else []
        ends += [cell.event.timestamp + gap] if gap > 0 else []
        found.append(
            HalfMatch(
                events_of(cell), waits_for(automaton, run.state), cell.first.timestamp, min(ends) if ends else None
            )
        )
    return found


def why_no_match(
    matcher: Matcher,
    kept: KeyRuns | None,
    *,
    key: Any,
    now: int | None,
    last: tuple[int, Any] | None,
    ended: Ended | None,
) -> str:
    """Return a text: the half match that is furthest, what it waits for, what refused the last event, the time left.

    Args:
        matcher: What matches.
        kept: What is kept of the key.
        key: The key.
        now: The watermark, or the clock's time.
        last: The last event of the key, if it is known.
        ended: The half match of the key that was ended last, if it is known.
    """
    automaton = matcher.automaton
    lines = [f"key {key!r}:"]
    if kept is None or not kept.runs:
        lines.append("  no half match")
        if last is not None:
            lines += _refusals(matcher, automaton.start, None, last)
    else:
        furthest = max(kept.runs, key=lambda run: _length(run.cell))
        half = half_matches(automaton, kept)[kept.runs.index(furthest)]
        lines.append(f"  {len(kept.runs)} half match{'' if len(kept.runs) == 1 else 'es'}; the furthest has")
        lines += [f"    {part}: {_shown(events)}" for part, events in half.events.items()]
        lines.append(f"  and waits for {' or '.join(half.waits_for)}")
        lines.append(f"  {_time_left(half, now)}")
        if last is not None and last[0] >= furthest.cell.event.timestamp and last[1] is not furthest.cell.event.value:
            lines += _refusals(matcher, furthest.state, furthest.cell, last)
    if kept is not None and kept.held:
        lines.append(f"  {len(kept.held)} complete, but held back by an earlier half match ({automaton.skip})")
    if ended is not None:
        lines += _end_of(automaton, ended)
    return "\n".join(lines)


def _refusals(matcher: Matcher, state: int, cell: Cell | None, last: tuple[int, Any]) -> list[str]:
    timestamp, value = last
    answers = matcher.answers(state, value, timestamp, cell)
    lines = [f"  the last event, {_shown([value])} at {timestamp}, met"]
    for number, answer in answers.items():
        atom = matcher.automaton.atoms[number]
        function = getattr(atom.condition, "function", atom.condition)
        said = "took" if answer else "refused"
        if atom.role == "until":
            said = "ended" if answer else "did not end"
        lines.append(f"    the condition of {atom.part!r}, which {said} it: {describe_function(function)}")
    return lines if answers else []


def _end_of(automaton: Automaton, ended: Ended) -> list[str]:
    parts = " ".join(part for part in events_of(ended.cell))
    wanted = " or ".join(waits_for(automaton, ended.state))
    why = "which must not happen there" if ended.is_stopped else f"but {wanted} had to be the very next event"
    event = f"{_shown([ended.value])} at {ended.timestamp}"
    return [f"  the last half match that ended had {parts}; it ended with {event}, {why}"]


def _time_left(half: HalfMatch, now: int | None) -> str:
    if half.ends is None:
        return "its time is not bounded"
    if now is None or now < half.started:
        return f"its time is over at {half.ends}"
    return f"its time is over at {half.ends}, in {format_duration(max(0, half.ends - now))}"


def _length(cell: Cell | None) -> int:
    length = 0
    while cell is not None:
        length += 1
        cell = cell.previous
    return length


def _shown(events: list[Any]) -> str:
    try:
        text = ", ".join(repr(event) for event in events)
    except Exception as error:
        return f"<event whose repr raises {type(error).__name__}>"
    return text if len(text) <= 200 else f"{text[:200]}..."
