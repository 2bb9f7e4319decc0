"""Choosing what to measure."""

import pytest

from benchmarks.catalogue import JOBS, SYSTEMS, UnknownNameError, choose_jobs, choose_systems

COUNT = JOBS[0]
BY_NAME = {system.name: system for system in SYSTEMS}


def test_all_is_chosen_when_nothing_is_named() -> None:
    assert choose_jobs(None) == list(JOBS)
    assert choose_systems(None) == list(SYSTEMS)


def test_a_family_stands_for_all_its_modes() -> None:
    chosen = [system.name for system in choose_systems("pyflink, handwritten")]
    assert chosen == ["handwritten", "pyflink-process", "pyflink-thread"]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"no job called 'sort'; there are: broadcast-rules, chain, count-1k"):
        choose_jobs("words,sort")


def test_systems_without_joins_are_not_asked_for_them() -> None:
    able = {job.name: [system.name for system in SYSTEMS if job.name in system.jobs] for job in JOBS}
    assert able["window-join"] == ["handwritten", "penstock"]
    both = ["handwritten", "penstock", "pyflink-process", "pyflink-thread"]
    assert (able["interval-join"], able["broadcast-rules"]) == (both, both)


def test_slow_systems_get_fewer_records() -> None:
    limit = BY_NAME["handwritten"].records(COUNT, None, quick=False, parallelism=2)
    slow = BY_NAME["pyflink-thread"].records(COUNT, None, quick=False, parallelism=2)
    assert (limit, slow) == (10_000_000, 200_000)


def test_a_smaller_size_holds_for_all() -> None:
    sizes = {system.records(COUNT, 1_000, quick=False, parallelism=2) for system in SYSTEMS}
    assert sizes == {1_000}


def test_sizes_are_whole_tens_per_source() -> None:
    assert BY_NAME["handwritten"].records(COUNT, 12_345, quick=False, parallelism=3) == 12_330


def test_quick_is_small() -> None:
    assert BY_NAME["handwritten"].records(COUNT, None, quick=True, parallelism=2) == 200_000
    assert BY_NAME["pyflink-thread"].records(COUNT, None, quick=True, parallelism=2) == 20_000
