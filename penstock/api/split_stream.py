"""``split`` and ``select``: a stream divided by names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.api.program import location
from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.api.data_stream import DataStream

__all__ = ["SplitStream"]

T = TypeVar("T")


class SplitStream(Generic[T]):
    """A stream whose records carry names; the selector returns one name or several."""

    def __init__(self, stream: DataStream[T], selector: Callable[[T], str | Iterable[str]]) -> None:
        self._stream = stream
        self._selector = selector

    def select(self, *output_names: str) -> DataStream[T]:
        """Return the records that carry at least one of the names, each once."""
        if not output_names or any(not isinstance(name, str) for name in output_names):
            message = f"select() needs one or more names, not {output_names!r}."
            raise ProgramError(message, location())
        selected = self._stream.filter(_CarriesName(self._selector, frozenset(output_names)))
        return selected.name(f"Select: {', '.join(output_names)}")


class _CarriesName:
    def __init__(self, selector: Callable[[Any], str | Iterable[str]], names: frozenset[str]) -> None:
        self._selector = selector
        self._names = names

    def __call__(self, value: Any) -> bool:
        carried = self._selector(value)
        return carried in self._names if isinstance(carried, str) else not self._names.isdisjoint(carried)
