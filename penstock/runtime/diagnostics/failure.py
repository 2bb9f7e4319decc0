"""Explains what went wrong in a task: which step, whose function, which record; the user's own traceback first.

Whoever an error passes on its way out notes on it what was being done (:mod:`penstock.foundation.failure_context`). The
traceback only tells which lines of the program were run.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import (
    ExternalSystemError,
    JobFailedError,
    MalformedRecordError,
    PenstockError,
    ProgramError,
    SerializationError,
    UserFunctionError,
)
from penstock.foundation.failure_context import NO_RECORD, take
from penstock.runtime.calls.functions import describe_frame, describe_function, is_python, last_line
from penstock.runtime.calls.unusable_results import unusable_result
from penstock.vocabulary.program_checks import UnusableValueError

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from penstock.runtime.exchange.key_selection import KeyFunction
    from penstock.runtime.exchange.writer import ExchangeWriter
    from penstock.runtime.operators.operator import Operator
    from penstock.runtime.task.task import Task

__all__ = ["explain_failure", "explain_unusable"]

# As the interpreter spells it in code objects: on executors the package lies in a zip with a relative path.
_PACKAGE = __file__.removesuffix(f"runtime{os.sep}diagnostics{os.sep}failure.py")
_RECORD_LENGTH = 200


@dataclass
class _Place:
    """Where something went wrong."""

    operator: Operator | None = None
    record: Any = NO_RECORD
    user_frames: TracebackType | None = None
    """Where in the traceback Penstock's part ends."""
    writer: ExchangeWriter | None = None
    """What sends the records of the operator on, if it is there that the error was raised."""
    choice: Any = None
    """The function that was called, where it is not that of the operator."""
    is_key: bool = False
    """Whether it was a key that could not be found or used."""

    @property
    def has_record(self) -> bool:
        """Tell whether it was one record that it went wrong for."""
        return self.record is not NO_RECORD

    @property
    def key_functions(self) -> tuple[KeyFunction, ...]:
        """Return what was asked for the keys of records."""
        if self.writer is not None:
            return () if self.writer.key_function is None else (self.writer.key_function,)
        return () if self.operator is None else self.operator.key_functions

    @property
    def step(self) -> str:
        """Return where in the program it is."""
        if self.writer is not None and self.writer.call is not None:
            return f"{self.writer.call}() before {self.writer.receiver}"
        if self.operator is None:
            return "?"
        info = self.operator.context.info
        return f"key_by() before {info.name}" if self.is_key else info.label


def explain_failure(error: BaseException, task: Task | None = None) -> PenstockError:
    """Return the error to show: a ``UserFunctionError`` where a function of the program raised, with its traceback."""
    if isinstance(error, UserFunctionError | SerializationError):
        return error
    place = _find(error)
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration) and place.user_frames is None:
        # It came through a loop or a generator of Penstock's, which does not let it pass.
        error = error.__cause__
        place = _nearer(_find(error), place)
    _look_at_keys(error, place)
    error = unusable_result(error, place.user_frames) or error
    if isinstance(error, UnusableValueError):
        place.choice = error.function if error.function is not None else place.choice
        if error.record is not NO_RECORD:
            place.record = error.record
    if place.operator is None:
        place.operator = _source_of(error, task)
    if isinstance(error, PenstockError) and place.operator is None:
        return error
    if isinstance(error, MalformedRecordError | ExternalSystemError | JobFailedError) and place.user_frames is None:
        return error  # a connector has explained it, and no function of the program is to blame
    if isinstance(error, ProgramError) and place.user_frames is None and not isinstance(error, UnusableValueError):
        return _in_step(error, place)
    if place.operator is None:
        shown = "".join(traceback.format_exception(error))
        return UserFunctionError(step="?", function="?", error=_line(error), user_traceback=shown)
    return UserFunctionError(
        step=place.step,
        function=_function(place),
        error=_line(error),
        user_traceback=_user_traceback(error, place),
        record=_shorten(place.record) if place.has_record else None,
    )


def explain_unusable(error: UnusableValueError, step: str) -> UserFunctionError:
    """Return the error to show for what a function handed over that no task has called."""
    return UserFunctionError(step=step, function=describe_function(error.function), error=str(error), user_traceback="")


