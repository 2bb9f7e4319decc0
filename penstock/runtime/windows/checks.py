"""Looks at what assigners and triggers of the program return; those of Penstock are not looked at."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.time.time_values import whole_millis
from penstock.vocabulary.windows.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["checked_assignment", "no_trigger_result"]

_OWN = __name__.partition(".")[0] + "."


def checked_assignment(assigner: Any) -> Callable[[Any, int, Any], Iterable[Any]]:
    """Return how windows are assigned; where the program says how, what it returns is looked at, record by record."""
    assign: Callable[[Any, int, Any], Iterable[Any]] = assigner.assign_windows
    if type(assigner).__module__.startswith(_OWN):
        return assign
    last: Any = None

    def checked(value: Any, timestamp: int, context: Any) -> Iterable[Any]:
        nonlocal last
        windows = assign(value, timestamp, context)
        if isinstance(windows, Window) or not isinstance(windows, Collection):
            problem = f"assign_windows() returned {shown(windows)}, but it returns the windows of a record in a list"
            remedy = "; an empty one for none." if not isinstance(windows, Window) else f": write [{windows!r}]."
            raise UnusableValueError(problem + remedy, assign, value)
        for window in windows:
            if window is not last:
                _check_window(window, assign, value)
                last = window
        return windows

    return checked


def _check_window(window: Any, assign: Any, value: Any) -> None:
    if not isinstance(window, Window):
        problem = (
            f"assign_windows() returned a list with {shown(window)} in it, which is no Window. Use TimeWindow, or a"
            " class derived from Window."
        )
        raise UnusableValueError(problem, assign, value)
    whole_millis(window.max_timestamp(), f"max_timestamp() of {window!r} is", assign, value)
    try:
        hash(window)
    except TypeError as error:
        problem = (
            f"assign_windows() returned {shown(window)}, which cannot be a key of state: {error}. Give the class"
            " __eq__ and __hash__."
        )
        raise UnusableValueError(problem, assign, value) from error


def no_trigger_result(trigger: Any, answer: Any, window: Any) -> UnusableValueError:
    """Return the error for a trigger that answers with something else than a ``TriggerResult``."""
    problem = (
        f"The trigger returned {shown(answer)} for {window!r}, but on_element(), on_event_time() and"
        " on_processing_time() return a TriggerResult, such as TriggerResult.CONTINUE."
    )
    return UnusableValueError(problem, trigger, NO_RECORD)
