"""What a pattern says about each part, in words: for comparison with the pattern of a snapshot, and for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.vocabulary.cep.pattern import GroupPattern
from penstock.vocabulary.cep.quantifier import ConsumingStrategy, WithinType
from penstock.vocabulary.time.durations import format_duration

if TYPE_CHECKING:
    from penstock.vocabulary.cep.pattern import Pattern

__all__ = ["describe", "part_text"]

_CALLS = {
    ConsumingStrategy.STRICT: "next",
    ConsumingStrategy.SKIP_TILL_NEXT: "followed_by",
    ConsumingStrategy.SKIP_TILL_ANY: "followed_by_any",
    ConsumingStrategy.NOT_NEXT: "not_next",
    ConsumingStrategy.NOT_FOLLOW: "not_followed_by",
}


def describe(pattern: Pattern[Any]) -> tuple[tuple[str, str], ...]:
    """Return each part's name, with the groups around it, and what was said about it; conditions cannot be compared."""
    return tuple(_describe(pattern, ""))


def _describe(pattern: Pattern[Any], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for number, part in enumerate(pattern.parts, 1):
        if isinstance(part, GroupPattern):
            name = f"{prefix}group {number}"
            found.append((name, part_text(part)))
            found.extend(_describe(part.get_raw_pattern(), f"{name} / "))
        else:
            found.append((f"{prefix}{part.get_name()}", part_text(part)))
    return found


def part_text(part: Pattern[Any]) -> str:
    """Return what was said about a part, but for its condition."""
    quantifier, times = part.get_quantifier(), part.get_times()
    is_first = part.get_previous() is None
    words = ["begin" if is_first else _CALLS[quantifier.get_consuming_strategy()]]
    if times is not None:
        gap = "" if times.window is None else f", {format_duration(times.window)}"
        if quantifier.is_looping:
            words.append(f"times_or_more({times.from_times}{gap})")
        elif times.from_times == times.to_times:
            words.append(f"times({times.from_times}{gap})")
        else:
            words.append(f"times({times.from_times}, {times.to_times}{gap})")
        inner = quantifier.get_inner_consuming_strategy()
        if inner is ConsumingStrategy.STRICT:
            words.append("consecutive()")
        elif inner is ConsumingStrategy.SKIP_TILL_ANY:
            words.append("allow_combinations()")
    if quantifier.is_optional:
        words.append("optional()")
    if quantifier.is_greedy:
        words.append("greedy()")
    if part.get_until_condition() is not None:
        words.append("until()")
    for within_type in WithinType:
        window = part.get_window_size(within_type)
        if window is not None:
            kind = "" if within_type is WithinType.FIRST_AND_LAST else ", previous and current"
            words.append(f"within({format_duration(window.to_millis())}{kind})")
    return ".".join(words)
