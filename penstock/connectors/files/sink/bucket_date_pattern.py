"""Java's date patterns, such as ``yyyy-MM-dd--HH``, as Python functions.

The letters are those of ``java.time.format.DateTimeFormatter`` that do not depend on a country's calendar; names of
months and days are English.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    Piece: TypeAlias = Callable[[datetime], str]

__all__ = ["date_pattern", "has_parts_of_a_second"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FINE_LETTERS = frozenset("SAnN")


def date_pattern(pattern: str) -> Callable[[datetime], str]:
    """Return the function that writes a time in a pattern.

    Example:
        >>> from datetime import UTC, datetime
        >>> date_pattern("yyyy-MM-dd--HH")(datetime(2020, 3, 25, 12, 30, tzinfo=UTC))
        '2020-03-25--12'

    Raises:
        ProgramError: The pattern has a letter without meaning, or a quote is not closed.
    """
    pieces = [_piece(kind, text, pattern) for kind, text in _runs(pattern)]
    return lambda time: "".join([piece(time) for piece in pieces])


def has_parts_of_a_second(pattern: str) -> bool:
    """Tell whether two times in the same second may be written differently."""
    return any(kind == "letter" and text[0] in _FINE_LETTERS for kind, text in _runs(pattern))


def _runs(pattern: str) -> Iterator[tuple[str, str]]:
    """Cut a pattern into runs of one letter and literal text."""
    place = 0
    while place < len(pattern):
        sign, start = pattern[place], place
        if sign == "'":
            end = _closing_quote(pattern, start)
            yield "text", pattern[start + 1 : end].replace("''", "'") or "'"
            place = end + 1
        elif sign.isascii() and sign.isalpha():
            while place < len(pattern) and pattern[place] == sign:
                place += 1
            yield "letter", pattern[start:place]
        elif sign in "[]{}#":
            message = f"The date pattern {pattern!r} has {sign!r}, which Java reserves; put it in quotes: '{sign}'."
            raise ProgramError(message)
        else:
            yield "text", sign
            place += 1


def _closing_quote(pattern: str, start: int) -> int:
    place = start + 1
    while True:
        place = pattern.find("'", place)
        if place < 0:
            message = f"The date pattern {pattern!r} has a quote that is not closed; a quote itself is written ''."
            raise ProgramError(message)
        if place > start + 1 and pattern[place : place + 2] == "''":
            place += 2
            continue
        return place


def _piece(kind: str, text: str, pattern: str) -> Piece:
    if kind == "text":
        return lambda time: text
    letter, count = text[0], len(text)
    if letter in "yu":
        return _year(count)
    if letter in "ML":
        return _named(_MONTHS, count, lambda time: time.month - 1) if count > 2 else _number(count, lambda t: t.month)
    if letter == "E":
        return _named(_DAYS, max(count, 3), lambda time: time.weekday())
    if letter == "S":
        return lambda time: f"{time.microsecond * 1000:09d}".ljust(count, "0")[:count]
    if letter == "a":
        return lambda time: "AM" if time.hour < 12 else "PM"
    if letter in _NUMBERS:
        return _number(count, _NUMBERS[letter])
    if letter in _ZONES:
        return _ZONES[letter](count)
    message = (
        f"The date pattern {pattern!r} has the letter {letter!r}, which means nothing here; the usual ones are "
        "yyyy MM dd HH mm ss, and text stands in single quotes."
    )
    raise ProgramError(message)


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "d": lambda time: time.day,
    "D": lambda time: time.timetuple().tm_yday,
    "H": lambda time: time.hour,
    "k": lambda time: time.hour or 24,
    "h": lambda time: time.hour % 12 or 12,
    "K": lambda time: time.hour % 12,
    "m": lambda time: time.minute,
    "s": lambda time: time.second,
    "Q": lambda time: (time.month + 2) // 3,
    "A": lambda time: _millis_of_day(time),
    "n": lambda time: time.microsecond * 1000,
    "N": lambda time: _millis_of_day(time) * 1_000_000 + time.microsecond % 1000 * 1000,
}


def _millis_of_day(time: datetime) -> int:
    return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000


def _year(count: int) -> Piece:
    return (lambda time: f"{time.year % 100:02d}") if count == 2 else (lambda time: f"{time.year:0{count}d}")


def _number(count: int, value: Callable[[datetime], int]) -> Piece:
    return lambda time: f"{value(time):0{count}d}"


def _named(names: tuple[str, ...], count: int, index: Callable[[datetime], int]) -> Piece:
    length = {3: 3, 5: 1}.get(count)
    return lambda time: names[index(time)][:length]


def _offset(time: datetime, *, colon: bool) -> str:
    offset = time.utcoffset()
    minutes = 0 if offset is None else int(offset.total_seconds()) // 60
    sign, minutes = ("-", -minutes) if minutes < 0 else ("+", minutes)
    return f"{sign}{minutes // 60:02d}{':' if colon else ''}{minutes % 60:02d}"


def _iso_offset(count: int, *, zulu: bool) -> Piece:
    def piece(time: datetime) -> str:
        text = _offset(time, colon=count in {3, 5})
        if zulu and not time.utcoffset():
            return "Z"
        return text.removesuffix("00") if count == 1 else text

    return piece


_ZONES: dict[str, Callable[[int], Piece]] = {
    "X": lambda count: _iso_offset(count, zulu=True),
    "x": lambda count: _iso_offset(count, zulu=False),
    "Z": lambda count: lambda time: _offset(time, colon=count == 5),
    "z": lambda count: lambda time: time.tzname() or "",
    "V": lambda count: lambda time: str(getattr(time.tzinfo, "key", time.tzname())),
}
