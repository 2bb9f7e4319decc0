"""How often a part of a pattern may occur, and what may lie before and between its events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from penstock.errors import MalformedPatternException, ProgramError
from penstock.vocabulary.program_checks import location
from penstock.vocabulary.time.durations import Duration, to_millis

if TYPE_CHECKING:
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["ConsumingStrategy", "Quantifier", "QuantifierProperty", "Times", "WithinType"]


class WithinType(Enum):
    """Between which events the time of ``within`` is measured."""

    PREVIOUS_AND_CURRENT = "previous and current"
    """From the event before to the event of this part."""
    FIRST_AND_LAST = "first and last"
    """From the first event of the match to its last."""


class QuantifierProperty(Enum):
    """What a quantifier says."""

    SINGLE = "single"
    LOOPING = "looping"
    TIMES = "times"
    OPTIONAL = "optional"
    GREEDY = "greedy"


class ConsumingStrategy(Enum):
    """Which events may lie before the event of a part."""

    STRICT = "strict"
    SKIP_TILL_NEXT = "relaxed"
    SKIP_TILL_ANY = "any"
    NOT_FOLLOW = "not followed by"
    NOT_NEXT = "not next"

    @property
    def is_not(self) -> bool:
        """Tell whether the part says what must not happen."""
        return self in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)


@dataclass(frozen=True)
class Times:
    """How often a part occurs; ``window`` is the longest gap between its events in milliseconds, if there is one."""

    from_times: int
    to_times: int
    window: int | None = None

    @staticmethod
    def of(from_times: int, to_times: int | None = None, window_time: TimeLength | None = None) -> Times:
        """Return a number of times, or a range."""
        last = from_times if to_times is None else to_times
        for number in (from_times, last):
            if isinstance(number, bool) or not isinstance(number, int):
                message = f"A part occurs a whole number of times, not {number!r} times."
                raise ProgramError(message, location())
        if from_times <= 0:
            message = f"A part should occur a positive number of times, not {from_times}."
            raise ProgramError(message, location())
        if last < from_times:
            message = f"A part that occurs at least {from_times} times cannot occur at most {last} times."
            raise ProgramError(message, location())
        return Times(from_times, last, None if window_time is None else to_millis(window_time))

    def get_from(self) -> int:
        """Return how often the part occurs at least."""
        return self.from_times

    def get_to(self) -> int:
        """Return how often the part occurs at most."""
        return self.to_times

    def get_window_size(self) -> Duration | None:
        """Return the longest gap between the events."""
        return None if self.window is None else Duration.of_millis(self.window)


class Quantifier:
    """What is said about one part: its properties, and the contiguity before it and within it."""

    def __init__(self, consuming_strategy: ConsumingStrategy, first_property: QuantifierProperty) -> None:
        self._properties = {first_property}
        self._consuming_strategy = consuming_strategy
        self._inner_consuming_strategy = ConsumingStrategy.SKIP_TILL_NEXT

    @staticmethod
    def one(consuming_strategy: ConsumingStrategy) -> Quantifier:
        """Return that of a part that occurs once."""
        return Quantifier(consuming_strategy, QuantifierProperty.SINGLE)

    @staticmethod
    def looping(consuming_strategy: ConsumingStrategy) -> Quantifier:
        """Return that of a part that may occur any number of times."""
        return Quantifier(consuming_strategy, QuantifierProperty.LOOPING)

    @staticmethod
    def times(consuming_strategy: ConsumingStrategy) -> Quantifier:
        """Return that of a part that occurs a limited number of times."""
        return Quantifier(consuming_strategy, QuantifierProperty.TIMES)

    def has_property(self, quantifier_property: QuantifierProperty) -> bool:
        """Tell whether it has a property."""
        return quantifier_property in self._properties

    def get_properties(self) -> frozenset[QuantifierProperty]:
        """Return all properties."""
        return frozenset(self._properties)

    def get_consuming_strategy(self) -> ConsumingStrategy:
        """Return what may lie before the first event of the part."""
        return self._consuming_strategy

    def get_inner_consuming_strategy(self) -> ConsumingStrategy:
        """Return what may lie between the events of the part."""
        return self._inner_consuming_strategy

    @property
    def is_single(self) -> bool:
        """Tell whether the part occurs once."""
        return QuantifierProperty.SINGLE in self._properties

    @property
    def is_looping(self) -> bool:
        """Tell whether there is no upper limit."""
        return QuantifierProperty.LOOPING in self._properties

    @property
    def is_optional(self) -> bool:
        """Tell whether the part may be left out."""
        return QuantifierProperty.OPTIONAL in self._properties

    @property
    def is_greedy(self) -> bool:
        """Tell whether the part keeps from its successor what it could take itself."""
        return QuantifierProperty.GREEDY in self._properties

    def combinations(self) -> None:
        """Let any event lie between the events of the part."""
        self._refuse_single("allow_combinations")
        self._refuse(
            self._inner_consuming_strategy is ConsumingStrategy.STRICT,
            "A part is either consecutive() or has allow_combinations(), not both.",
        )
        self._refuse(
            self._inner_consuming_strategy is ConsumingStrategy.SKIP_TILL_ANY,
            "allow_combinations() was called for this part already.",
        )
        self._inner_consuming_strategy = ConsumingStrategy.SKIP_TILL_ANY

    def consecutive(self) -> None:
        """Let no event lie between the events of the part."""
        self._refuse_single("consecutive")
        self._refuse(
            self._inner_consuming_strategy is ConsumingStrategy.SKIP_TILL_ANY,
            "A part either has allow_combinations() or is consecutive(), not both.",
        )
        self._refuse(
            self._inner_consuming_strategy is ConsumingStrategy.STRICT,
            "consecutive() was called for this part already.",
        )
        self._inner_consuming_strategy = ConsumingStrategy.STRICT

    def optional(self) -> None:
        """Let the part be left out."""
        self._refuse(self.is_optional, "optional() was called for this part already.")
        self._refuse(self._consuming_strategy.is_not, "A part that must not occur cannot be optional().")
        self._properties.add(QuantifierProperty.OPTIONAL)

    def greedy(self) -> None:
        """Let the part keep from its successor what it could take itself."""
        self._refuse(
            self._inner_consuming_strategy is ConsumingStrategy.SKIP_TILL_ANY,
            "A part with allow_combinations() cannot be greedy().",
        )
        self._refuse_single("greedy")
        self._properties.add(QuantifierProperty.GREEDY)

    def _refuse_single(self, call: str) -> None:
        message = f"{call}() is for parts that may occur several times: call one_or_more(), times() or the like first."
        self._refuse(self.is_single, message)

    @staticmethod
    def _refuse(is_wrong: bool, message: str) -> None:  # noqa: FBT001 - reads like an assertion
        if is_wrong:
            raise MalformedPatternException(message, location())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantifier) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return frozenset(self._properties), self._consuming_strategy, self._inner_consuming_strategy

    def __repr__(self) -> str:
        names = ", ".join(sorted(each.name for each in self._properties))
        return f"Quantifier({names}, {self._consuming_strategy.name}, inner {self._inner_consuming_strategy.name})"


# As in Java, where they are nested classes.
for _nested in (Times, ConsumingStrategy, QuantifierProperty):
    setattr(Quantifier, _nested.__name__, _nested)
