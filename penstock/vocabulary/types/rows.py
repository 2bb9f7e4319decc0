"""Rows: records with named or numbered fields and a kind of change."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from penstock.foundation.keys.forms import Tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """What a row says about the table it belongs to."""

    INSERT = 0
    """A new row."""
    UPDATE_BEFORE = 1
    """The old content of a row that changes."""
    UPDATE_AFTER = 2
    """The new content of a row that changed."""
    DELETE = 3
    """The content of a row that is gone."""

    def __str__(self) -> str:
        return _SHORT_NAMES[self]


_SHORT_NAMES = {RowKind.INSERT: "+I", RowKind.UPDATE_BEFORE: "-U", RowKind.UPDATE_AFTER: "+U", RowKind.DELETE: "-D"}


class Row:
    """A record whose fields are read by position, by name or as attributes.

    Keyword arguments name the fields; positional ones leave them unnamed. A row of unnamed strings also serves
    as a template: calling it makes rows with those field names. `in` looks among the names of named fields and
    among the values of unnamed ones.

    Example:
        >>> row = Row(name="Alice", age=11)
        >>> row.name, row["age"], row[0]
        ('Alice', 11, 'Alice')
        >>> Person = Row("name", "age")
        >>> Person("Bob", 12)
        Row(name='Bob', age=12)
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: list[str] | None
    _values: list[Any]
    _row_kind: RowKind

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Create a row of unnamed (`args`) or named (`kwargs`) fields."""
        if args and kwargs:
            msg = "A row has either unnamed or named fields; give positional or keyword arguments, not both."
            raise ValueError(msg)
        self._fields = list(kwargs) if kwargs else None
        self._values = list(kwargs.values()) if kwargs else list(args)
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of the given kind of change."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def get_row_kind(self) -> RowKind:
        """Return the kind of change."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, in their order."""
        self._fields = list(field_names)

    def get_field_names(self) -> list[str] | None:
        """Return the names of the fields, or None if they are unnamed."""
        return None if self._fields is None else list(self._fields)

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """Return the values of the named fields, in the order of `names`; unnamed fields come as they are."""
        if self._fields is None:
            return list(self._values)
        return [self[name] for name in names]

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002 - PyFlink's signature
        """Return the fields by name; with `recursive`, rows inside lists, dicts and fields become dicts too."""
        if self._fields is None:
            msg = f"{self!r} has no field names, so it cannot become a dict; name them with set_field_names."
            raise TypeError(msg)
        values = [_as_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def __contains__(self, item: object) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __call__(self, *args: Any) -> Row:
        """Return a row of the given values whose field names are the values of this one."""
        if len(args) > len(self):
            msg = f"{self!r} has {len(self)} fields but {len(args)} values were given: {args!r}."
            raise ValueError(msg)
        return _create_row([str(name) for name in self._values], args, self._row_kind)

    def __getitem__(self, item: int | slice | str) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        return self._values[self._position(item)]

    def __setitem__(self, key: int | slice | str, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
        else:
            self._values[self._position(key)] = value

    def __getattr__(self, item: str) -> Any:
        # Names with an underscore are the language's own; looking for them among fields breaks copy and pickle.
        if item.startswith("_") or self._fields is None or item not in self._fields:
            msg = f"'Row' object has no attribute {item!r}"
            raise AttributeError(msg)
        return self._values[self._fields.index(item)]

    def __setattr__(self, key: str, value: Any) -> None:
        if key not in Row.__slots__:
            msg = f"The field {key!r} cannot be set as an attribute; write row[{key!r}] = ... instead."
            raise AttributeError(msg)
        object.__setattr__(self, key, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _create_row, (self._fields, tuple(self._values), self._row_kind)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row) or self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        # Named rows are equal if their fields are, in whichever order they were given.
        return self._fields is not None and other._fields is not None and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        if self._fields is None:
            return hash(tuple(self._values))
        by_name = sorted(zip(self._fields, self._values, strict=False), key=lambda field: field[0])
        return hash(tuple(value for _, value in by_name))

    def _canonical_key_(self, part: Callable[[Any], Any]) -> Tagged:
        """Return the form that all rows equal to this one share, by that of the fields (foundation/keys)."""
        content: Any = tuple(map(part, self._values))
        if self._fields is not None:
            by_name = sorted(zip(self._fields, content, strict=False), key=lambda field: field[0])
            content = Tagged("by name", tuple(by_name))
        return Tagged("row", (self._row_kind.name, content))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(repr(value) for value in self._values)})>"
        named = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in named)})"

    def _position(self, name: str) -> int:
        if self._fields is None:
            msg = f"{self!r} has no field names; read its fields by position or name them with set_field_names."
            raise KeyError(msg)
        try:
            return self._fields.index(name)
        except ValueError:
            msg = f"The row has no field {name!r}; its fields are {', '.join(self._fields)}."
            raise ValueError(msg) from None


def _create_row(fields: Sequence[str] | None, values: Sequence[Any], row_kind: RowKind) -> Row:
    row = Row(*values)
    row._fields = None if fields is None else list(fields)
    row._row_kind = row_kind
    return row


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_as_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: _as_plain(element) for key, element in value.items()}
    return value
