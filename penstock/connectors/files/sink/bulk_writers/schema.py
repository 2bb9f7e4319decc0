"""The types of rows as pyarrow knows them, and records as the columns of such a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError, SerializationError
from penstock.vocabulary.time.durations import Instant
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
from penstock.vocabulary.types.type_info import BasicType, BasicTypeInfo, DateTypeInfo, TimestampTypeInfo, TimeTypeInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["arrow_schema", "batch_of", "values_in"]

_LISTS = (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo)


def arrow_schema(row_type: Any) -> Any:
    """Return the pyarrow schema of a row type; a pyarrow schema stays as it is.

    Raises:
        ProgramError: It is neither, or a field has a type that files cannot hold.
    """
    import pyarrow

    if isinstance(row_type, pyarrow.Schema):
        return row_type
    if not isinstance(row_type, RowTypeInfo):
        message = f"Give Types.ROW_NAMED(names, types) or a pyarrow.Schema, not {row_type!r:.200}."
        raise ProgramError(message)
    return pyarrow.schema(_arrow_type(row_type))


def batch_of(elements: Sequence[Any], schema: Any) -> Any:
    """Return records as a pyarrow record batch: rows, tuples, dicts or objects with such attributes.

    Raises:
        SerializationError: A value does not fit into its column.
    """
    import pyarrow

    columns = _columns(elements, schema.names)
    arrays = [_array(column, field) for column, field in zip(columns, schema, strict=True)]
    return pyarrow.record_batch(arrays, schema=schema)


def _array(column: Sequence[Any], field: Any) -> Any:
    import pyarrow

    try:
        return pyarrow.array(_plain_column(column, field.type), field.type)
    except (pyarrow.ArrowException, TypeError, ValueError, AttributeError) as error:
        if len(column) > 1:
            for value in column:
                _array([value], field)
        message = f"{column[0]!r:.200} does not fit into the column {field.name!r} of type {field.type}: {error}"
        raise SerializationError(message) from error


def _columns(elements: Sequence[Any], names: list[str]) -> list[Any]:
    if set(map(type, elements)) == {tuple}:
        return list(zip(*elements, strict=True))
    values = values_in(names)
    return list(zip(*[values(element) for element in elements], strict=True))


def values_in(names: list[str]) -> Callable[[Any], Sequence[Any]]:
    """Return what takes the fields of these names from a record: a row, tuple, list, dict or other object."""

    def values(element: Any) -> Sequence[Any]:
        if isinstance(element, Mapping):
            return [element.get(name) for name in names]
        if isinstance(element, Row):
            # Fields without names are those of the schema in its order.
            return element.get_fields_by_names(names) if element._fields is not None else list(element)
        if isinstance(element, tuple | list):
            return element
        return [getattr(element, name) for name in names]

    return values


def _plain_column(column: Sequence[Any], kind: Any) -> Sequence[Any]:
    """Return values in the form that pyarrow takes."""
    from pyarrow import types

    if types.is_timestamp(kind):
        return [_micros(value) if isinstance(value, Instant) else value for value in column]
    if types.is_nested(kind):
        return [_plain(value, kind) for value in column]
    return column


def _plain(value: Any, kind: Any) -> Any:
    from pyarrow import types

    if value is None:
        return None
    if types.is_struct(kind):
        fields = list(kind)
        values = values_in([field.name for field in fields])(value)
        return {field.name: _plain(each, field.type) for field, each in zip(fields, values, strict=True)}
    if types.is_map(kind):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(_plain(key, kind.key_type), _plain(item, kind.item_type)) for key, item in pairs]
    if types.is_list(kind):
        return [_plain(each, kind.value_type) for each in value]
    return _micros(value) if isinstance(value, Instant) else value


def _micros(instant: Instant) -> int:
    return instant.seconds * 1_000_000 + instant.nanos // 1000


def _arrow_type(kind: TypeInformation) -> Any:
    import pyarrow

    if isinstance(kind, RowTypeInfo):
        named = zip(kind.get_field_names(), kind.get_field_types(), strict=True)
        return pyarrow.struct([pyarrow.field(name, _arrow_type(each)) for name, each in named])
    if isinstance(kind, TupleTypeInfo):
        numbered = enumerate(kind.get_field_types())
        return pyarrow.struct([pyarrow.field(f"f{number}", _arrow_type(each)) for number, each in numbered])
    if isinstance(kind, MapTypeInfo):
        return pyarrow.map_(_arrow_type(kind.get_key_type_info()), _arrow_type(kind.get_value_type_info()))
    if isinstance(kind, PrimitiveArrayTypeInfo) and kind.get_element_type() == BasicTypeInfo.BYTE_TYPE_INFO():
        return pyarrow.binary()
    if isinstance(kind, _LISTS):
        return pyarrow.list_(_arrow_type(kind.get_element_type()))
    return _simple_type(kind)


def _simple_type(kind: TypeInformation) -> Any:
    import pyarrow

    if isinstance(kind, BasicTypeInfo):
        return {
            BasicType.STRING: pyarrow.string(),
            BasicType.CHAR: pyarrow.string(),
            BasicType.BOOLEAN: pyarrow.bool_(),
            BasicType.BYTE: pyarrow.int8(),
            BasicType.SHORT: pyarrow.int16(),
            BasicType.INT: pyarrow.int32(),
            BasicType.LONG: pyarrow.int64(),
            BasicType.FLOAT: pyarrow.float32(),
            BasicType.DOUBLE: pyarrow.float64(),
            BasicType.BIG_INT: pyarrow.decimal128(38, 0),
            BasicType.BIG_DEC: pyarrow.decimal128(38, 18),
            BasicType.INSTANT: pyarrow.timestamp("us", tz="UTC"),
        }[kind.get_basic_type()]
    for known, arrow_type in (
        (DateTypeInfo, pyarrow.date32()),
        (TimeTypeInfo, pyarrow.time64("us")),
        (TimestampTypeInfo, pyarrow.timestamp("us")),
    ):
        if isinstance(kind, known):
            return arrow_type
    message = f"Files have no column for {kind}; give its fields a type of their own, such as Types.STRING()."
    raise ProgramError(message)
