"""What a pattern can do to a job that its author may not expect, said when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.graph.cep.pattern_checks import all_parts, window_of
from penstock.vocabulary.cep.conditions import is_simple
from penstock.vocabulary.cep.quantifier import ConsumingStrategy

if TYPE_CHECKING:
    from penstock.vocabulary.cep.pattern import Pattern

__all__ = ["warnings_of"]


def warnings_of(pattern: Pattern[Any], *, has_limit: bool = False) -> list[str]:
    """Return what should be said about a pattern; ``has_limit``: the number of half matches is bounded."""
    found = [f"Part {part.get_name()!r}: {hint}." for part in all_parts(pattern) for hint in part.hints]
    if window_of(pattern) > 0:
        return found
    skip = pattern.get_after_match_skip_strategy()
    if skip.is_skip_strategy() and len(pattern.parts) > 1:
        found.append(
            f"{skip} holds a match back while an earlier half match is alive, and without within() one that nothing"
            " completes stays alive for ever. Add within()."
        )
    if not has_limit:
        found.extend(_growth(pattern))
    return found


def _growth(pattern: Pattern[Any]) -> list[str]:
    """Return which parts let half matches pile up."""
    found = []
    for part in all_parts(pattern):
        quantifier = part.get_quantifier()
        name = part.get_name()
        inner = quantifier.get_inner_consuming_strategy()
        if quantifier.is_looping and part.get_until_condition() is None and inner is not ConsumingStrategy.STRICT:
            found.append(
                f"Part {name!r} repeats without an end: its half matches are kept for ever. Add within(), until() or"
                " max_runs_per_key()."
            )
        elif quantifier.get_consuming_strategy() is ConsumingStrategy.SKIP_TILL_ANY:
            asked = "" if is_simple(part.get_condition()) else " Its condition is asked for each of them."
            found.append(
                f"Part {name!r} comes by followed_by_any(): a half match waits for it for ever, whatever it has found."
                f"{asked} Add within() or max_runs_per_key()."
            )
    return found
