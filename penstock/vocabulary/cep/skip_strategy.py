"""What happens to other half matches when a match has come out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import location

__all__ = ["AfterMatchSkipStrategy", "SkipKind"]


class SkipKind(Enum):
    """The five ways."""

    NO_SKIP = "no_skip"
    SKIP_TO_NEXT = "skip_to_next"
    SKIP_PAST_LAST_EVENT = "skip_past_last_event"
    SKIP_TO_FIRST = "skip_to_first"
    SKIP_TO_LAST = "skip_to_last"


@dataclass(frozen=True)
class AfterMatchSkipStrategy:
    """Says which half matches are dropped when a match comes out; made by its static methods."""

    kind: SkipKind = SkipKind.NO_SKIP
    pattern_name: str | None = None
    throws_on_miss: bool = False

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """Drop nothing: every match comes out."""
        return AfterMatchSkipStrategy(SkipKind.NO_SKIP)

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """Drop what began with the same event as the match."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_NEXT)

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """Drop what began before the match ended."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_PAST_LAST_EVENT)

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop what began before the first event of a part in the match."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_FIRST, _name(pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """Drop what began before the last event of a part in the match."""
        return AfterMatchSkipStrategy(SkipKind.SKIP_TO_LAST, _name(pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """Let the job fail where the part has no event in a match, or its event is the first of the match."""
        if self.pattern_name is None:
            message = (
                f"throw_exception_on_miss() is for skip_to_first() and skip_to_last(), not for {self.kind.value}()."
            )
            raise ProgramError(message, location())
        return replace(self, throws_on_miss=True)

    def is_skip_strategy(self) -> bool:
        """Tell whether anything can be dropped."""
        return self.kind is not SkipKind.NO_SKIP

    def get_pattern_name(self) -> str | None:
        """Return the part that is skipped to, if the strategy names one."""
        return self.pattern_name

    def __str__(self) -> str:
        name = "" if self.pattern_name is None else repr(self.pattern_name)
        return f"{self.kind.value}({name})" + (".throw_exception_on_miss()" if self.throws_on_miss else "")


def _name(pattern_name: str) -> str:
    if not isinstance(pattern_name, str):
        message = f"A part is named by a string, not by {pattern_name!r:.80}."
        raise ProgramError(message, location())
    return pattern_name
