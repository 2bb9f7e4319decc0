"""What gives the keys of runs of records."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.exchange.elements import Values

    KeyFunction = Callable[[Any], Any]

__all__ = ["keys_of", "the_record"]


def the_record(value: Any) -> Any:
    """Return the record: the key selector of streams whose records are their keys."""
    return value


def keys_of(function: KeyFunction) -> Callable[[Values], Iterable[Any]]:
    """Return what gives the keys of a run: what the function itself has for that, or a call for each when asked for."""
    own: Callable[[Values], Iterable[Any]] | None = getattr(function, "keys_of", None)
    if own is not None:
        return own
    return _themselves if function is the_record else partial(map, function)


def _themselves(values: Values) -> Values:
    return values
