"""`Types`: one place from which a program takes the type of a state or of a stream's records."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

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
from penstock.vocabulary.types.type_info import (
    BasicTypeInfo,
    PickledBytesTypeInfo,
    SqlTimeTypeInfo,
    TypeInformation,
    VoidTypeInfo,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Types"]


class Types:
    """Makes the type informations.

    Example:
        >>> str(Types.TUPLE([Types.STRING(), Types.INT()]))
        'TupleTypeInfo(String, Integer)'
    """

    STRING = BasicTypeInfo.STRING_TYPE_INFO
    BYTE = BasicTypeInfo.BYTE_TYPE_INFO
    BOOLEAN = BasicTypeInfo.BOOLEAN_TYPE_INFO
    SHORT = BasicTypeInfo.SHORT_TYPE_INFO
    INT = BasicTypeInfo.INT_TYPE_INFO
    LONG = BasicTypeInfo.LONG_TYPE_INFO
    FLOAT = BasicTypeInfo.FLOAT_TYPE_INFO
    DOUBLE = BasicTypeInfo.DOUBLE_TYPE_INFO
    CHAR = BasicTypeInfo.CHAR_TYPE_INFO
    BIG_INT = BasicTypeInfo.BIG_INT_TYPE_INFO
    BIG_DEC = BasicTypeInfo.BIG_DEC_TYPE_INFO
    INSTANT = BasicTypeInfo.INSTANT_TYPE_INFO
    SQL_DATE = SqlTimeTypeInfo.DATE
    SQL_TIME = SqlTimeTypeInfo.TIME
    SQL_TIMESTAMP = SqlTimeTypeInfo.TIMESTAMP

    @staticmethod
    def VOID() -> VoidTypeInfo:
        """Return the type whose only value is None."""
        return VoidTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> PickledBytesTypeInfo:
        """Return the type of any Python object."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Return the type of a row whose fields are called f0, f1 and so on."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """Return the type of a row with the given field names."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """Return the type of a tuple."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """Return the type of an array of numbers, characters or booleans."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> BasicArrayTypeInfo:
        """Return the type of an array of numbers, characters, booleans or text, in which elements may be None."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> ObjectArrayTypeInfo:
        """Return the type of an array of elements of any one type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> ListTypeInfo:
        """Return the type of a list."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> MapTypeInfo:
        """Return the type of a dict."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def of(python_type: type) -> TypeInformation:
        """Return the type information of a Python type; a type it does not know is any Python object.

        Example:
            >>> Types.of(str), Types.of(int), Types.of(dict)
            (String, Long, PickledByteArrayTypeInfo)
        """
        return _BY_PYTHON_TYPE.get(python_type) or Types.PICKLED_BYTE_ARRAY()


_BY_PYTHON_TYPE: dict[type, TypeInformation] = {
    str: Types.STRING(),
    bool: Types.BOOLEAN(),
    int: Types.LONG(),
    float: Types.DOUBLE(),
    bytes: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: Types.BIG_DEC(),
    Instant: Types.INSTANT(),
    datetime.date: Types.SQL_DATE(),
    datetime.time: Types.SQL_TIME(),
    datetime.datetime: Types.SQL_TIMESTAMP(),
    type(None): Types.VOID(),
}
