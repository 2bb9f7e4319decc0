"""What was being done when an error was raised: noted on the error itself, by those whom it passes on its way out.

Nothing is noted while all goes well. Loops over records have one ``try`` around the whole run, which costs nothing
until something is raised; the variable of the loop is then the record. The first who notes something knows it best:
what was noted further inside is not replaced. Once an operator is noted, nothing more is: the records of those before
it are not what it has failed for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = [
    "NO_RECORD",
    "FailureContext",
    "note_function",
    "note_operator",
    "note_record",
    "note_writer",
    "noting",
    "take",
]

NO_RECORD: Any = object()
"""Stands for the record where there is none."""

_PLACE = "_penstock_failure_context"


class FailureContext:
    """What is known about a failure beside the error."""

    __slots__ = ("function", "operator", "record", "traceback", "writer")

    def __init__(self) -> None:
        self.operator: Any = None
        """The operator whose work it was."""
        self.writer: Any = None
        """What sends the records of the operator on, if it was there that something failed."""
        self.function: Any = None
        """The function of the program that was called, where it is not the operator's one function."""
        self.record: Any = NO_RECORD
        self.traceback: TracebackType | None = None
        """The error's traceback from the operator, or what sends its records on, inwards."""


def take(error: BaseException) -> FailureContext:
    """Return what was noted on an error, and take it off: the error may be raised again, or sent somewhere."""
    context: FailureContext | None = vars(error).pop(_PLACE, None)
    return FailureContext() if context is None else context


def note_record(error: BaseException, record: Any) -> None:
    """Note for which record an error was raised."""
    context = _of(error)
    if context.operator is None and context.record is NO_RECORD:
        context.record = record


def note_function(error: BaseException, function: Any) -> None:
    """Note which function of the program was called, where the operator has several."""
    context = _of(error)
    if context.operator is None and context.function is None:
        context.function = function


def note_writer(error: BaseException, writer: Any) -> None:
    """Note that it was on the way to the next step."""
    context = _of(error)
    if context.operator is None and context.writer is None:
        context.writer = writer
        context.traceback = error.__traceback__


def note_operator(error: BaseException, operator: Any) -> None:
    """Note whose work it was."""
    context = _of(error)
    if context.operator is None:
        context.operator = operator
        if context.traceback is None:
            context.traceback = error.__traceback__


def noting(operator: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a callback of an operator, for somebody who does not know whose it is."""

    def call_noting(*arguments: Any) -> Any:
        try:
            return call(*arguments)
        except BaseException as error:
            note_operator(error, operator)
            raise

    return call_noting


def _of(error: BaseException) -> FailureContext:
    noted = vars(error)
    context: FailureContext | None = noted.get(_PLACE)
    if context is None:
        context = noted[_PLACE] = FailureContext()
    return context
