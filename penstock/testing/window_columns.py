"""The window functions that transcripts know by name: what to show of each window that fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.functions.windowed import ProcessAllWindowFunction, ProcessWindowFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["window_columns"]

_OF_ELEMENTS: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": sum,
    "min": min,
    "max": max,
    "list": list,
    "first": lambda elements: elements[0],
    "last": lambda elements: elements[-1],
}
_OF_WINDOW: dict[str, Callable[[Any], Any]] = {
    "start": lambda context: context.window().start,
    "end": lambda context: context.window().end,
    "watermark": lambda context: context.current_watermark(),
    "processing_time": lambda context: context.current_processing_time(),
}
_KEYED_ONLY = ("key", "watermark", "processing_time")


def window_columns(names: Any, field: Any, *, is_keyed: bool) -> Any:
    """Return the window function for a name, or for a list of names, which makes tuples.

    ``field`` is what sum, min, max, list, first and last take of each element; ``None`` takes the element itself.
    """
    columns = names if isinstance(names, list) else [names]
    for name in columns:
        if name != "key" and name not in _OF_WINDOW and name not in _OF_ELEMENTS:
            message = f"a function shows {', '.join(['key', *_OF_WINDOW, *_OF_ELEMENTS])}, not {name!r}"
            raise ProgramError(message)
        if not is_keyed and name in _KEYED_ONLY:
            message = f"a window without a key cannot show its {name}"
            raise ProgramError(message)
    row = _Row(columns, field, is_tuple=isinstance(names, list))
    return _KeyedColumns(row) if is_keyed else _Columns(row)


class _Row:
    """Makes the result of one firing."""

    def __init__(self, columns: Sequence[str], field: Any, *, is_tuple: bool) -> None:
        self._columns = columns
        self._field = field
        self._is_tuple = is_tuple

    def make(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        taken = [element if self._field is None else element[self._field] for element in elements]
        found = tuple(self._one(name, key, context, taken) for name in self._columns)
        return found if self._is_tuple else found[0]

    @staticmethod
    def _one(name: str, key: Any, context: Any, elements: list[Any]) -> Any:
        if name == "key":
            return key
        return _OF_WINDOW[name](context) if name in _OF_WINDOW else _OF_ELEMENTS[name](elements)


class _KeyedColumns(ProcessWindowFunction[Any, Any, Any, Any]):
    def __init__(self, row: _Row) -> None:
        self._row = row

    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Iterable[Any]:
        yield self._row.make(key, context, elements)


class _Columns(ProcessAllWindowFunction[Any, Any, Any]):
    def __init__(self, row: _Row) -> None:
        self._row = row

    def process(self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[Any]) -> Iterable[Any]:
        yield self._row.make(None, context, elements)
