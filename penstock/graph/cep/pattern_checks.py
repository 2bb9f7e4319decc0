"""What can only be refused once a pattern is complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import MalformedPatternException
from penstock.vocabulary.cep.pattern import GroupPattern
from penstock.vocabulary.cep.quantifier import WithinType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.vocabulary.cep.pattern import Pattern

__all__ = ["END", "all_parts", "check_names", "check_skip_strategy", "window_of"]

END = "$endState$"
"""The name of the final state."""


def all_parts(pattern: Pattern[Any]) -> Iterator[Pattern[Any]]:
    """Return all parts from the first to the last, those inside of groups too, but not the groups themselves."""
    for part in pattern.parts:
        if isinstance(part, GroupPattern):
            yield from all_parts(part.get_raw_pattern())
        else:
            yield part


def check_names(pattern: Pattern[Any]) -> None:
    """Refuse names that occur twice."""
    used = {END}
    for part in all_parts(pattern):
        name = part.get_name()
        if name in used:
            message = f"Duplicate pattern name: {name}. Names must be unique."
            raise MalformedPatternException(message, part.location)
        used.add(name)


def check_skip_strategy(pattern: Pattern[Any]) -> None:
    """Refuse to skip to a part that is not there."""
    wanted = pattern.get_after_match_skip_strategy().get_pattern_name()
    names = [part.get_name() for part in pattern.parts if not isinstance(part, GroupPattern)]
    if wanted is not None and wanted not in names:
        message = (
            f"The pattern has no part {wanted!r} to skip to. Its parts, without those inside of groups, are:"
            f" {', '.join(names)}."
        )
        raise MalformedPatternException(message, pattern.parts[0].location)


def window_of(pattern: Pattern[Any]) -> int:
    """Return the bound between first and last event: the smallest that a part has, 0 if none has."""
    return min(_windows(pattern, with_last=True), default=0)


def _windows(pattern: Pattern[Any], *, with_last: bool) -> Iterator[int]:
    """Return the bounds along a chain; as in Flink, that of the last part inside of a group is overlooked."""
    for part in pattern.parts:
        window = part._windows.get(WithinType.FIRST_AND_LAST)
        if window is not None and (with_last or part is not pattern):
            yield window
        if isinstance(part, GroupPattern):
            yield from _windows(part.get_raw_pattern(), with_last=False)
