"""Lengths of time and points in time, as plain integers behind PyFlink's names.

`Time` counts milliseconds, `Duration` nanoseconds; wherever an option wants a length of time, either of them,
a `timedelta` or a number of milliseconds may be given, and `to_millis` turns any of them into an `int`.
"""

from __future__ import annotations

import operator
import re
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from functools import total_ordering
from typing import SupportsIndex, TypeAlias

__all__ = [
    "Duration",
    "Instant",
    "Time",
    "TimeLength",
    "TimeUnit",
    "format_duration",
    "parse_duration",
    "to_millis",
]

_NANOS_PER_MICRO = 1_000
_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000
_NANOS_PER_MINUTE = 60 * _NANOS_PER_SECOND
_NANOS_PER_HOUR = 60 * _NANOS_PER_MINUTE
_NANOS_PER_DAY = 24 * _NANOS_PER_HOUR


class TimeUnit(Enum):
    """A unit of time; its value is the unit's length in nanoseconds."""

    NANOSECONDS = 1
    MICROSECONDS = _NANOS_PER_MICRO
    MILLISECONDS = _NANOS_PER_MILLI
    SECONDS = _NANOS_PER_SECOND
    MINUTES = _NANOS_PER_MINUTE
    HOURS = _NANOS_PER_HOUR
    DAYS = _NANOS_PER_DAY


@total_ordering
class Time:
    """A length of time in whole milliseconds, as window sizes and join bounds use it.

    Example:
        >>> Time.seconds(5).to_milliseconds()
        5000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        """Create a length of `milliseconds`."""
        self._milliseconds = _whole_number(milliseconds, "milliseconds")

    @staticmethod
    def of(size: int, unit: TimeUnit) -> Time:
        """Return the length of `size` times `unit`; what is below a millisecond is cut off."""
        return Time(_whole_number(size, "size") * unit.value // _NANOS_PER_MILLI)

    @staticmethod
    def days(days: int) -> Time:
        """Return a length of `days` days."""
        return Time.hours(_whole_number(days, "days") * 24)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a length of `hours` hours."""
        return Time.minutes(_whole_number(hours, "hours") * 60)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a length of `minutes` minutes."""
        return Time.seconds(_whole_number(minutes, "minutes") * 60)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a length of `seconds` seconds."""
        return Time(_whole_number(seconds, "seconds") * 1000)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a length of `milliseconds` milliseconds."""
        return Time(milliseconds)

    def to_milliseconds(self) -> int:
        """Return the length in milliseconds."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __lt__(self, other: Time) -> bool:
        return self._milliseconds < other._milliseconds if isinstance(other, Time) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __repr__(self) -> str:
        return f"Time({self._milliseconds} ms)"


