"""What is different between two savepoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.savepoints.savepoint import Savepoint

__all__ = ["Difference", "compare_savepoints"]

_MISSING = object()


class Difference(NamedTuple):
    """One entry that only one of two savepoints has, or that has another value.

    Attributes:
        change: ``added``, ``removed`` or ``changed``.
        operator: The uid of the step.
        state: The name of the state.
        key: The key.
        namespace: The window, if there is one.
        before: The value in the first savepoint, ``None`` if it has none.
        after: The value in the second one.
    """

    change: str
    operator: str
    state: str
    key: Any
    namespace: Any
    before: Any
    after: Any


def compare_savepoints(before: Savepoint, after: Savepoint) -> Iterator[Difference]:
    """Return how the second savepoint differs from the first, operator by operator; each must fit into memory."""
    for operator in dict.fromkeys([*before.metadata.operators, *after.metadata.operators]):
        old, new = _content(before, operator), _content(after, operator)
        for place in sorted({**old, **new}, key=repr):
            first, second = old.get(place, _MISSING), new.get(place, _MISSING)
            if first is _MISSING:
                yield Difference("added", operator, place.state, place.key, place.namespace, None, second)
            elif second is _MISSING:
                yield Difference("removed", operator, place.state, place.key, place.namespace, first, None)
            elif first != second:
                yield Difference("changed", operator, place.state, place.key, place.namespace, first, second)


class _Place(NamedTuple):
    """Where a value is. The texts keep apart what is equal and yet another key, as 1 and True are."""

    state: str
    kind: str
    key_text: str
    number: int
    """Which of several values without a key of their own."""
    key: Any
    namespace: Any


def _content(savepoint: Savepoint, operator: str) -> dict[_Place, Any]:
    content: dict[_Place, Any] = {}
    seen: dict[tuple[Any, ...], int] = {}
    for row in savepoint.rows(operator=operator) if operator in savepoint.metadata.operators else ():
        text = repr((row.key, row.namespace, row.subtask))
        if "timer" in row.kind:
            text += repr(row.value)  # several timers of a key are several entries, not one that changes
        place = row.state, row.kind, text
        number = seen[place] = seen.get(place, -1) + 1
        content[_Place(*place, number, row.key, row.namespace)] = row.value
    return content
