"""The canonical form of dates and times: microseconds, of local time or, with a time zone, of UTC."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from penstock.foundation.keys.forms import Tagged

__all__ = [
    "of_date",
    "of_datetime",
    "of_pandas_timedelta",
    "of_pandas_timestamp",
    "of_time",
    "of_timedelta",
    "of_timezone",
]

_BEGINNING = datetime(1970, 1, 1)  # noqa: DTZ001 - it is compared with datetimes whose zone was taken off
_MICROSECOND = timedelta(microseconds=1)


def of_datetime(key: datetime) -> Tagged:
    """Return the moment of a datetime with a zone, and what the clock on the wall says of one without."""
    wall = (datetime.replace(key, tzinfo=None, fold=0) - _BEGINNING) // _MICROSECOND
    offset = datetime.replace(key, fold=0).utcoffset()
    if offset is None:
        return Tagged("datetime", wall)
    if datetime.replace(key, fold=1).utcoffset() != offset:
        # Where clocks are changed, Python compares what they show within the zone, and with no other zone (PEP 495).
        return Tagged("datetime in zone", (repr(key.tzinfo), wall))
    return Tagged("moment", wall - offset // _MICROSECOND)


def of_date(key: date) -> Tagged:
    """Return the number of the day."""
    return Tagged("date", key.toordinal())


def of_time(key: time) -> Tagged:
    """Return the time since midnight, of UTC where there is a zone."""
    wall = ((key.hour * 60 + key.minute) * 60 + key.second) * 1_000_000 + key.microsecond
    offset = key.utcoffset()
    return Tagged("time", wall) if offset is None else Tagged("time of UTC", wall - offset // _MICROSECOND)


def of_timedelta(key: timedelta) -> Tagged:
    """Return the microseconds."""
    return Tagged("timedelta", (key.days * 86_400 + key.seconds) * 1_000_000 + key.microseconds)


def of_timezone(key: timezone) -> Tagged:
    """Return the distance from UTC."""
    return Tagged("timezone", key.utcoffset(None) // _MICROSECOND)


def of_pandas_timestamp(key: Any) -> Tagged:
    """Return what a datetime has that is equal; one with nanoseconds is equal to no datetime."""
    if key.nanosecond == 0:
        return of_datetime(key.to_pydatetime(warn=False))
    return Tagged("timestamp", (int(key.tzinfo is None), int(key.as_unit("ns").value)))


def of_pandas_timedelta(key: Any) -> Tagged:
    """Return what a timedelta has that is equal; one with nanoseconds is equal to no timedelta."""
    nanoseconds = int(key.as_unit("ns").value)
    if nanoseconds % 1000 == 0:
        return Tagged("timedelta", nanoseconds // 1000)
    return Tagged("timedelta of nanoseconds", nanoseconds)