def _in_step(error: ProgramError, place: _Place) -> ProgramError:
    """Add to an explanation of Penstock's own where it happened; there is no traceback of the user's to show."""
    if place.operator is not None and len(error.args) == 1:
        lines = [str(error), f"  in step    {place.step!r}"]
        lines.append(f"  function   {_function(place)}")
        if place.has_record:
            lines.append(f"  record     {_shorten(place.record)}")
        error.args = ("\n".join(lines),)
    return error


def _user_traceback(error: BaseException, place: _Place) -> str:
    """Return the frames of the program; built-in functions, which fail on a record, have none."""
    if place.user_frames is None and not isinstance(error, UnusableValueError) and is_python(place.choice):
        return _as_if_called(error, place.choice)
    if place.user_frames is None and (place.has_record or isinstance(error, UnusableValueError)):
        return ""
    frames = place.user_frames or error.__traceback__
    # Behind the last line of the program come those of Penstock that refuse what it was given.
    own = 0 if place.user_frames is None else _own_at_the_end(place.user_frames)
    shown = traceback.TracebackException(type(error), error, frames)
    if own:
        del shown.stack[-own:]
    if isinstance(error, UnusableValueError):  # the message says it all, and its class is nobody's business
        return "".join(["Traceback (most recent call last):\n", *shown.stack.format()])
    return "".join(shown.format(chain=not own))


def _as_if_called(error: BaseException, function: Any) -> str:
    """Return the traceback of a function that only takes a part of its record, which is done without calling it."""
    place = last_line(function)
    shown = traceback.StackSummary.from_list([place]).format()
    return "".join(["Traceback (most recent call last):\n", *shown, *traceback.format_exception_only(error)])


def _own_at_the_end(frames: TracebackType | None) -> int:
    count = 0
    while frames is not None:
        count = count + 1 if _is_own(frames.tb_frame) else 0
        frames = frames.tb_next
    return count


def _line(error: BaseException) -> str:
    if isinstance(error, UnusableValueError):
        return str(error)
    return "".join(traceback.format_exception_only(error)).strip()


def _function(place: _Place) -> str:
    operator = place.operator
    function = None if operator is None else operator.named_part
    if place.choice is None and place.user_frames is not None:
        return describe_frame(place.user_frames.tb_frame, function)
    function = place.choice or function
    return type(operator).__name__ if function is None else describe_function(function)


def _source_of(error: BaseException, task: Task | None) -> Operator | None:
    """Return the operator whose source thread raised the error: such a traceback begins outside the task's loop."""
    for subtask in task.subtasks.values() if task is not None else ():
        if subtask.chain.head.failure_outside is error:
            return subtask.chain.head
    return None


def _find(error: BaseException) -> _Place:
    noted = take(error)
    current = noted.traceback or error.__traceback__
    while current is not None and _is_own(current.tb_frame):
        current = current.tb_next
    choice = noted.function
    if choice is None and noted.writer is not None:
        choice = noted.writer.choice
    return _Place(noted.operator, noted.record, current, noted.writer, choice)


def _nearer(inner: _Place, outer: _Place) -> _Place:
    """Return the place of an error that was raised anew further out, with what only the outer one knows."""
    if inner.operator is None:
        inner.operator, inner.writer, inner.choice = outer.operator, outer.writer, inner.choice or outer.choice
    if not inner.has_record:
        inner.record = outer.record
    return inner


def _look_at_keys(error: BaseException, place: _Place) -> None:
    """Find the key selector and the record if it was a key that could not be found or used."""
    for function in place.key_functions:
        if function.failure is not None and function.failure[0] is error:
            place.record = function.failure[1]
            place.choice, place.is_key = function.selector, True


def _is_own(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _shorten(record: Any) -> str:
    try:
        shown = repr(record)
    except Exception as error:
        return f"<{type(record).__name__} whose repr raises {error!r}>"
    return shown if len(shown) <= _RECORD_LENGTH else f"{shown[:_RECORD_LENGTH]}... ({len(shown)} characters)"
