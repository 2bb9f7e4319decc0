"""The distance between two records, for triggers and evictors that act on change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Number
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.vocabulary.program_checks import UnusableValueError, shown

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["DeltaFunction", "as_delta", "checked_delta"]

T = TypeVar("T")


class DeltaFunction(ABC, Generic[T]):
    """Measures how far a newer record is from an older one."""

    @abstractmethod
    def get_delta(self, old_data_point: T, new_data_point: T) -> float:
        """Return the distance."""


def checked_delta(distance: Any, function: Callable[[Any, Any], float], record: Any) -> float:
    """Return a distance, if it is a number.

    Raises:
        UnusableValueError: It is none.
    """
    if not isinstance(distance, Number):
        problem = f"The delta function returned {shown(distance)}, but a distance is a number."
        raise UnusableValueError(problem, function, record)
    return distance  # type: ignore[return-value] # what can be compared with a threshold


def as_delta(function: DeltaFunction[Any] | Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    """Return the plain callable behind a delta function."""
    if isinstance(function, DeltaFunction):
        return function.get_delta
    # Programs are seldom type-checked, hence the check of what the type promises.
    given: object = function
    if not callable(given):
        msg = f"A delta function is a DeltaFunction or a callable of (older, newer). Given: {type(given).__name__}."
        raise TypeError(msg)
    return function
