"""The built-in aggregates of windows, batch by batch: records of a key are combined before they go into their windows.

A record of a sliding window belongs to many windows. Whole numbers may be added in any grouping, and the smallest and
largest found in any, so the records of one run, key and pane become one that is added to each window once. Floats are
left out: their sum depends on the order, and comparisons with NaN do, too.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.functions.fields import FieldReducer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.runtime.exchange.elements import Values

__all__ = ["add_group", "are_groupable", "can_group"]


def can_group(reducer: Any) -> bool:
    """Tell whether a reducer is a built-in one of a field of tuples."""
    return isinstance(reducer, FieldReducer) and isinstance(reducer.position, int) and reducer.position >= 0


def are_groupable(values: Values, reducer: FieldReducer) -> bool:
    """Tell whether all records are plain tuples with a whole number in the reducer's field."""
    if set(map(type, values)) != {tuple}:
        return False
    try:
        return set(map(type, map(itemgetter(reducer.position), values))) == {int}
    except IndexError:
        return False  # the way record by record says which record has no such field


def add_group(group: dict[Any, Any], windows: Iterable[dict[Any, Any]], combine: Callable[[Any, Any], Any]) -> None:
    """Add the combined records of a pane to each of its windows."""
    for entries in windows:
        for key, value in group.items():
            known = entries.get(key)
            entries[key] = value if known is None else combine(known, value)
