"""Patterns of events: parts one after the other, each with its condition, how often it occurs and what may lie before.

A pattern is written part by part. ``where``, ``or_``, ``subtype``, ``until``, ``within`` and the quantifiers change the
last part and return it; ``next``, ``followed_by`` and the others begin a new part that points back to the one before.
What contradicts itself is refused by the call that says it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from penstock.errors import MalformedPatternException, ProgramError
from penstock.vocabulary.cep.conditions import (
    BooleanConditions,
    IterativeCondition,
    RichAndCondition,
    RichOrCondition,
    SubtypeCondition,
    as_condition,
)
from penstock.vocabulary.cep.quantifier import ConsumingStrategy, Quantifier, Times, WithinType
from penstock.vocabulary.cep.skip_strategy import AfterMatchSkipStrategy
from penstock.vocabulary.program_checks import location
from penstock.vocabulary.time.durations import Duration, Time, to_millis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["GroupPattern", "Pattern", "PatternWarning"]

T = TypeVar("T")


class Pattern(Generic[T]):
    """A part of a pattern, and with it the pattern that ends there; ``begin`` makes the first part."""

    def __init__(
        self,
        name: str,
        previous: Pattern[T] | None,
        consuming_strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        self._name = name
        self._previous = previous
        self._quantifier = Quantifier.one(consuming_strategy)
        self._skip_strategy = after_match_skip_strategy
        self._condition: IterativeCondition[Any] | None = None
        self._until: IterativeCondition[Any] | None = None
        self._times: Times | None = None
        self._windows: dict[WithinType, int] = {}
        self.hints: tuple[str, ...] = ()
        """What is allowed but will surprise; shown when the pattern is used."""
        self.location = location()
        """``file:line`` of the call that began the part."""

    @staticmethod
    def begin(
        name_or_pattern: str | Pattern[Any], after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern[Any]:
        """Begin a pattern with its first part, or with a pattern as a group."""
        skip = after_match_skip_strategy or AfterMatchSkipStrategy.no_skip()
        if not isinstance(skip, AfterMatchSkipStrategy):
            message = f"begin() needs an AfterMatchSkipStrategy as its second argument, not {skip!r:.80}."
            raise ProgramError(message, location())
        return _part("begin", name_or_pattern, None, ConsumingStrategy.STRICT, skip)

    @staticmethod
    def parse(
        text: str,
        conditions: Mapping[str, Any] | None = None,
        after_match_skip_strategy: AfterMatchSkipStrategy | None = None,
    ) -> Pattern[Any]:
        """Read a pattern from a text such as ``small next big within 10 min``; see the guide for its grammar.

        Args:
            text: The pattern.
            conditions: The condition of each part by its name, and those that the text names elsewhere.
            after_match_skip_strategy: What to skip after a match, if the text does not say it.
        """
        from penstock.vocabulary.cep.pattern_text import parse_pattern

        return parse_pattern(text, conditions or {}, after_match_skip_strategy)

    def where(self, condition: Any) -> Self:
        """Let the part take only events for which a condition holds, beside those said before."""
        self._check_no_group("where")
        return self._and(as_condition(condition, "where"))

    def or_(self, condition: Any) -> Self:
        """Let the part take also events for which a condition holds, whatever was said before."""
        self._check_no_group("or_")
        checked = as_condition(condition, "or_")
        self._condition = checked if self._condition is None else RichOrCondition(self._condition, checked)
        return self

    def subtype(self, subtype_class: type) -> Self:
        """Let the part take only events of a class, beside what was said before."""
        self._check_no_group("subtype")
        if not isinstance(subtype_class, type):
            message = f"subtype() needs a class, not {subtype_class!r:.80}."
            raise ProgramError(message, location())
        return self._and(SubtypeCondition(subtype_class))

    def until(self, until_condition: Any) -> Self:
        """End a loop with the first event for which a condition holds; the loop does not take that event."""
        checked = as_condition(until_condition, "until")
        if self._until is not None:
            message = "Only one until condition can be applied."
            raise MalformedPatternException(message, location())
        if not self._quantifier.is_looping:
            message = "until() ends a loop: call one_or_more() or times_or_more() first."
            raise MalformedPatternException(message, location())
        self._until = checked
        return self

    def within(self, window_time: TimeLength | None, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """Bound the time from the first event to the last, or from the event before to that of this part.

        A match must be shorter than this; 0 bounds nothing.
        """
        if not isinstance(within_type, WithinType):
            message = f"within() needs a WithinType as its second argument, not {within_type!r:.80}."
            raise ProgramError(message, location())
        if window_time is not None:
            self._windows[within_type] = _window(window_time, "within")
        return self

    def next(self, name_or_pattern: str | Pattern[Any]) -> Pattern[T]:
        """Add a part whose event must be the very next one."""
        return _part("next", name_or_pattern, self, ConsumingStrategy.STRICT, self._skip_strategy)

    def followed_by(self, name_or_pattern: str | Pattern[Any]) -> Pattern[T]:
        """Add a part that takes the first event that it can; others in between are ignored."""
        return _part("followed_by", name_or_pattern, self, ConsumingStrategy.SKIP_TILL_NEXT, self._skip_strategy)

    def followed_by_any(self, name_or_pattern: str | Pattern[Any]) -> Pattern[T]:
        """Add a part that takes any event that it can: each of them gives a match of its own."""
        return _part("followed_by_any", name_or_pattern, self, ConsumingStrategy.SKIP_TILL_ANY, self._skip_strategy)

    def not_next(self, name: str) -> Pattern[T]:
        """Add a part that says what the very next event must not be."""
        return self._not_part("not_next", name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern[T]:
        """Add a part that says what must not happen before the next part or, at the end, before the time is over."""
        return self._not_part("not_followed_by", name, ConsumingStrategy.NOT_FOLLOW)

    def optional(self) -> Self:
        """Let the part be left out."""
        if self._previous is not None and self._previous._quantifier.is_greedy:
            message = f"{self._name!r} cannot be optional(): the part before it is greedy()."
            raise MalformedPatternException(message, location())
        self._quantifier.optional()
        return self

    def one_or_more(self, window_time: TimeLength | None = None) -> Self:
        """Let the part occur once or more often."""
        return self._loop("one_or_more", Times.of(1, None, _gap(window_time, "one_or_more")))

    def times_or_more(self, times: int, window_time: TimeLength | None = None) -> Self:
        """Let the part occur a number of times or more often."""
        return self._loop("times_or_more", Times.of(times, None, _gap(window_time, "times_or_more")))

    def times(
        self, from_times: int, to_times: int | TimeLength | None = None, window_time: TimeLength | None = None
    ) -> Self:
        """Let the part occur a number of times, or a range of times; from 0 on it is optional.

        A length of time in the second place is the longest gap, as in Java.
        """
        if isinstance(to_times, (Duration, Time, timedelta)):
            if window_time is not None:
                message = "times() got two lengths of time; the second argument is a number or the only length of time."
                raise ProgramError(message, location())
            to_times, window_time = None, to_times
        is_optional = from_times == 0 and to_times is not None
        counted = Times.of(1 if is_optional else from_times, to_times, _gap(window_time, "times"))
        self._check_quantifiable("times")
        self._set_quantifier(Quantifier.times(self._quantifier.get_consuming_strategy()), counted)
        if is_optional:
            self._quantifier.optional()
        return self

    def greedy(self) -> Self:
        """Keep from the part behind what this one could take itself."""
        self._check_no_not("greedy")
        if isinstance(self, GroupPattern):
            message = "A group cannot be greedy(); call it for the parts inside."
            raise MalformedPatternException(message, location())
        self._quantifier.greedy()
        return self

    def allow_combinations(self) -> Self:
        """Let the events of a part that occurs several times be any that fit: all combinations match."""
        self._quantifier.combinations()
        return self

    def consecutive(self) -> Self:
        """Let no other event lie between the events of a part that occurs several times."""
        self._quantifier.consecutive()
        return self

    def get_name(self) -> str:
        """Return the name of the part."""
        return self._name

    def get_previous(self) -> Pattern[T] | None:
        """Return the part before this one."""
        return self._previous

    def get_condition(self) -> IterativeCondition[Any]:
        """Return the condition of the part: all that was said, in one; one that always holds if nothing was."""
        return BooleanConditions.true_function() if self._condition is None else self._condition

    def get_until_condition(self) -> IterativeCondition[Any] | None:
        """Return what ends the loop."""
        return self._until

    def get_times(self) -> Times | None:
        """Return how often the part occurs, where that was said."""
        return self._times

    def get_quantifier(self) -> Quantifier:
        """Return the quantifier of the part."""
        return self._quantifier

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Duration | None:
        """Return the bound that ``within`` set for this part."""
        millis = self._windows.get(within_type)
        return None if millis is None else Duration.of_millis(millis)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Return what is skipped after a match."""
        return self._skip_strategy

    @property
    def parts(self) -> list[Pattern[T]]:
        """Return the parts from the first to this one."""
        found: list[Pattern[T]] = [self]
        while (before := found[-1]._previous) is not None:
            found.append(before)
        return found[::-1]

    def __repr__(self) -> str:
        return f"Pattern({' '.join(part._name for part in self.parts)})"

    def _and(self, condition: IterativeCondition[Any]) -> Self:
        self._condition = condition if self._condition is None else RichAndCondition(self._condition, condition)
        return self

    def _not_part(self, call: str, name: str, strategy: ConsumingStrategy) -> Pattern[T]:
        if self._quantifier.is_optional:
            message = (
                f"{call}() cannot come after the optional part {self._name!r}. Write two patterns, one with that part"
                " and one without it."
            )
            raise ProgramError(message, location())
        return Pattern(_checked_name(name, call), self, strategy, self._skip_strategy)

    def _loop(self, call: str, times: Times) -> Self:
        self._check_quantifiable(call)
        return self._set_quantifier(Quantifier.looping(self._quantifier.get_consuming_strategy()), times)

    def _set_quantifier(self, quantifier: Quantifier, times: Times) -> Self:
        if self._quantifier.is_optional:
            hint = "optional() before how often the part occurs has no effect, as in Flink; call it afterwards"
            self.hints = (*self.hints, hint)
        self._quantifier = quantifier
        self._times = times
        return self

    def _check_quantifiable(self, call: str) -> None:
        self._check_no_not(call)
        if not self._quantifier.is_single:
            message = f"{call}(): the part {self._name!r} says already how often it occurs."
            raise MalformedPatternException(message, location())

    def _check_no_not(self, call: str) -> None:
        if self._quantifier.get_consuming_strategy().is_not:
            message = f"{call}() cannot be said of {self._name!r}, a part that must not occur."
            raise MalformedPatternException(message, location())

    def _check_no_group(self, call: str) -> None:
        if isinstance(self, GroupPattern):
            message = f"{call}() cannot be said of a group; call it for the parts inside."
            raise ProgramError(message, location())


