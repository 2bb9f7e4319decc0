"""Which subtasks are linked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.partitioning import (
    Broadcast,
    Custom,
    Forward,
    Global,
    KeyGroups,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
    sources_of,
    targets_of,
)

COUNTS = st.integers(1, 40)
EVERY_WAY: list[Partitioning] = [
    Rebalance(),
    Rescale(),
    Broadcast(),
    Global(),
    Shuffle(),
    KeyGroups(str),
    Custom(lambda key, count: 0, str),
]


@given(way=st.sampled_from(EVERY_WAY), sources=COUNTS, targets=COUNTS)
def test_targets_and_sources_are_inverse(way: Partitioning, sources: int, targets: int) -> None:
    forth = {(source, target) for source in range(sources) for target in targets_of(way, source, sources, targets)}
    back = {(source, target) for target in range(targets) for source in sources_of(way, target, sources, targets)}
    assert forth == back


@given(count=COUNTS)
def test_forward_links_equal_numbers(count: int) -> None:
    assert [list(targets_of(Forward(), source, count, count)) for source in range(count)] == [
        [number] for number in range(count)
    ]
    assert [list(sources_of(Forward(), target, count, count)) for target in range(count)] == [
        [number] for number in range(count)
    ]


@given(sources=COUNTS, targets=COUNTS)
def test_rescale_leaves_nobody_out_and_spreads_evenly(sources: int, targets: int) -> None:
    outgoing = [len(targets_of(Rescale(), source, sources, targets)) for source in range(sources)]
    incoming = [len(sources_of(Rescale(), target, sources, targets)) for target in range(targets)]
    assert min(outgoing) >= 1
    assert min(incoming) >= 1
    assert max(outgoing) - min(outgoing) <= 1
    assert max(incoming) - min(incoming) <= 1


def test_w_84_rescale_from_two_to_four_feeds_two_each() -> None:
    assert [list(targets_of(Rescale(), source, 2, 4)) for source in range(2)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    "way", [Rebalance(), Broadcast(), Global(), Shuffle(), KeyGroups(str)], ids=lambda way: way.label
)
def test_all_others_link_everybody(way: Partitioning) -> None:
    assert list(targets_of(way, 1, 2, 3)) == [0, 1, 2]
    assert not way.is_pointwise


def test_labels_are_those_of_flinks_plans() -> None:
    assert [way.label for way in [Forward(), *EVERY_WAY]] == [
        "FORWARD", "REBALANCE", "RESCALE", "BROADCAST", "GLOBAL", "SHUFFLE", "HASH", "CUSTOM",
    ]  # fmt: skip
