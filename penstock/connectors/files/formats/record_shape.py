"""What a record with named fields looks like in the program: a dict, a tuple, a Row, or an object of its own class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.types.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["check_record_type", "from_mapping", "from_rows"]


def check_record_type(record_type: Any) -> None:
    """Refuse what records cannot become.

    Raises:
        ProgramError: It is not a class or another callable.
    """
    if not callable(record_type):
        message = (
            f"record_type={record_type!r:.60}: records become dict, tuple, Row, or objects of a class that takes their "
            "fields as keyword arguments."
        )
        raise ProgramError(message)


def from_rows(record_type: Callable[..., Any], names: Sequence[str]) -> Callable[[Iterable[Sequence[Any]]], list[Any]]:
    """Return what makes records of rows of values, many at a time."""
    if record_type is dict:
        return lambda rows: [dict(zip(names, row, strict=True)) for row in rows]
    if record_type is tuple:
        return lambda rows: list(map(tuple, rows))
    if record_type is Row:
        make_row = Row(*names)
        return lambda rows: [make_row(*row) for row in rows]
    return lambda rows: [record_type(**dict(zip(names, row, strict=True))) for row in rows]


def from_mapping(record_type: Callable[..., Any]) -> Callable[[Any], Any] | None:
    """Return what makes a record of a dict; ``None`` if it stays one. Values that are no dicts have no fields."""
    check_record_type(record_type)
    if record_type is dict:
        return None
    return lambda value: record_type(**value) if isinstance(value, dict) else value
