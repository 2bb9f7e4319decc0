"""Refuses what a program hands over and nobody can use: with its line, the function and the record to blame."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from penstock.errors import ProgramError
from penstock.foundation.failure_context import NO_RECORD

__all__ = ["UnusableValueError", "location", "none_returned", "require_instance", "shown"]

_LENGTH = 200


class UnusableValueError(ProgramError):
    """A function returned, or called Penstock with, a value of a wrong kind; shown as a ``UserFunctionError``.

    Args:
        problem: What is wrong with the value and what to do.
        function: The function, as the program gave it; ``None`` for the function of the step.
        record: The record for which it was called.
    """

    def __init__(self, problem: str, function: Any = None, record: Any = NO_RECORD) -> None:
        super().__init__(problem)
        self.function = function
        self.record = record


def none_returned(function: Any, method: str, record: Any = NO_RECORD) -> UnusableValueError:
    """Return the error for a function that combines values, and returned none of them."""
    problem = (
        f"{method}() returned None, but what it returns takes the place of what was there before. Return the combined"
        " value; a function that only changes its argument must return it, too."
    )
    return UnusableValueError(problem, function, record)


def shown(value: Any) -> str:
    """Return a value, shortened, and its type, as messages name it."""
    if value is None:
        return "None"
    try:
        text = repr(value)
    except Exception as error:
        return f"a {type(value).__name__} whose repr raises {error!r}"
    return f"{text if len(text) <= _LENGTH else text[:_LENGTH] + '...'} ({type(value).__name__})"


_PACKAGE = f"{Path(__file__).resolve().parent.parent}{os.sep}"


def location() -> str:
    """Return ``file:line`` of the innermost call that is not Penstock's own."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def require_instance(value: object, kind: type | tuple[type, ...], message: str) -> None:
    """Raise a TypeError with the message, and the type that was given, unless ``value`` is of that kind."""
    if not isinstance(value, kind):
        msg = f"{message} Given: {type(value).__name__}."
        raise TypeError(msg)
