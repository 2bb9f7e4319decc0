"""Built-in aggregates of sliding windows, combined before they go into their windows: nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.windows.fast.aligned import AlignedWindowOperator
from penstock.runtime.windows.grouped_fields import are_groupable, can_group
from penstock.vocabulary.functions.fields import FieldReducer
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows
from tests.unit.runtime.windows.window_bench import BUILT, GENERAL, window_harness

KINDS = ["sum", "min", "max", "min_by", "max_by"]
WINDOWS = SlidingEventTimeWindows.of(10, 3)

fields = st.one_of(st.integers(-5, 5), st.sampled_from([0.1, 0.2, 0.3, float("nan"), True]))
runs = st.lists(st.tuples(st.sampled_from("abc"), fields, st.integers(0, 60)), min_size=1, max_size=30)


def _seen(kind: str, reducer: FieldReducer, story: list[Any]) -> list[str]:
    harness = window_harness(kind, WINDOWS, reducer=reducer)
    watermark = -1
    for part in story:
        if isinstance(part, int):
            watermark = max(watermark, part)
            harness.push_watermark(watermark)
        else:
            harness.push_run([((key, field, number), time) for number, (key, field, time) in enumerate(part)])
    harness.end()
    return [repr(record) for record in harness.take_outputs()]


@pytest.mark.parametrize("kind", KINDS)
@given(story=st.lists(st.one_of(runs, st.integers(0, 80)), max_size=8))
@settings(max_examples=60, deadline=None)
def test_results_and_their_order_are_those_of_the_general_operator(kind: str, story: list[Any]) -> None:
    reducer = FieldReducer(kind, 1)
    assert _seen(BUILT, reducer, story) == _seen(GENERAL, reducer, story)


def test_whole_numbers_are_grouped_and_floats_are_not() -> None:
    reducer = FieldReducer("sum", 1)
    harness = window_harness(BUILT, WINDOWS, reducer=reducer)
    operator = harness.operator
    assert isinstance(operator, AlignedWindowOperator)
    harness.push_run([(("a", 1), 1), (("a", 2), 2)])
    assert operator._add == operator._reduce_groups
    harness.push_run([(("a", 0.5), 2)])
    assert operator._add == operator._reduce


def test_only_built_in_aggregates_of_an_index_are_grouped() -> None:
    assert can_group(FieldReducer("sum", 1))
    assert not can_group(FieldReducer("sum", "name"))
    assert not can_group(lambda one, other: one)


@pytest.mark.parametrize(
    ("values", "is_groupable"),
    [
        ([("a", 1), ("b", 2)], True),
        ([("a", 1.0)], False),
        ([("a", True)], False),
        ([["a", 1]], False),
        ([("a",)], False),
        ([1, 2], False),
    ],
)
def test_plain_tuples_with_whole_numbers_are_grouped(values: list[Any], *, is_groupable: bool) -> None:
    assert are_groupable(values, FieldReducer("sum", 1)) is is_groupable
