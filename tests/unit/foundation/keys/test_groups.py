"""Which subtask owns a key. Expected hashes follow Java's documented formulas, worked out in the comments."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.foundation.keys.groups import (
    TargetCache,
    java_hash,
    key_group_of,
    key_group_range,
    murmur_hash,
    subtask_of_key_group,
)

KEYS = st.one_of(
    st.text(),
    st.integers(),
    st.booleans(),
    st.floats(allow_nan=False),
    st.binary(),
    st.tuples(st.text(), st.integers()),
)


def unsigned(number: int) -> int:
    return number & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # String.hashCode: s[0]*31^(n-1) + ... + s[n-1], as a 32-bit int
        ("", 0),
        ("a", 97),
        ("ab", 97 * 31 + 98),
        ("hello", 99162322),
        ("Aa", 2112),
        ("BB", 2112),
        ("张", 0x5F20),
        ("\U0001f600", 0xD83D * 31 + 0xDE00),  # two UTF-16 units
        # Integer.hashCode: the value
        (0, 0),
        (1, 1),
        (-1, unsigned(-1)),
        (2**31 - 1, 2**31 - 1),
        (-(2**31), 2**31),
        # Long.hashCode: (int) (value ^ (value >>> 32))
        (2**31, 2**31),
        (2**32, 1),
        (2**32 + 5, 1 ^ 5),
        (-(2**31) - 1, 0x7FFFFFFF ^ 0xFFFFFFFF),
        (2**63 - 1, 0x7FFFFFFF ^ 0xFFFFFFFF),
        # Double.hashCode: the bits of IEEE 754 folded like a Long
        (2.5, 0x40040000),
        (0.1, 0x3FB99999 ^ 0x9999999A),
        (float("inf"), 0x7FF00000),
        # Objects.hash and Arrays.hashCode(byte[]): 31 * ... starting from 1
        ((), 1),
        (("a", 1), (31 * 1 + 97) * 31 + 1),
        ((("a",), 2.5), (31 * 1 + (31 + 97)) * 31 + 0x40040000),
        (b"", 1),
        (b"\x01\xff", unsigned((31 * 1 + 1) * 31 - 1)),
        (None, 0),
        # Booleans and whole floats are equal to ints in Python, and go where those go.
        (True, 1),
        (False, 0),
        (0.0, 0),
        (-0.0, 0),
        (1.0, 1),
        (-1.0, unsigned(-1)),
        (float(2**32), 1),
    ],
)
def test_java_hash(key: Any, expected: int) -> None:
    assert java_hash(key) == expected


def test_big_integer_hash() -> None:
    """BigInteger.hashCode: 31 * ... over the magnitude's 32-bit words from the top, times the sign."""
    assert java_hash(2**64 + 7) == (1 * 31 + 0) * 31 + 7
    assert java_hash(-(2**64) - 7) == unsigned(-((1 * 31 + 0) * 31 + 7))


