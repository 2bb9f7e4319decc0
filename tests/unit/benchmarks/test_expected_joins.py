"""The results that the jobs with two streams are held against."""

from collections.abc import Callable

import pytest

from benchmarks import join_workload, workload
from benchmarks.expected import checks
from benchmarks.join_workload import enrich, pair
from benchmarks.workload import Event, mark

LEFT: list[Event] = [(1, 1_000, 3), (2, 1_999, 4)]


def _with_sides(monkeypatch: pytest.MonkeyPatch, left: list[Event], right: list[Event]) -> None:
    def events(side: int, records: int, parallelism: int) -> Callable[[int], Event]:
        return (left, right)[side].__getitem__

    monkeypatch.setattr(join_workload, "JoinEvents", events)


def test_both_ends_of_the_interval_belong_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = [(1, 800, 5), (1, 799, 6), (1, 1_200, 7), (1, 1_201, 8), (2, 1_000, 9)]
    _with_sides(monkeypatch, [LEFT[0]] * 5, right)
    total = mark(*pair(LEFT[0], right[0])) + mark(*pair(LEFT[0], right[2]))
    assert checks("interval-join", 10, 1) == {"results": 10, "sum": 5 * total}


def test_a_window_pairs_whatever_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = [(1, 1_999, 5), (1, 2_000, 6)]
    _with_sides(monkeypatch, LEFT, right)
    assert checks("window-join", 4, 1) == {"results": 1, "sum": mark(*pair(LEFT[0], right[0]))}


def test_every_event_finds_the_rule_of_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # The factor of key 3 is 3 * 37 % 101 + 1 = 11.
    monkeypatch.setattr(workload, "Events", lambda job, records, parallelism: [(3, 50, 7), (3, 60, 8)].__getitem__)
    assert checks("broadcast-rules", 2, 1) == {"results": 2, "sum": mark(3, 50, 77) + mark(3, 60, 88)}


def test_a_pair_has_the_key_and_time_of_the_left_event_and_both_values() -> None:
    assert pair((1, 1_000, 3), (1, 1_100, 5)) == (1, 1_000, 305)


def test_an_enriched_event_is_multiplied() -> None:
    assert enrich((3, 50, 7), 11) == (3, 50, 77)
