"""What can be a key and what cannot; the rule for equal keys has its property test in tests/unit/property."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from penstock.errors import UnusableKeyError
from penstock.foundation.keys.canonical_form import canonical
from penstock.foundation.keys.forms import encode
from penstock.foundation.keys.groups import java_hash, key_group_of


class Plain:
    """Equal to itself only."""


class CaseBlind:
    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CaseBlind) and other.text.lower() == self.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())


class Upper(str):
    """A text with an equality of its own."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str(self).upper() == str(other).upper()

    def __hash__(self) -> int:
        return hash(str(self).upper())


@dataclass
class Changing:
    x: int


@dataclass(frozen=True, eq=False)
class Identity:
    x: int


@dataclass(frozen=True)
class Holding:
    part: Any


@dataclass(frozen=True)
class OwnEquality:
    x: int
    y: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEquality) and self.x == other.x

    def __hash__(self) -> int:
        return hash(self.x)


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.mark.parametrize(
    ("key", "why", "remedy"),
    [
        ([1], "is of the class list", "tuple(...)"),
        ({"a": 1}, "is of the class dict", "tuple(sorted("),
        ({1}, "is of the class set", "frozenset(...)"),
        (bytearray(b"a"), "is of the class bytearray", "bytes(...)"),
        (np.array([1, 2]), "is of the class ndarray", "tuple(array.tolist())"),
        (Changing(1), "is of the class Changing", "@dataclass(frozen=True)"),
        (math.nan, "is not equal to itself", "None for example"),
        (np.float64("nan"), "is not equal to itself", "None for example"),
        (Decimal("NaN"), "is not equal to itself", "None for example"),
        (complex(0, math.nan), "is not equal to itself", "None for example"),
        (pd.NaT, "is not equal to itself", "None for example"),
        (pd.NA, "is not equal to itself", "None for example"),
        (Plain(), "class Plain, which has no __eq__", "@dataclass(frozen=True)"),
        (Identity(1), "class Identity, which has no __eq__", "a tuple of fields"),
        (lambda: 1, "has no __eq__", "a tuple of fields"),
        (CaseBlind("a"), "class CaseBlind, whose own __eq__", "__key__"),
        (Upper("a"), "class Upper, whose own __eq__", "__key__"),
        (OwnEquality(1, 2), "class OwnEquality, whose own __eq__", "__key__"),
        (np.datetime64("2024-05-01"), "different hashes", "a datetime"),
        (np.timedelta64(1, "s"), "different hashes", "a timedelta"),
        (Decimal("1E+999999"), "more than 10000 digits", "str(...)"),
        ((1, math.nan), "holds nan, which is not equal to itself", "None for example"),
        (Pair(1, [2]), "holds [2], which is of the class list", "tuple(...)"),
        (Holding([1]), "holds [1], which is of the class list", "tuple(...)"),
        (frozenset([1, math.nan]), "holds nan", "None for example"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_has_no_value_to_compare_is_refused(key: Any, why: str, remedy: str) -> None:
    with pytest.raises(UnusableKeyError) as caught:
        canonical(key)
    assert why in str(caught.value)
    assert remedy in str(caught.value)
    with pytest.raises(UnusableKeyError):
        key_group_of(key, 128)


def test_a_class_says_by_a_method_what_its_equality_is_made_of() -> None:
    class Name(CaseBlind):
        def __key__(self) -> str:
            return self.text.lower()

    class Nickname(Name):
        pass

    assert encode(canonical(Name("ANN"))) == encode(canonical(Name("ann")))
    assert encode(canonical(Nickname("ANN"))) == encode(canonical(Name("ann")))
    assert encode(canonical(Name("ann"))) != encode(canonical("ann"))


def test_fields_that_a_dataclass_does_not_compare_make_no_difference() -> None:
    @dataclass(frozen=True)
    class Order:
        number: int
        seen: Any = field(default=None, compare=False)

    assert encode(canonical(Order(1, seen=[1]))) == encode(canonical(Order(1)))
    assert encode(canonical(Order(1))) != encode(canonical(Order(2)))


def test_a_subclass_of_a_dataclass_is_another_class_with_the_same_fields() -> None:
    class Sub(Holding):
        pass

    assert Sub(1) == Sub(1.0)
    assert Sub(1) != Holding(1)
    assert encode(canonical(Sub(1))) == encode(canonical(Sub(1.0)))
    assert encode(canonical(Sub(1))) != encode(canonical(Holding(1)))


def test_members_of_an_enum_are_known_by_their_names_and_those_of_a_flag_by_their_bits() -> None:
    class Colour(enum.Enum):
        RED = [1]  # noqa: RUF012 - the value need not have a hash
        GREEN = [2]  # noqa: RUF012

    class Permission(enum.Flag):
        READ = 1
        WRITE = 2

    assert encode(canonical(Colour.RED)) != encode(canonical(Colour.GREEN))
    both = Permission.READ | Permission.WRITE
    assert encode(canonical(both)) == encode(canonical(Permission(3)))
    assert encode(canonical(both)) != encode(canonical(Permission.READ))


@pytest.mark.parametrize("key", [np.True_, np.int8(1), np.float16(1), np.longdouble(1), np.complex64(1)], ids=repr)
def test_numbers_of_numpy_go_with_the_number_they_are(key: Any) -> None:
    assert canonical(key) == 1
    assert type(canonical(key)) is int


def test_the_hash_of_a_set_does_not_depend_on_its_order_and_is_the_sum_of_its_members() -> None:
    assert java_hash(frozenset(["a", "b"])) == 97 + 98


def test_a_moment_and_what_a_clock_shows_are_different_keys() -> None:
    naive = datetime.fromisoformat("2024-05-01T12:00:00")
    aware = datetime.fromisoformat("2024-05-01T12:00:00+00:00")
    assert encode(canonical(naive)) != encode(canonical(aware))
