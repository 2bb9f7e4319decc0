"""Type information of single values: numbers, text, dates and points in time.

A type information names the type of a state or of a stream's records. The runtime passes values on as they are;
`to_internal_type` and `from_internal_type` convert between a Python value and its plain form for whoever asks,
such as a format that writes dates as numbers.
"""

from __future__ import annotations

import datetime
from abc import ABC
from enum import Enum
from typing import Any

from penstock.vocabulary.time.durations import Instant

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "LocalTimeTypeInfo",
    "PickledBytesTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TypeInformation",
    "VoidTypeInfo",
]

_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MICROS_PER_SECOND = 1_000_000


class TypeInformation(ABC):  # noqa: B024 - what differs is the conversion, and most types need none
    """What is known about the type of a value; two informations of the same type are equal."""

    def need_conversion(self) -> bool:
        """Tell whether the plain form of a value differs from the value."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Return the plain form of a Python value; None stays None."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Return the Python value of a plain form; None stays None."""
        return obj

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return str(self)


class BasicType(Enum):
    """The types that are one indivisible value; the value is Java's name of the type."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Character"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """The type of one indivisible value."""

    def __init__(self, basic_type: BasicType) -> None:
        """Create the information of `basic_type`; `Types` reads better."""
        self._basic_type = basic_type

    def get_basic_type(self) -> BasicType:
        """Return which of the basic types this is."""
        return self._basic_type

    def __str__(self) -> str:
        return str(self._basic_type.value)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of text."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of true and false."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of 8-bit whole numbers."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of 16-bit whole numbers."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of 32-bit whole numbers."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of 64-bit whole numbers."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of single-precision numbers."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of double-precision numbers."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of single characters."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of whole numbers of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of exact decimal numbers."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        """Return the type of points in time."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """The type of `Instant`; its plain form counts microseconds since the epoch."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        """Create the information of points in time."""
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the value."""
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        """Return the microseconds since the epoch; what is below a microsecond is cut off."""
        return None if obj is None else obj.seconds * _MICROS_PER_SECOND + obj.nanos // 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        """Return the point in time so many microseconds after the epoch."""
        if obj is None:
            return None
        seconds, micros = divmod(obj, _MICROS_PER_SECOND)
        return Instant(seconds, micros * 1000)


class VoidTypeInfo(TypeInformation):
    """The type whose only value is None, as a broadcast state without a key uses it."""

    def __str__(self) -> str:
        return "Void"


class PickledBytesTypeInfo(TypeInformation):
    """The type of any Python object; it travels and is stored as its pickle."""

    def __str__(self) -> str:
        return "PickledByteArrayTypeInfo"


class DateTypeInfo(TypeInformation):
    """The type of `datetime.date`; its plain form counts days since 1970-01-01."""

    EPOCH_ORDINAL = _EPOCH_ORDINAL

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the value."""
        return True

    def to_internal_type(self, d: datetime.date | None) -> int | None:
        """Return the days since 1970-01-01."""
        return None if d is None else d.toordinal() - _EPOCH_ORDINAL

    def from_internal_type(self, v: int | None) -> datetime.date | None:
        """Return the date so many days after 1970-01-01."""
        return None if v is None else datetime.date.fromordinal(v + _EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """The type of `datetime.time`; its plain form counts microseconds since midnight.

    A time with a zone is turned into UTC. A time without one is a wall clock's and stays as it is, so that
    the same value has the same plain form on every machine.
    """

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the value."""
        return True

    def to_internal_type(self, t: datetime.time | None) -> int | None:
        """Return the microseconds since midnight."""
        if t is None:
            return None
        offset = (t.utcoffset() or datetime.timedelta()) // _MICROSECOND
        seconds = (t.hour * 60 + t.minute) * 60 + t.second
        return seconds * _MICROS_PER_SECOND + t.microsecond - offset

    def from_internal_type(self, t: int | None) -> datetime.time | None:
        """Return the wall-clock time so many microseconds after midnight."""
        if t is None:
            return None
        # The date is thrown away: only the time of day of the sum is kept.
        return (_EPOCH + t * _MICROSECOND).time()


class TimestampTypeInfo(TypeInformation):
    """The type of `datetime.datetime`; its plain form counts microseconds since 1970-01-01T00:00:00.

    A timestamp with a zone is turned into UTC. A timestamp without one is a wall clock's and is read as if it
    were UTC, so that the same value has the same plain form on every machine.
    """

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the value."""
        return True

    def to_internal_type(self, dt: datetime.datetime | None) -> int | None:
        """Return the microseconds since the epoch."""
        if dt is None:
            return None
        aware = dt if dt.tzinfo is not None else dt.replace(tzinfo=datetime.UTC)
        return (aware - _EPOCH) // _MICROSECOND

    def from_internal_type(self, ts: int | None) -> datetime.datetime | None:
        """Return the wall-clock timestamp, in UTC and without a zone, so many microseconds after the epoch."""
        return None if ts is None else (_EPOCH + ts * _MICROSECOND).replace(tzinfo=None)


class SqlTimeTypeInfo(TypeInformation):
    """Gives the types of SQL's DATE, TIME and TIMESTAMP."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """Return the type of dates."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """Return the type of times of day."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """Return the type of timestamps."""
        return TimestampTypeInfo()


class LocalTimeTypeInfo(TypeInformation):
    """The type of Java's LocalDate, LocalTime or LocalDateTime, which Python has as date, time and datetime."""

    class TimeType(Enum):
        """Which of the three types it is."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        """Create the information of one of the three types."""
        self._time_type = time_type
        self._conversion: TypeInformation = {
            LocalTimeTypeInfo.TimeType.LOCAL_DATE: DateTypeInfo,
            LocalTimeTypeInfo.TimeType.LOCAL_TIME: TimeTypeInfo,
            LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: TimestampTypeInfo,
        }[time_type]()

    def need_conversion(self) -> bool:
        """Tell that the plain form differs from the value."""
        return True

    def to_internal_type(self, obj: Any) -> Any:
        """Return days (dates) or microseconds (times and timestamps)."""
        return self._conversion.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """Return the date, time or timestamp."""
        return self._conversion.from_internal_type(obj)

    def __str__(self) -> str:
        return f"LocalTimeTypeInfo({self._time_type.name})"
