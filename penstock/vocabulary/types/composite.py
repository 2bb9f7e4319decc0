"""Type information of values that are made of others: rows, tuples, arrays, lists and maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.types.rows import Row, RowKind
from penstock.vocabulary.types.type_info import BasicType, BasicTypeInfo, TypeInformation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BasicArrayTypeInfo",
    "ExternalTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]

_PRIMITIVES = frozenset(BasicType) - {BasicType.STRING, BasicType.BIG_INT, BasicType.BIG_DEC, BasicType.INSTANT}


class _SequenceTypeInfo(TypeInformation):
    """The type of a Python sequence whose elements all have one type."""

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = element_type

    def get_element_type(self) -> TypeInformation:
        """Return the type of the elements."""
        return self._element_type

    def need_conversion(self) -> bool:
        """Tell whether the plain form of an element differs from the element."""
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the list of the elements' plain forms; a sequence that needs no conversion stays as it is."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.to_internal_type(element) for element in obj]

    def from_internal_type(self, obj: Any) -> Any:
        """Return the list of the elements; a sequence that needs no conversion stays as it is."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.from_internal_type(element) for element in obj]

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """The type of an array of numbers, characters or booleans; of bytes it is Python's `bytes`."""

    def __init__(self, element_type: TypeInformation) -> None:
        """Create the type of an array of `element_type`."""
        if not (isinstance(element_type, BasicTypeInfo) and element_type.get_basic_type() in _PRIMITIVES):
            msg = f"{element_type} is not a primitive type; use Types.OBJECT_ARRAY or Types.LIST for it."
            raise TypeError(msg)
        super().__init__(element_type)


class BasicArrayTypeInfo(_SequenceTypeInfo):
    """The type of an array of numbers, characters, booleans or text, in which elements may be None."""

    def __init__(self, element_type: TypeInformation) -> None:
        """Create the type of an array of `element_type`."""
        allowed = _PRIMITIVES | {BasicType.STRING}
        if not (isinstance(element_type, BasicTypeInfo) and element_type.get_basic_type() in allowed):
            msg = f"{element_type} is neither a primitive type nor text; use Types.OBJECT_ARRAY or Types.LIST for it."
            raise TypeError(msg)
        super().__init__(element_type)


class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """The type of an array of elements of any one type."""


class ListTypeInfo(_SequenceTypeInfo):
    """The type of a list of elements of any one type."""


class MapTypeInfo(TypeInformation):
    """The type of a dict whose keys have one type and whose values have one type."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        """Create the type of a dict from `key_type_info` to `value_type_info`."""
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    def get_key_type_info(self) -> TypeInformation:
        """Return the type of the keys."""
        return self._key_type_info

    def get_value_type_info(self) -> TypeInformation:
        """Return the type of the values."""
        return self._value_type_info

    def need_conversion(self) -> bool:
        """Tell whether the plain form of a key or a value differs from it."""
        return self._key_type_info.need_conversion() or self._value_type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the dict of the plain forms; a dict that needs no conversion stays as it is."""
        if obj is None or not self.need_conversion():
            return obj
        to_key, to_value = self._key_type_info.to_internal_type, self._value_type_info.to_internal_type
        return {to_key(key): to_value(value) for key, value in obj.items()}

    def from_internal_type(self, obj: Any) -> Any:
        """Return the dict of the values; a dict that needs no conversion stays as it is."""
        if obj is None or not self.need_conversion():
            return obj
        to_key, to_value = self._key_type_info.from_internal_type, self._value_type_info.from_internal_type
        return {to_key(key): to_value(value) for key, value in obj.items()}

    def __str__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class TupleTypeInfo(TypeInformation):
    """The type of a tuple with a fixed number of fields."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        """Create the type of a tuple with fields of the given types."""
        self._field_types = list(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields."""
        return list(self._field_types)

    def need_conversion(self) -> bool:
        """Tell whether the plain form of a field differs from it."""
        return any(field_type.need_conversion() for field_type in self._field_types)

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the tuple of the fields' plain forms."""
        if obj is None:
            return None
        _require_arity(obj, len(self._field_types), self)
        return tuple(kind.to_internal_type(value) for kind, value in zip(self._field_types, obj, strict=True))

    def from_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the tuple of the fields."""
        if obj is None:
            return None
        return tuple(kind.from_internal_type(value) for kind, value in zip(self._field_types, obj, strict=True))

    def __str__(self) -> str:
        return f"TupleTypeInfo({', '.join(str(field_type) for field_type in self._field_types)})"


class RowTypeInfo(TypeInformation):
    """The type of a `Row`; its plain form is a tuple of the row kind's number and the fields' plain forms."""

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        """Create the type of a row; fields without names are called f0, f1 and so on."""
        self._field_types = list(field_types)
        self._is_named = field_names is not None
        self._field_names = [f"f{i}" for i in range(len(field_types))] if field_names is None else list(field_names)
        if len(self._field_names) != len(self._field_types):
            msg = f"A row has one name per type; {len(field_types)} types and {len(self._field_names)} names are given."
            raise ValueError(msg)
        if len(set(self._field_names)) != len(self._field_names):
            msg = f"The field names of a row must differ from each other: {', '.join(self._field_names)}."
            raise ValueError(msg)

    def get_field_names(self) -> list[str]:
        """Return the names of the fields."""
        return list(self._field_names)

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields."""
        return list(self._field_types)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1 if the row has none of that name."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the row."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Return the plain form of a row, a dict, a tuple, a list or an object with such attributes."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        values = self._values_of(obj)
        _require_arity(values, len(self._field_types), self)
        fields = (field.to_internal_type(value) for field, value in zip(self._field_types, values, strict=True))
        return (kind.value, *fields)

    def from_internal_type(self, obj: Any) -> Row | None:
        """Return the row of a plain form."""
        if obj is None:
            return None
        kind, *values = obj
        fields = (field.from_internal_type(value) for field, value in zip(self._field_types, values, strict=True))
        row = Row.of_kind(RowKind(kind), *fields)
        if self._is_named:
            row.set_field_names(self._field_names)
        return row

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RowTypeInfo)
            and self._field_names == other._field_names
            and self._field_types == other._field_types
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        fields = zip(self._field_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {field_type}' for name, field_type in fields)})"

    def _values_of(self, obj: Any) -> list[Any]:
        if isinstance(obj, Mapping):
            return [obj.get(name) for name in self._field_names]
        if isinstance(obj, Row):
            return obj.get_fields_by_names(self._field_names)
        if isinstance(obj, (tuple, list)):
            return list(obj)
        if hasattr(obj, "__dict__"):
            return [getattr(obj, name, None) for name in self._field_names]
        msg = f"{obj!r} is no {self}; give a Row, a dict, a tuple or a list."
        raise ValueError(msg)


class ExternalTypeInfo(TypeInformation):
    """The type of a value that comes from or goes to a table; it converts as the type it wraps."""

    def __init__(self, type_info: TypeInformation) -> None:
        """Create the information that wraps `type_info`."""
        self._type_info = type_info

    def need_conversion(self) -> bool:
        """Tell whether the wrapped type's plain form differs from the value."""
        return self._type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the wrapped type's plain form."""
        return self._type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """Return the wrapped type's value."""
        return self._type_info.from_internal_type(obj)

    def __str__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


def _require_arity(values: Any, arity: int, type_info: TypeInformation) -> None:
    if len(values) != arity:
        msg = f"{values!r} has {len(values)} fields, but {type_info} has {arity}."
        raise ValueError(msg)