def _murmur_by_the_book(code: int) -> int:
    """MurmurHash3 of one 32-bit block with seed 0 and length 4, then Flink's way to make it not negative."""
    mask = 0xFFFFFFFF

    def rotate(number: int, bits: int) -> int:
        return ((number << bits) | (number >> (32 - bits))) & mask

    mixed = rotate(code * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    hashed = (rotate(mixed, 13) * 5 + 0xE6546B64) & mask
    hashed ^= 4
    hashed = (hashed ^ hashed >> 16) * 0x85EBCA6B & mask
    hashed = (hashed ^ hashed >> 13) * 0xC2B2AE35 & mask
    hashed ^= hashed >> 16
    signed = hashed - (1 << 32) if hashed >= 1 << 31 else hashed
    if signed >= 0:
        return signed
    return -signed if signed != -(1 << 31) else 0


@given(st.integers(0, 2**32 - 1))
def test_murmur_hash(code: int) -> None:
    assert murmur_hash(code) == _murmur_by_the_book(code)
    assert 0 <= murmur_hash(code) < 2**31


def test_murmur_of_zero_is_the_published_value() -> None:
    """MurmurHash3_x86_32 of four zero bytes with seed 0 is 0x2362F9DE."""
    assert murmur_hash(0) == 0x2362F9DE


def owner(key: Any, parallelism: int) -> int:
    return subtask_of_key_group(key_group_of(key, 128), parallelism, 128)


def test_w_01_routing_with_eight_subtasks() -> None:
    assert owner("hadoop", 8) + 1 == 8
    assert owner("hive", 8) + 1 == 1


def test_w_02_routing_with_four_subtasks() -> None:
    assert {key: owner(key, 4) + 1 for key in (0, 1, 2)} == {0: 3, 1: 3, 2: 4}


PARALLELISM = st.integers(1, 200).flatmap(lambda groups: st.tuples(st.integers(1, groups), st.just(groups)))


@given(PARALLELISM)
def test_ranges_divide_all_key_groups(parallelism_and_groups: tuple[int, int]) -> None:
    parallelism, groups = parallelism_and_groups
    ranges = [key_group_range(subtask, parallelism, groups) for subtask in range(parallelism)]
    assert [group for owned in ranges for group in owned] == list(range(groups))
    for subtask, owned in enumerate(ranges):
        assert owned
        assert all(subtask_of_key_group(group, parallelism, groups) == subtask for group in owned)


@given(KEYS, PARALLELISM)
def test_a_key_has_one_owner(key: Any, parallelism_and_groups: tuple[int, int]) -> None:
    parallelism, groups = parallelism_and_groups
    target = TargetCache(parallelism, groups)[key]
    assert key_group_of(key, groups) in key_group_range(target, parallelism, groups)


def test_the_cache_forgets_before_it_grows_without_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.foundation.keys.groups._TARGET_CACHE_LIMIT", 3)
    cache = TargetCache(4, 128)
    found = [cache[key] for key in range(10)]
    assert found == [owner(key, 4) for key in range(10)]
    assert len(cache) <= 3


class Color(enum.Enum):
    RED = "red"


class Sensor(NamedTuple):
    place: str
    number: int


@dataclass(frozen=True)
class Place:
    country: str
    city: str


def test_equal_keys_hash_alike_whatever_objects_they_share() -> None:
    city = "".join(["Muni", "ch"])
    assert Place("Munich", "Munich") == Place("Munich", city)
    shared, separate = Place(city, city), Place(city, "".join(["Mun", "ich"]))
    assert java_hash(shared) == java_hash(separate)


def test_a_named_tuple_hashes_like_the_tuple_it_equals() -> None:
    assert java_hash(Sensor("a", 1)) == java_hash(("a", 1))


def test_zeros_of_both_signs_are_one_key() -> None:
    assert java_hash(-0.0) == java_hash(0.0)


@given(st.frozensets(st.text()))
def test_the_order_of_a_set_does_not_matter(key: frozenset[str]) -> None:
    assert java_hash(key) == java_hash(frozenset(sorted(key, reverse=True)))


def test_hashes_are_the_same_in_every_process() -> None:
    """Python salts its own hashes per process."""
    program = (
        "from decimal import Decimal\nfrom penstock.foundation.keys.groups import java_hash\n"
        "print(*map(java_hash, ['x', frozenset({'a', 'b', 'c', 'd'}), Decimal('1.5'), ('k', None), b'k', 1 + 2j]))"
    )
    keys = ["x", frozenset({"a", "b", "c", "d"}), Decimal("1.5"), ("k", None), b"k", 1 + 2j]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [int(word) for word in done.stdout.split()] == [java_hash(key) for key in keys]


@pytest.mark.parametrize("key", [Color.RED, Place("a", "b"), Decimal("1.5"), frozenset({"a"}), 1 + 2j])
def test_any_other_key_has_a_32_bit_hash(key: Any) -> None:
    assert 0 <= java_hash(key) < 2**32