@total_ordering
class Duration:
    """A length of time in whole nanoseconds, as watermark strategies and options use it.

    Example:
        >>> Duration.of_minutes(2).to_millis()
        120000
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        """Create a length of `nanos` nanoseconds; the `of_*` factories read better."""
        self._nanos = _whole_number(nanos, "nanos")

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a length of `days` days."""
        return Duration(_whole_number(days, "days") * _NANOS_PER_DAY)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a length of `hours` hours."""
        return Duration(_whole_number(hours, "hours") * _NANOS_PER_HOUR)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a length of `minutes` minutes."""
        return Duration(_whole_number(minutes, "minutes") * _NANOS_PER_MINUTE)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a length of `seconds` seconds."""
        return Duration(_whole_number(seconds, "seconds") * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a length of `millis` milliseconds."""
        return Duration(_whole_number(millis, "millis") * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a length of `nanos` nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Return the length in milliseconds; what is below a millisecond is cut off."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """Return the length in nanoseconds."""
        return self._nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos if isinstance(other, Duration) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __repr__(self) -> str:
        if self._nanos % _NANOS_PER_MILLI:
            return f"Duration({self._nanos} ns)"
        return f"Duration({self.to_millis()} ms)"


@total_ordering
class Instant:
    """A point in time: whole seconds since 1970-01-01T00:00:00Z and nanoseconds into that second."""

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        """Create the point `seconds` and `nanos` after the epoch; earlier points have negative seconds."""
        self.seconds = _whole_number(seconds, "seconds")
        self.nanos = _whole_number(nanos, "nanos")
        if not 0 <= nanos < _NANOS_PER_SECOND:
            msg = f"nanos is {nanos}; it counts within one second and must be from 0 to {_NANOS_PER_SECOND - 1}."
            raise ValueError(msg)

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the point `epoch_milli` milliseconds after the epoch."""
        seconds, millis = divmod(_whole_number(epoch_milli, "epoch_milli"), 1000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since the epoch; what is below a millisecond is cut off."""
        return self.seconds * 1000 + self.nanos // _NANOS_PER_MILLI

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        if not isinstance(other, Instant):
            return NotImplemented
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


TimeLength: TypeAlias = Time | Duration | timedelta | int
"""Whatever may be given where a length of time is wanted; an `int` counts milliseconds."""


def to_millis(value: TimeLength) -> int:
    """Return a length of time as whole milliseconds, whichever way it was given.

    Example:
        >>> to_millis(Time.seconds(1)) == to_millis(Duration.of_seconds(1)) == to_millis(timedelta(seconds=1))
        True
    """
    if isinstance(value, Time):
        return value.to_milliseconds()
    if isinstance(value, Duration):
        return value.to_millis()
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    return _whole_number(value, "A length of time")


_UNIT_NANOS = {
    label: unit.value
    for unit, labels in {
        TimeUnit.DAYS: "d day days",
        TimeUnit.HOURS: "h hour hours",
        TimeUnit.MINUTES: "min m minute minutes",
        TimeUnit.SECONDS: "s sec secs second seconds",
        TimeUnit.MILLISECONDS: "ms milli millis millisecond milliseconds",
        TimeUnit.MICROSECONDS: "us \u00b5s micro micros microsecond microseconds",
        TimeUnit.NANOSECONDS: "ns nano nanos nanosecond nanoseconds",
    }.items()
    for label in labels.split()
}
_NUMBER_AND_UNIT = re.compile(r"(\d+)\s*([^\W\d]*)")
_ISO_8601 = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)


def parse_duration(text: str) -> int:
    """Return the milliseconds that a configuration value such as `10 s`, `5 min`, `200 ms` or `PT10S` stands for.

    A number without a unit counts milliseconds. What is below a millisecond is cut off.
    """
    trimmed = text.strip()
    if iso := _ISO_8601.fullmatch(trimmed):
        parts = iso.groupdict()
        if any(parts[name] for name in ("days", "hours", "minutes", "seconds")):
            seconds = Decimal(parts["seconds"] or 0)
            seconds += 60 * (
                int(parts["minutes"] or 0) + 60 * (int(parts["hours"] or 0) + 24 * int(parts["days"] or 0))
            )
            return int(seconds * 1000) * (-1 if parts["sign"] == "-" else 1)
    if match := _NUMBER_AND_UNIT.fullmatch(trimmed):
        number, unit = match.groups()
        nanos = _UNIT_NANOS.get(unit.lower()) if unit else _NANOS_PER_MILLI
        if nanos is not None:
            return int(number) * nanos // _NANOS_PER_MILLI
    msg = f"{text!r} is not a length of time; write a number and a unit (d, h, min, s, ms, us, ns) or ISO-8601 (PT10S)."
    raise ValueError(msg)


def format_duration(millis: int) -> str:
    """Return `millis` in the largest unit that divides it, in the form that `parse_duration` reads.

    Example:
        >>> format_duration(300_000)
        '5 min'
    """
    for label, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if millis and millis % length == 0:
            return f"{millis // length} {label}"
    return f"{millis} ms"


def _whole_number(value: object, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        msg = f"{what} must be a whole number, not {value!r:.80}; use a Time, a Duration, a timedelta or an int."
        raise TypeError(msg)
    return operator.index(value)
