"""Keys to draw from: values of many kinds, and of each the others that Python holds for equal."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from penstock import Row


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Fruit(enum.StrEnum):
    FIG = "fig"
    KIWI = "kiwi"


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Word(str):
    __slots__ = ()


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class Other:
    x: Any
    y: Any


class Name:
    """Equal whatever the case of its letters, and says so."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Name) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())

    def __key__(self) -> Any:
        return self.text.lower()

    def __repr__(self) -> str:
        return f"Name({self.text!r})"


def made_backwards(point: Point) -> Point:
    """An equal point whose attributes were set in another order."""
    made = object.__new__(Point)
    for name in ("note", "y", "x"):
        object.__setattr__(made, name, getattr(point, name))
    return made


BERLIN = ZoneInfo("Europe/Berlin")
FAMILIES: list[list[Any]] = [
    [0, 0.0, -0.0, False, Decimal(0), Decimal("-0.00"), Fraction(0), 0j],
    [1, 1.0, True, Decimal("1.00"), Fraction(1), 1 + 0j, Level.LOW],
    [2, Level.HIGH, Decimal("2E+0")],
    [-1, -1.0],
    [0.5, Decimal("0.50"), Fraction(1, 2), complex(0.5, -0.0)],
    [0.1, np.float64(0.1)],
    [Decimal("0.1"), Decimal("0.10"), Fraction(1, 10)],
    # NumPy's numbers and Decimal raise when they are compared: not in one family, for a dictionary's sake.
    [123456, 123456.0, np.int64(123456), np.uint32(123456), np.float32(123456), np.complex128(123456)],
    [np.float32(0.3), float(np.float32(0.3)), np.longdouble(np.float32(0.3))],
    [0.3, np.longdouble(0.3)],
    [np.longdouble("0.3")],
    [Fraction(1, 3)],
    [1j, complex(-0.0, 1), np.complex64(1j)],
    [2**70, float(2**70), Decimal(2**70), Fraction(2**70)],
    [10**30, Decimal("1E+30")],
    [1e30],
    [float("inf"), Decimal("Infinity")],
    [float("-inf")],
    ["1", np.str_("1"), Word("1")],
    ["fig", Fruit.FIG, Word("fig"), np.str_("fig")],
    ["LEFT"],
    [Side.LEFT],
    [Side.RIGHT],
    [Side],
    ["", np.str_("")],
    [b"", np.bytes_(b"")],
    [b"fig", np.bytes_(b"fig")],
    [None],
    [()],
    [frozenset()],
    [range(0), range(3, 3), range(5, 0)],
    [range(0, 3, 2), range(0, 4, 2)],
    [range(1), range(0, 1, 7)],
    [(1, "fig"), (True, Fruit.FIG), Pair(1.0, "fig"), (1.0, Word("fig"))],
    [((1,), 2), Pair((1.0,), Level.HIGH)],
    [(1, 2)],
    [(b"fig", 1)],
    [frozenset(["a", "b", 1]), frozenset([1.0, "b", "a"])],
    [frozenset([(1, 2), (3, 4)]), frozenset([Pair(3, 4), Pair(True, 2.0)])],
    [Point(1, 2), Point(1.0, Level.HIGH), Point(1, 2, "another note"), made_backwards(Point(1, 2))],
    [Other(1, 2)],
    [Row(1, 2), Row(1.0, 2)],
    [Row(a=1, b="fig"), Row(b=Fruit.FIG, a=True)],
    [Row(a=1, b=2)],
    [Name("Ann"), Name("ANN")],
    [Name("Bob")],
    [date(2024, 5, 1)],
    [datetime.fromisoformat("2024-05-01"), pd.Timestamp(2024, 5, 1)],
    [
        datetime(2024, 5, 1, 12, tzinfo=UTC),
        datetime(2024, 5, 1, 14, tzinfo=BERLIN),
        datetime(2024, 5, 1, 10, tzinfo=timezone(timedelta(hours=-2))),
        pd.Timestamp("2024-05-01T12:00:00Z"),
    ],
    # The hour that comes twice: Python takes both for one, and for that of no other zone.
    [datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN), datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN)],
    [datetime(2024, 10, 27, 0, 30, tzinfo=UTC)],
    [datetime(2024, 10, 27, 1, 30, tzinfo=UTC)],
    [pd.Timestamp(2024, 5, 1, nanosecond=1)],
    [time(12)],
    [time(12, tzinfo=UTC), time(13, tzinfo=timezone(timedelta(hours=1)))],
    [timedelta(days=1), timedelta(hours=24), pd.Timedelta(days=1)],
    [UTC, timezone(timedelta(0))],
    [UUID(int=7), UUID("00000000-0000-0000-0000-000000000007")],
    [ip_address("::1"), ip_address("0:0:0:0:0:0:0:1")],
    [ip_address("10.0.0.1")],
    [ip_interface("10.0.0.1/24")],
    [ip_network("10.0.0.0/24")],
    [PurePosixPath("a/b"), PurePosixPath("a//b/")],
]
"""The keys of each list are equal to one another, and to none of another list."""

_numbers = st.one_of(
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.fractions(max_denominator=50),
    st.decimals(allow_nan=False, places=2, min_value=-100, max_value=100),
    st.integers(-3, 3).map(float),
)
_all = [key for family in FAMILIES for key in family]
_known = st.integers(0, len(_all) - 1).map(lambda number: _all[number])  # whose repr is short
_leaves = st.one_of(_known, _numbers, st.text(max_size=3), st.binary(max_size=3))
KEYS = st.recursive(
    _leaves,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map(tuple),
        st.builds(Pair, parts, parts),
        st.builds(Point, parts, parts),
        st.frozensets(parts, max_size=3),
    ),
    max_leaves=4,
)
"""Keys of all kinds; small numbers, so that some of them are equal."""
