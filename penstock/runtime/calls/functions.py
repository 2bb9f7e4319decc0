"""From what the program hands over (a callable or a function object) to what a record is put through."""

from __future__ import annotations

import functools
import inspect
import traceback
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.runtime.calls.unusable_results import iterated
from penstock.statestore.copying import as_it_is, copied
from penstock.vocabulary.functions.basic import Function, FunctionWrapper
from penstock.vocabulary.functions.fields import FieldReducer

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

    from penstock.runtime.calls.results import PendingResults

__all__ = [
    "ListCollector",
    "describe_frame",
    "describe_function",
    "is_python",
    "last_line",
    "resolve_function",
    "takes_collector",
]


def resolve_function(function: Any, kind: type[Function] | None, method: str) -> Callable[..., Any]:
    """Return the bound method of a function object, or the callable itself."""
    if isinstance(function, Function) and hasattr(function, method):
        bound: Callable[..., Any] = getattr(function, method)
        return bound
    if callable(function):
        return function  # type: ignore[no-any-return]
    wanted = kind.__name__ if kind is not None else method
    message = f"A callable or a {wanted} is needed here, not {function!r}."
    raise ProgramError(message)


def takes_collector(call: Callable[..., Any], records: int) -> bool:
    """Tell whether a function takes a collector behind its records, as Java's functions do."""
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return False  # built-in functions such as str.split
    required = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return len(required) == records + 1


class ListCollector:
    """Gathers what a function emits through ``out.collect``."""

    __slots__ = ("collect", "records")

    def __init__(self, hand_over: Callable[[Any], Any]) -> None:
        self.records: list[Any] = []
        add = self.records.append
        self.collect: Callable[[Any], None] = lambda record: add(hand_over(record))

    @classmethod
    def wrap(cls, call: Callable[..., Any], pending: PendingResults | None = None) -> Callable[..., list[Any]]:
        """Return a function that returns what the given one collects, yields or returns.

        What it collects goes into the pending results before anything that it sends to a side output behind it.
        """
        hand_over = copied if pending is None or pending.protects else as_it_is

        def collecting(*arguments: Any) -> list[Any]:
            collector = cls(hand_over)
            if pending is not None:
                pending.collected = collector.records
            try:
                returned = call(*arguments, collector)
                if returned is not None:
                    for record in iterated(returned):
                        collector.collect(record)
            finally:
                if pending is not None:
                    pending.collected = None
            return collector.records

        return collecting


def describe_function(function: Any) -> str:
    """Return the name of a function of the program with its file and line."""
    if isinstance(function, FieldReducer):
        return f"{function!r} ({function.location})"
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", function)
    if isinstance(owner, FunctionWrapper):
        return describe_function(owner._func)
    target = function if inspect.isroutine(function) or isinstance(function, type) else type(function)
    name = getattr(target, "__qualname__", repr(target))
    code = getattr(target, "__code__", None) or _first_code(target)
    if code is not None:
        return f"{name} ({code.co_filename}:{code.co_firstlineno})"
    return f"{getattr(target, '__module__', '')}.{name}".lstrip(".")


def describe_frame(frame: FrameType, function: Any) -> str:
    """Return the name of a step's function, if it is what runs in a frame; that of what runs there otherwise.

    A step has more functions of the program than the one it is named after: a window step has an assigner and a
    trigger.
    """
    code = frame.f_code
    while isinstance(function, functools.partial):
        function = function.func
    own = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    # A code object may be a copy that was changed on the way.
    if _place(code) in (_places_of_methods(function) if own is None else {_place(own)}):
        return describe_function(function)
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"


def is_python(function: Any) -> bool:
    """Tell whether a function of the program is written in Python, so that there are lines of it to show."""
    return _code_of(function) is not None


def last_line(function: Any) -> traceback.FrameSummary:
    """Return the place where a function that only returns something does so."""
    code = _code_of(function)
    assert code is not None
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return traceback.FrameSummary(code.co_filename, max(lines, default=code.co_firstlineno), code.co_name)


def _code_of(function: Any) -> CodeType | None:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, FunctionWrapper):
        return _code_of(owner._func)
    target = getattr(function, "__func__", function)
    code: CodeType | None = getattr(target, "__code__", None)
    return code


def _places_of_methods(function: Any) -> set[tuple[str, int]]:
    """Return where the methods of a function object are written."""
    members = [member for kind in type(function).__mro__ for member in vars(kind).values()]
    codes = [getattr(getattr(member, "__func__", member), "__code__", None) for member in members]
    return {_place(code) for code in codes if code is not None}


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_filename, code.co_firstlineno


def _first_code(target: Any) -> CodeType | None:
    """Return the code of a class's first method: a class that came by value has no source file to look into."""
    codes = (
        [member.__code__ for member in vars(target).values() if inspect.isfunction(member)]
        if inspect.isclass(target)
        else []
    )
    return min(codes, key=lambda code: code.co_firstlineno, default=None)
