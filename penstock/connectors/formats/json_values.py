"""Values of any type as JSON, and back."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.connectors.formats.field_text import INTEGERS, basic_type_of, field_reader, field_writer, is_bytes
from penstock.vocabulary.types.composite import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from penstock.vocabulary.types.rows import Row
from penstock.vocabulary.types.type_info import BasicType, PickledBytesTypeInfo, TypeInformation

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["json_reader", "json_writer"]

_LISTS = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)
_FLOATS = (BasicType.FLOAT, BasicType.DOUBLE)


def json_reader(kind: TypeInformation, *, fails_on_missing_field: bool) -> Callable[[Any], Any]:
    """Return what makes a value of what a JSON parser gives; ``ValueError`` and the like say that it does not fit."""
    read = _value_reader(kind, fails_on_missing_field=fails_on_missing_field)
    return lambda value: None if value is None else read(value)


def _value_reader(kind: TypeInformation, *, fails_on_missing_field: bool) -> Callable[[Any], Any]:
    def reader(inner: TypeInformation) -> Callable[[Any], Any]:
        return json_reader(inner, fails_on_missing_field=fails_on_missing_field)

    if isinstance(kind, RowTypeInfo):
        fields = dict(zip(kind.get_field_names(), map(reader, kind.get_field_types()), strict=True))
        return _row_reader(fields, fails_on_missing_field=fails_on_missing_field)
    if isinstance(kind, TupleTypeInfo):
        readers = [reader(each) for each in kind.get_field_types()]
        return lambda value: tuple(read(each) for read, each in zip(readers, _list(value), strict=True))
    if isinstance(kind, MapTypeInfo):
        key, item = field_reader(kind.get_key_type_info()), reader(kind.get_value_type_info())
        return lambda value: {key(name): item(each) for name, each in value.items()}
    if isinstance(kind, _LISTS) and not is_bytes(kind):
        element = reader(kind.get_element_type())
        return lambda value: [element(each) for each in _list(value)]
    if isinstance(kind, PickledBytesTypeInfo):
        return lambda value: value
    return _scalar_reader(kind)


def _row_reader(fields: dict[str, Callable[[Any], Any]], *, fails_on_missing_field: bool) -> Callable[[Any], Row]:
    make_row = Row(*fields)

    def read(value: Any) -> Row:
        if not isinstance(value, dict):
            message = f"{value!r:.100} is no JSON object"
            raise ValueError(message)  # noqa: TRY004 - the message is to blame, not the program
        if fails_on_missing_field:
            missing = [name for name in fields if name not in value]
            if missing:
                message = f"the field {missing[0]!r} is missing"
                raise ValueError(message)
        return make_row(*(convert(value.get(name)) for name, convert in fields.items()))

    return read


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        message = f"{value!r:.100} is no JSON array"
        raise ValueError(message)  # noqa: TRY004 - the message is to blame, not the program
    return value


def _scalar_reader(kind: TypeInformation) -> Callable[[Any], Any]:
    from_text, basic_type = field_reader(kind), basic_type_of(kind)

    def read(value: Any) -> Any:
        if isinstance(value, str):
            return from_text(value)
        if isinstance(value, bool):
            if basic_type is BasicType.BOOLEAN:
                return value
        elif isinstance(value, (int, Decimal, float)):
            if basic_type in _FLOATS:
                return float(value)
            if basic_type is BasicType.BIG_DEC:
                return Decimal(value) if isinstance(value, (int, Decimal)) else Decimal(repr(value))
            if basic_type in INTEGERS and value == int(value):
                return int(value)
        if basic_type is BasicType.STRING:
            return json.dumps(value, default=str)
        message = f"{value!r:.100} is no {kind}"
        raise ValueError(message)

    return read


def json_writer(kind: TypeInformation) -> Callable[[Any], str]:
    """Return what makes JSON text of a value; decimals keep all their digits."""
    write = _value_writer(kind)
    return lambda value: "null" if value is None else write(value)


def _value_writer(kind: TypeInformation) -> Callable[[Any], str]:
    if isinstance(kind, RowTypeInfo):
        names = [json.dumps(name, ensure_ascii=False) for name in kind.get_field_names()]
        fields = list(zip(names, map(json_writer, kind.get_field_types()), strict=True))
        values_of = kind._values_of

        def write_row(value: Any) -> str:
            pairs = zip(fields, values_of(value), strict=True)
            return "{" + ",".join(f"{name}:{write(each)}" for (name, write), each in pairs) + "}"

        return write_row
    if isinstance(kind, TupleTypeInfo):
        writers = [json_writer(each) for each in kind.get_field_types()]
        return lambda value: f"[{','.join(write(each) for write, each in zip(writers, value, strict=True))}]"
    if isinstance(kind, MapTypeInfo):
        key, item = field_writer(kind.get_key_type_info()), json_writer(kind.get_value_type_info())
        return lambda value: (
            "{"
            + ",".join(f"{json.dumps(key(name), ensure_ascii=False)}:{item(each)}" for name, each in value.items())
            + "}"
        )
    if isinstance(kind, _LISTS) and not is_bytes(kind):
        element = json_writer(kind.get_element_type())
        return lambda value: f"[{','.join(map(element, value))}]"
    if isinstance(kind, PickledBytesTypeInfo):
        return lambda value: json.dumps(value, ensure_ascii=False)
    to_text, basic_type = field_writer(kind), basic_type_of(kind)
    if basic_type in INTEGERS or basic_type in (BasicType.BOOLEAN, BasicType.BIG_DEC):
        return to_text
    if basic_type in _FLOATS:
        return lambda value: json.dumps(float(value))
    return lambda value: json.dumps(to_text(value), ensure_ascii=False)
