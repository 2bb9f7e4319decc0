"""Conditions: which events a part of a pattern takes.

A simple condition looks at the event alone. An iterative one also sees what the half match has taken before it. Both
must be pure: how often they are asked is not laid down.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.program_checks import location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "BooleanConditions",
    "CallableCondition",
    "IterativeCallableCondition",
    "IterativeCondition",
    "RichAndCondition",
    "RichCompositeIterativeCondition",
    "RichIterativeCondition",
    "RichNotCondition",
    "RichOrCondition",
    "SimpleCondition",
    "SubtypeCondition",
    "as_condition",
    "is_simple",
]

T = TypeVar("T")


class IterativeCondition(Function, Generic[T]):
    """Decides on an event by what its half match has taken so far."""

    class Context(ABC):
        """What an iterative condition sees beside the event."""

        @abstractmethod
        def get_events_for_pattern(self, name: str) -> Iterable[Any]:
            """Return the events that the half match has taken for a part, in order; none if there are none."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the time of the event: its timestamp, or the clock's time in processing time."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the clock's time."""

    @abstractmethod
    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Tell whether the part takes the event."""


class RichIterativeCondition(IterativeCondition[T]):
    """Is an iterative condition with ``open``, ``close`` and a runtime context, which in Python all of them have."""


class SimpleCondition(IterativeCondition[T]):
    """Decides on an event by the event alone."""

    @abstractmethod
    def filter(self, value: T) -> bool:  # type: ignore[override] # as in Java, where this is an overload
        """Tell whether the part takes the event."""

    @staticmethod
    def of(function: Callable[[T], Any]) -> SimpleCondition[T]:
        """Return a condition that asks a function."""
        if isinstance(function, type) or not callable(function):
            message = f"SimpleCondition.of() needs a function of one event, not {function!r:.80}."
            raise ProgramError(message, location())
        return CallableCondition(function)


class CallableCondition(SimpleCondition[T]):
    """Asks a function of one parameter."""

    def __init__(self, function: Callable[[T], Any]) -> None:
        self.function = function

    def filter(self, value: T) -> bool:  # type: ignore[override]
        """Tell what the function says."""
        return bool(self.function(value))


class IterativeCallableCondition(IterativeCondition[T]):
    """Asks a function of two parameters."""

    def __init__(self, function: Callable[[T, Any], Any]) -> None:
        self.function = function

    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Tell what the function says."""
        return bool(self.function(value, ctx))


class SubtypeCondition(SimpleCondition[T]):
    """Takes the events of a class."""

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, value: T) -> bool:  # type: ignore[override]
        """Tell whether the event is of the class."""
        return isinstance(value, self.subtype)


class _Constant(SimpleCondition[Any]):
    def __init__(self, *, value: bool) -> None:
        self.value = value

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return self.value


class BooleanConditions:
    """Makes the conditions that do not look at the event."""

    @staticmethod
    def true_function() -> SimpleCondition[Any]:
        """Return a condition that takes every event."""
        return _Constant(value=True)

    @staticmethod
    def false_function() -> SimpleCondition[Any]:
        """Return a condition that takes no event."""
        return _Constant(value=False)


class RichCompositeIterativeCondition(RichIterativeCondition[T]):
    """Is made of other conditions, which it opens and closes."""

    def __init__(self, *nested_conditions: Any) -> None:
        self.nested = tuple(as_condition(condition, type(self).__name__) for condition in nested_conditions)

    def get_nested_conditions(self) -> tuple[IterativeCondition[T], ...]:
        """Return the conditions it is made of."""
        return self.nested

    def _ask(self, number: int, value: T, ctx: IterativeCondition.Context) -> bool:
        condition: Any = self.nested[number]
        is_one = isinstance(condition, SimpleCondition)
        return bool(condition.filter(value) if is_one else condition.filter(value, ctx))


class RichAndCondition(RichCompositeIterativeCondition[T]):
    """Holds where both conditions hold; the second is asked only if the first holds."""

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__(left, right)

    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Tell whether both hold."""
        return self._ask(0, value, ctx) and self._ask(1, value, ctx)


class RichOrCondition(RichCompositeIterativeCondition[T]):
    """Holds where one of two conditions holds; the second is asked only if the first does not."""

    def __init__(self, left: Any, right: Any) -> None:
        super().__init__(left, right)

    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Tell whether one of them holds."""
        return self._ask(0, value, ctx) or self._ask(1, value, ctx)


class RichNotCondition(RichCompositeIterativeCondition[T]):
    """Holds where the condition does not."""

    def __init__(self, original: Any) -> None:
        super().__init__(original)

    def filter(self, value: T, ctx: IterativeCondition.Context) -> bool:
        """Tell whether it does not hold."""
        return not self._ask(0, value, ctx)


def is_simple(condition: IterativeCondition[Any]) -> bool:
    """Tell whether a condition looks at the event alone."""
    if type(condition) in (RichAndCondition, RichOrCondition, RichNotCondition):
        return all(is_simple(nested) for nested in condition.nested)  # type: ignore[attr-defined]
    return isinstance(condition, SimpleCondition)


def as_condition(condition: Any, call: str) -> IterativeCondition[Any]:
    """Return what a program gave as a condition as one; a callable may have one parameter or two.

    Raises:
        ProgramError: It is none.
    """
    if isinstance(condition, IterativeCondition):
        wanted = 1 if isinstance(condition, SimpleCondition) else 2
        if not _takes(condition.filter, wanted):
            kind = "SimpleCondition" if wanted == 1 else "IterativeCondition"
            needs = "filter(self, value)" if wanted == 1 else "filter(self, value, ctx)"
            message = f"{call}(): {type(condition).__name__} is a {kind}, so it needs {needs}."
            raise ProgramError(message, location())
        return condition
    if isinstance(condition, type) and issubclass(condition, IterativeCondition):
        message = f"{call}() got the class {condition.__name__} itself; create an object of it: {condition.__name__}()."
        raise ProgramError(message, location())
    if callable(condition):
        if _takes(condition, 1):
            return CallableCondition(condition)
        if _takes(condition, 2):
            return IterativeCallableCondition(condition)
        message = (
            f"{call}() needs a function of one parameter (the event) or of two (the event and the context), which"
            f" {getattr(condition, '__name__', condition)!r:.80} is not."
        )
        raise ProgramError(message, location())
    message = f"{call}() needs a condition: a function of the event, or an IterativeCondition; not {condition!r:.80}."
    raise ProgramError(message, location())


def _takes(function: Callable[..., Any], arguments: int) -> bool:
    """Tell whether a function can be called with a number of arguments; one that does not say so takes the event."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return arguments == 1
    try:
        signature.bind(*[None] * arguments)
    except TypeError:
        return False
    return True
