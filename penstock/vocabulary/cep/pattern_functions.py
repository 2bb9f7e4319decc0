"""The functions of a program that see matches: select, flat select, process, and their twins for what timed out.

A match is a dictionary from the name of a part to the list of its events, in the order in which they were taken. A
part without an event is absent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = [
    "EventComparator",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternTimeoutFunction",
    "RichPatternFlatSelectFunction",
    "RichPatternSelectFunction",
    "TimedOutPartialMatchHandler",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class EventComparator(ABC, Generic[IN]):
    """Says which of two events with the same timestamp comes first."""

    @abstractmethod
    def compare(self, first: IN, second: IN) -> int:
        """Return a negative number if ``first`` comes first, a positive one if ``second`` does, 0 if either may."""


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """Turns each match into one result."""

    @abstractmethod
    def select(self, pattern: dict[str, list[IN]]) -> OUT:
        """Return the result of a match."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """Turns each match into any number of results."""

    @abstractmethod
    def flat_select(self, pattern: dict[str, list[IN]]) -> Iterable[OUT] | None:
        """Yield the results of a match."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """Turns each half match whose time is over into one result."""

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> OUT:
        """Return the result of a half match, whose time was over at ``timeout_timestamp``."""


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """Turns each half match whose time is over into any number of results."""

    @abstractmethod
    def timeout(self, pattern: dict[str, list[IN]], timeout_timestamp: int) -> Iterable[OUT] | None:
        """Yield the results of a half match, whose time was over at ``timeout_timestamp``."""


class RichPatternSelectFunction(PatternSelectFunction[IN, OUT]):
    """Is a ``PatternSelectFunction``; in Python all of them have ``open`` and ``close``."""


class RichPatternFlatSelectFunction(PatternFlatSelectFunction[IN, OUT]):
    """Is a ``PatternFlatSelectFunction``; in Python all of them have ``open`` and ``close``."""


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """Turns each match into any number of results and sees its time; ``TimedOutPartialMatchHandler`` adds timeouts."""

    class Context(ABC):
        """Tells about the match."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the time of the match: the last event's, or the time that released it."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock's time."""

        @abstractmethod
        def output(self, output_tag: OutputTag[Any], value: Any) -> None:
            """Send a value to a side output."""

    @abstractmethod
    def process_match(self, match: dict[str, list[IN]], ctx: PatternProcessFunction.Context) -> Iterable[OUT] | None:
        """Yield the results of a match."""


class TimedOutPartialMatchHandler(ABC, Generic[IN]):
    """Lets a ``PatternProcessFunction`` that derives from it, too, see half matches whose time is over."""

    @abstractmethod
    def process_timed_out_match(
        self, match: dict[str, list[IN]], ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """Yield the results of a half match, as a rule to side outputs: ``yield tag, value``."""
