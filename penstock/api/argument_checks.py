"""Looks at the user's program: where a call stands, whether what it hands over can be used."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary import program_checks as program_line
from penstock.vocabulary.functions.basic import Function, KeySelector, Partitioner
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.windows.assigners import default_trigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.windows.assigners import WindowAssigner

__all__ = ["check_function", "key_function", "location", "partition_function", "step_name", "window_trigger"]

location = program_line.location
"""Returns ``file:line`` of the innermost call that is not Penstock's own."""


def check_function(function: Any, kind: type | tuple[type, ...], call: str, *, allow_callable: bool = True) -> Any:
    """Return the function if a step can use it, and explain if not."""
    if isinstance(function, kind):
        return function
    kinds = kind if isinstance(kind, tuple) else (kind,)
    names = [_with_article(one.__name__) for one in kinds] + (["a callable"] if allow_callable else [])
    wanted = " or ".join(names)
    if isinstance(function, type) and (issubclass(function, Function) or not allow_callable):
        message = f"{call}() got the class {function.__name__} itself; create an object of it: {function.__name__}()."
    elif isinstance(function, Function):
        message = f"{call}() needs {wanted}, not {_with_article(type(function).__name__)}."
    elif allow_callable and callable(function):
        return function
    else:
        message = f"{call}() needs {wanted}, not {function!r:.80}."
    raise ProgramError(message, location())


def window_trigger(assigner: WindowAssigner[Any, Any], trigger: Any, environment: Any) -> Any:
    """Return the trigger that was set, or that of an assigner of the program's own, which may ask the environment."""
    if trigger is None and not type(assigner).__module__.startswith("penstock."):
        return default_trigger(assigner, environment)
    return trigger


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIO" else f"a {name}"


def key_function(selector: Any) -> Callable[[Any], Any]:
    """Return a function from record to key: from a callable, a ``KeySelector``, an index or a field name."""
    if isinstance(selector, KeySelector):
        return selector.get_key
    if isinstance(selector, bool):
        message = "key_by() needs a callable, a KeySelector, a field index or a field name, not a boolean."
        raise ProgramError(message, location())
    if isinstance(selector, int):
        return operator.itemgetter(selector)
    if isinstance(selector, str):
        return _FieldKey(selector)
    if callable(selector) and not (isinstance(selector, type) and issubclass(selector, Function)):
        return selector  # type: ignore[no-any-return]
    message = f"key_by() needs a callable, a KeySelector, a field index or a field name, not {selector!r:.80}."
    raise ProgramError(message, location())


class _FieldKey:
    """Takes a named field of a Row, a dictionary or an object."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, record: Any) -> Any:
        if isinstance(record, (Row, dict)):
            return record[self._name]
        return getattr(record, self._name)

    def __repr__(self) -> str:
        return f"field {self._name!r}"


def partition_function(partitioner: Any) -> Callable[[Any, int], int]:
    """Return a function from key and number of subtasks to subtask."""
    if isinstance(partitioner, Partitioner):
        return partitioner.partition
    checked: Callable[[Any, int], int] = check_function(partitioner, Partitioner, "partition_custom")
    return checked


def step_name(kind: str, function: Any) -> str:
    """Return the name a step has until the program gives it another."""
    name = getattr(function, "__name__", None) or type(function).__name__
    return kind if name in ("<lambda>", "function") or isinstance(function, Function) is False else f"{kind}: {name}"
