"""How the keys of records are found: by the program's key selectors, opened and closed, and checked what they return.

Whatever a key is needed for, it comes from a :class:`KeyFunction`. A key that cannot be one is refused where it is
first seen. If a selector fails, or its key is refused, the function remembers for which record: keys are found for
whole runs, some of them by built-in functions, and the traceback would show neither.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.errors import UnusableKeyError
from penstock.foundation.keys.canonical_form import canonical
from penstock.foundation.keys.forms import PLAIN_KINDS
from penstock.foundation.native import native
from penstock.runtime.exchange.key_functions import the_record
from penstock.runtime.interpreter_tricks.parts_taken import simplified
from penstock.runtime.task.context import FunctionContext
from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.exchange.elements import Values
    from penstock.runtime.task.context import OperatorContext

__all__ = ["KeyFunction", "close_functions", "key_function", "open_functions", "selectors_of"]

_CACHED_KEYS = 1 << 16
_PLAIN = PLAIN_KINDS | {bool}


class _CheckedKeys(dict[Any, None]):
    """Remembers keys that were looked at; ``checked[key]`` refuses a key that cannot be one."""

    def __missing__(self, key: Any) -> None:
        canonical(key)
        if len(self) >= _CACHED_KEYS:
            self.clear()
        self[key] = None

    def check(self, key: Any) -> None:
        """Refuse a key that cannot be one."""
        try:
            self[key]
        except TypeError as error:  # it has no hash, or cannot be compared with one that has the same
            canonical(key)
            message = (
                f"{key!r:.100} cannot be a key beside others of this stream: Python cannot compare it with one that has"
                f" the same hash ({error}), as it cannot compare a Decimal and an integer of NumPy.\n  Return keys of"
                " one type: int(...) for integers of NumPy."
            )
            raise UnusableKeyError(message) from None


if TYPE_CHECKING or native is None:

    class KeyFunction:
        """Gives the key of a record.

        Args:
            selector: What the program says about keys, for messages.
            select: What finds the key, ``None`` if the record is its own key.
            position: The place of the key in records that are tuples, -1 if that is not all there is to it.
            check: Called with every key that is not plain data, to refuse it; ``None`` if any key will do.
        """

        __slots__ = ("_check", "_select", "failure", "selector")

        def __init__(
            self,
            selector: Callable[[Any], Any],
            select: Callable[[Any], Any] | None,
            position: int,
            check: Callable[[Any], None] | None,
        ) -> None:
            self.selector = selector
            self._select = select
            self._check = check
            self.failure: tuple[BaseException, Any] | None = None
            """The last error and the record for which it was raised."""

        def __call__(self, value: Any) -> Any:
            """Return the key of a record."""
            select, failed, key = self._select, None, value
            if select is not None:
                try:
                    key = select(value)
                except Exception as error:
                    failed = error
                if failed is not None:
                    self._fail(failed, value)
            kind = type(key)
            if kind in _PLAIN or self._check is None or (kind is tuple and _PLAIN.issuperset(map(type, key))):
                return key
            self._check_all(self._check, [key], [value])
            return key

        def keys_of(self, values: Values) -> Iterable[Any]:
            """Return the keys of a run; the run itself if its records are their keys."""
            keys: list[Any] = values if self._select is None else []
            if self._select is not None:
                failed: Exception = StopIteration()  # which ends the loop without a word
                try:
                    keys.extend(map(self._select, values))
                except Exception as error:
                    failed = error
                if len(keys) < len(values):
                    self._fail(failed, values[len(keys)])
            if self._check is not None and not _PLAIN.issuperset(map(type, keys)):
                self._check_all(self._check, keys, values)
            return keys

        def _fail(self, error: Exception, value: Any) -> None:
            self.failure = error, value
            if isinstance(error, StopIteration):
                message = "a key selector raised StopIteration"
                raise RuntimeError(message) from error  # noqa: TRY004 - as generators do
            raise error

        def _check_all(self, check: Callable[[Any], None], keys: list[Any], values: Values) -> None:
            if set(map(type, keys)) == {tuple} and _PLAIN.issuperset(map(type, chain.from_iterable(keys))):
                return
            for key, value in zip(keys, values, strict=True):
                try:
                    check(key)
                except Exception as error:
                    self.failure = error, value
                    raise
else:
    KeyFunction = native.KeyFunction


def key_function(selector: Callable[[Any], Any], *, is_checked: bool = True) -> KeyFunction:
    """Return what gives the keys of a selector, at the speed of built-in functions where it only takes a part."""
    select = simplified(selector)
    check = _CheckedKeys().check if is_checked else None
    return KeyFunction(selector, None if select is the_record else select, _position(select), check)


def _position(select: Any) -> int:
    """Return which item of a tuple a function takes, -1 if it does anything else."""
    if type(select) is not itemgetter:
        return -1
    items = select.__reduce__()[1]
    return items[0] if len(items) == 1 and type(items[0]) is int and items[0] >= 0 else -1


def selectors_of(functions: Iterable[KeyFunction]) -> list[Callable[[Any], Any]]:
    """Return the key selectors of the program in some key functions."""
    return [function.selector for function in functions]


def open_functions(selectors: Iterable[Callable[..., Any]], context: OperatorContext) -> None:
    """Open the key selectors and partitioners among some methods and functions of the program, each once."""
    for owner in _owners(selectors):
        runtime_context = FunctionContext(context)
        owner.set_runtime_context(runtime_context)
        owner.open(runtime_context)


def close_functions(selectors: Iterable[Callable[..., Any]]) -> None:
    """Close the key selectors and partitioners; raise the first error after all are closed."""
    first_error: Exception | None = None
    for owner in _owners(selectors):
        try:
            owner.close()
        except Exception as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error


def _owners(selectors: Iterable[Callable[..., Any]]) -> list[Function]:
    owners = [getattr(selector, "__self__", selector) for selector in selectors]
    return list({id(owner): owner for owner in owners if isinstance(owner, Function)}.values())