class GroupPattern(Pattern[T]):
    """A pattern as a part of another: what is said of it holds for all its parts together."""

    def __init__(
        self,
        previous: Pattern[T] | None,
        group_pattern: Pattern[Any],
        consuming_strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__("GroupPattern", previous, consuming_strategy, after_match_skip_strategy)
        self._group = group_pattern

    def get_raw_pattern(self) -> Pattern[Any]:
        """Return the last part inside."""
        return self._group

    def __repr__(self) -> str:
        return f"Group{self._group!r}"


def _part(
    call: str,
    name_or_pattern: str | Pattern[Any],
    previous: Pattern[Any] | None,
    strategy: ConsumingStrategy,
    skip: AfterMatchSkipStrategy,
) -> Pattern[Any]:
    if isinstance(name_or_pattern, Pattern):
        return GroupPattern(previous, name_or_pattern, strategy, skip)
    return Pattern(_checked_name(name_or_pattern, call), previous, strategy, skip)


def _checked_name(name: Any, call: str) -> str:
    if not isinstance(name, str) or not name:
        _refuse_name(name, call)
    return name


def _refuse_name(name: Any, call: str) -> NoReturn:
    wanted = "a name" if call.startswith("not_") else "a name or a pattern"
    message = f"{call}() needs {wanted}, not {name!r:.80}."
    raise ProgramError(message, location())


def _window(window_time: TimeLength, call: str) -> int:
    try:
        millis = to_millis(window_time)
    except TypeError as error:
        message = f"{call}(): {error}"
        raise ProgramError(message, location()) from None
    if millis < 0:
        message = f"{call}(): a length of time must not be negative, but is {window_time!r}."
        raise ProgramError(message, location())
    return millis


def _gap(window_time: TimeLength | None, call: str) -> int | None:
    return None if window_time is None else _window(window_time, call)


class PatternWarning(UserWarning):
    """A pattern that is allowed, but holds output back or keeps state without end."""
