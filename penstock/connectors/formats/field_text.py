"""One value of a basic type as text, and back."""

from __future__ import annotations

import base64
import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import Instant
from penstock.vocabulary.types.composite import PrimitiveArrayTypeInfo
from penstock.vocabulary.types.type_info import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["INTEGERS", "basic_type_of", "field_reader", "field_writer", "is_bytes"]

INTEGERS = frozenset({BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT})
_BOOLEANS = {"true": True, "false": False}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def basic_type_of(kind: TypeInformation) -> BasicType | None:
    """Return which of the basic types a type is, if it is one."""
    return kind.get_basic_type() if isinstance(kind, BasicTypeInfo) else None


def is_bytes(kind: TypeInformation) -> bool:
    """Tell whether values of a type are ``bytes``; text holds them in Base64."""
    return isinstance(kind, PrimitiveArrayTypeInfo) and basic_type_of(kind.get_element_type()) is BasicType.BYTE


def field_reader(kind: TypeInformation) -> Callable[[str], Any]:
    """Return what makes a value of its text; it raises ``ValueError`` or ``KeyError`` where the text is none.

    Raises:
        ProgramError: Values of this type are not written as one text.
    """
    basic_type = basic_type_of(kind)
    if basic_type in INTEGERS:
        return int
    if basic_type in (BasicType.FLOAT, BasicType.DOUBLE):
        return float
    if basic_type in (BasicType.STRING, BasicType.CHAR):
        return str
    if basic_type is BasicType.BOOLEAN:
        return lambda text: _BOOLEANS[text.strip().lower()]
    if basic_type is BasicType.BIG_DEC:
        return Decimal
    if basic_type is BasicType.INSTANT:
        return _instant
    if isinstance(kind, DateTypeInfo):
        return datetime.date.fromisoformat
    if isinstance(kind, TimeTypeInfo):
        return datetime.time.fromisoformat
    if isinstance(kind, TimestampTypeInfo):
        return datetime.datetime.fromisoformat
    if is_bytes(kind):
        return lambda text: base64.b64decode(text, validate=True)
    message = f"Values of the type {kind} cannot be read from one field of text."
    raise ProgramError(message)


def field_writer(kind: TypeInformation) -> Callable[[Any], str]:
    """Return what makes text of a value."""
    basic_type = basic_type_of(kind)
    if basic_type is BasicType.BOOLEAN:
        return lambda value: "true" if value else "false"
    if basic_type is BasicType.BIG_DEC:
        return lambda value: format(Decimal(value), "f")
    if basic_type is BasicType.INSTANT:
        return lambda value: _moment(value).isoformat().replace("+00:00", "Z")
    if isinstance(kind, (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)):
        return lambda value: str(value.isoformat())
    if is_bytes(kind):
        return lambda value: base64.b64encode(bytes(value)).decode()
    field_reader(kind)  # refuses what is no single value
    return str


def _instant(text: str) -> Instant:
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        message = f"{text!r} is no point in time: it has no zone"
        raise ValueError(message)
    micros = (moment - _EPOCH) // datetime.timedelta(microseconds=1)
    return Instant(micros // 1_000_000, micros % 1_000_000 * 1000)


def _moment(instant: Instant) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)
