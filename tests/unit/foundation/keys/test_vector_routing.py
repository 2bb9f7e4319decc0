"""Subtasks of many whole numbers at once: the same as one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.foundation.keys.groups import key_group_of, subtask_of_key_group, targets_of_ints

EDGES = [0, 1, -1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32, 2**63 - 1, -(2**63)]


def _one_by_one(keys: list[int], parallelism: int, max_parallelism: int) -> list[int]:
    return [subtask_of_key_group(key_group_of(key, max_parallelism), parallelism, max_parallelism) for key in keys]


@given(st.lists(st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-1000, 10**6)), min_size=1), st.integers(1, 7))
def test_any_int_of_64_bits(keys: list[int], parallelism: int) -> None:
    assert targets_of_ints(keys, parallelism, 128) == _one_by_one(keys, parallelism, 128)


@pytest.mark.parametrize("max_parallelism", [8, 128, 32_768])
def test_the_edges_of_the_ranges(max_parallelism: int) -> None:
    assert targets_of_ints(EDGES, 8, max_parallelism) == _one_by_one(EDGES, 8, max_parallelism)


@pytest.mark.parametrize("keys", [[1, 2**63], [1, True], [1, "a"], [1.0], [(1,)]])
def test_other_keys_are_left_to_the_way_one_by_one(keys: list[Any]) -> None:
    assert targets_of_ints(keys, 2, 128) is None
