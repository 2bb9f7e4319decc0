"""Operator state: lists, union lists and broadcast maps, and what becomes of them when a job comes back."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ProgramError
from penstock.statestore.operator_state import OperatorStateBackend, OperatorStateSnapshot, redistribute
from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor

OFFSETS: ListStateDescriptor[Any] = ListStateDescriptor("offsets")
RULES: MapStateDescriptor[Any, Any] = MapStateDescriptor("rules")


def test_list_state_is_one_list_whoever_asks() -> None:
    backend = OperatorStateBackend()
    state = backend.get_list_state(OFFSETS)
    state.add(1)
    state.add_all([2, 3])
    assert list(backend.get_list_state(ListStateDescriptor("offsets"))) == [1, 2, 3]
    state.update([7])
    assert list(state.get()) == [7]
    state.clear()
    assert list(state.get()) == []


def test_a_snapshot_does_not_change_afterwards_and_can_be_pickled() -> None:
    backend = OperatorStateBackend()
    elements = backend.get_list_state(OFFSETS)
    rules = backend.get_broadcast_state(RULES)
    elements.add([1])
    rules.put("a", {"limit": [1]})
    snapshot = backend.snapshot()
    next(iter(elements.get())).append(2)
    rules["a"]["limit"].append(2)  # type: ignore[index]
    rules.remove("b")
    expected = OperatorStateSnapshot(lists={"offsets": [[1]]}, broadcasts={"rules": {"a": {"limit": [1]}}})
    assert snapshot == expected
    assert pickle.loads(pickle.dumps(snapshot)) == expected


def test_restored_state_is_there_for_old_handles_and_new_ones() -> None:
    backend = OperatorStateBackend()
    before = backend.get_union_list_state(OFFSETS)
    backend.restore(OperatorStateSnapshot(unions={"offsets": [1, 2]}, lists={"nobody asks": [3]}))
    assert list(before) == list(backend.get_union_list_state(OFFSETS)) == [1, 2]
    assert backend.snapshot().lists == {"nobody asks": [3]}


def test_one_name_is_one_kind_of_state() -> None:
    backend = OperatorStateBackend()
    backend.get_list_state(OFFSETS)
    with pytest.raises(ProgramError, match="list state already"):
        backend.get_union_list_state(OFFSETS)
    with pytest.raises(ProgramError, match="MapStateDescriptor is needed"):
        backend.get_broadcast_state(OFFSETS)  # type: ignore[arg-type]


def test_lists_stay_where_they_were_if_nothing_is_rescaled() -> None:
    parts = [OperatorStateSnapshot(lists={"offsets": [1, 2, 3]}), OperatorStateSnapshot(lists={"offsets": []})]
    assert [part.lists["offsets"] for part in redistribute(parts, 2)] == [[1, 2, 3], []]


@pytest.mark.parametrize(
    ("parallelism", "expected"),
    [(1, [[1, 2, 3, 4, 5]]), (3, [[1, 2], [3, 4], [5]]), (6, [[1], [2], [3], [4], [5], []])],
)
def test_lists_are_spread_when_a_job_is_rescaled(parallelism: int, expected: list[list[int]]) -> None:
    parts = [OperatorStateSnapshot(lists={"offsets": [1, 2, 3]}), OperatorStateSnapshot(lists={"offsets": [4, 5]})]
    assert [part.lists["offsets"] for part in redistribute(parts, parallelism)] == expected


def test_union_lists_go_to_everybody_and_broadcast_maps_are_handed_on() -> None:
    parts = [
        OperatorStateSnapshot(unions={"offsets": [1]}, broadcasts={"rules": {"a": 1}}),
        OperatorStateSnapshot(unions={"offsets": [2]}, broadcasts={"rules": {"a": 1}}),
    ]
    restored = redistribute(parts, 3)
    assert [part.unions for part in restored] == [{"offsets": [1, 2]}] * 3
    assert [part.broadcasts for part in restored] == [{"rules": {"a": 1}}] * 3


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4])
def test_a_broadcast_map_that_only_some_have_reported_goes_to_all(parallelism: int) -> None:
    parts = [
        OperatorStateSnapshot(),
        OperatorStateSnapshot(broadcasts={"rules": {"a": 1}}),
        OperatorStateSnapshot(broadcasts={"limits": {"b": 2}}),
    ]
    wanted = {"rules": {"a": 1}, "limits": {"b": 2}}
    assert [part.broadcasts for part in redistribute(parts, parallelism)] == [wanted] * parallelism


@pytest.mark.parametrize("parallelism", [1, 2, 3, 4])
def test_lists_that_only_some_have_reported_lose_nothing(parallelism: int) -> None:
    parts = [
        OperatorStateSnapshot(),
        OperatorStateSnapshot(lists={"offsets": [1, 2]}, unions={"all": [3]}),
        OperatorStateSnapshot(unions={"all": [4]}),
    ]
    restored = redistribute(parts, parallelism)
    assert sorted(each for part in restored for each in part.lists["offsets"]) == [1, 2]
    assert [part.unions for part in restored] == [{"all": [3, 4]}] * parallelism


def test_nothing_stored_is_nothing_restored() -> None:
    assert redistribute([], 2) == [OperatorStateSnapshot()] * 2
    assert not OperatorStateSnapshot()


@given(st.lists(st.lists(st.integers()), min_size=1, max_size=6), st.integers(1, 8))
def test_no_element_is_lost_or_doubled_and_shares_are_even(lists: list[list[int]], parallelism: int) -> None:
    parts = [OperatorStateSnapshot(lists={"offsets": part}) for part in lists]
    restored = [part.lists["offsets"] for part in redistribute(parts, parallelism)]
    assert [element for part in restored for element in part] == [element for part in lists for element in part]
    if len(lists) != parallelism:
        sizes = [len(part) for part in restored]
        assert max(sizes) - min(sizes) <= 1
