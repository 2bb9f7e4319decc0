"""What holds for any input: windows against brute force, the fast operators against the general one."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.runtime.windows.fast.aligned import AlignedWindowOperator
from penstock.runtime.windows.fast.processing_time import ClockWindowOperator
from penstock.runtime.windows.fast.sessions import SessionOperator
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.windows.assigners import (
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from tests.unit.runtime.windows.window_bench import BUILT, GENERAL, KINDS, Contents, Count, left_behind, window_harness

LATE = OutputTag("late")

records = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-30, 60)), min_size=1, max_size=40)
sizes = st.integers(1, 20)
tumbling = st.builds(lambda size, offset: TumblingEventTimeWindows.of(size, offset % size), sizes, st.integers(0, 19))
sliding = st.builds(
    lambda size, slide, offset: SlidingEventTimeWindows.of(size, slide, offset % slide),
    sizes,
    sizes,
    st.integers(0, 19),
)
aligned = st.one_of(tumbling, sliding)

# A run of records, or a watermark: whatever may come between.
stories = st.lists(st.one_of(records, st.integers(-30, 80)), max_size=12)


def numbered(run: list[tuple[str, int]], start: int) -> list[tuple[Any, int]]:
    return [((key, start + number), timestamp) for number, (key, timestamp) in enumerate(run)]


def play(harness: OperatorHarness, story: list[Any]) -> list[Any]:
    """Return everything that can be seen from outside, in order."""
    seen: list[Any] = []
    watermark = -(2**63)
    count = 0
    for part in story:
        if isinstance(part, list):
            harness.push_run(numbered(part, count))
            count += len(part)
        elif part > watermark:
            watermark = part
            harness.push_watermark(part)
        seen.append((harness.take_outputs(), harness.side_output(LATE)[:], left_behind(harness)))
        seen.append(sorted(harness.event_timers(), key=repr))
    harness.end()
    seen.append(
        (harness.take_outputs(), harness.side_output(LATE)[:], left_behind(harness), harness.metrics.snapshot())
    )
    return seen


FUNCTIONS: list[dict[str, Any]] = [
    {"reducer": Count()},
    {"reducer": lambda a, b: (*a, *b[1:])},
    {"function": Contents()},
    {"reducer": Count(), "function": Contents()},
]


@settings(max_examples=80, deadline=None)
@given(aligned, stories, st.sampled_from(FUNCTIONS), st.sampled_from([0, 3, 10]), st.booleans())
def test_aligned_operator_does_exactly_what_the_general_one_does(
    assigner: Any, story: list[Any], functions: dict[str, Any], lateness: int, has_tag: bool
) -> None:
    choice: dict[str, Any] = {**functions, "allowed_lateness": lateness, "late_tag": LATE if has_tag else None}
    fast = window_harness(BUILT, assigner, **choice)
    assert isinstance(fast.operator, AlignedWindowOperator)
    assert play(fast, story) == play(window_harness(GENERAL, assigner, **choice), story)


def play_by_the_clock(harness: OperatorHarness, story: list[Any]) -> list[Any]:
    """Return everything that can be seen from outside, in order; a number moves the clock."""
    seen: list[Any] = []
    count = 0
    for part in story:
        if isinstance(part, list):
            harness.push_run(numbered(part, count))
            count += len(part)
        else:
            harness.advance(max(0, part))
        seen.append((harness.take_outputs(), left_behind(harness)))
        seen.append(sorted(harness.processing_timers(), key=repr))
    harness.advance(100)
    seen.append((harness.take_outputs(), left_behind(harness)))
    return seen


clock_windows = st.one_of(
    st.builds(lambda size, offset: TumblingProcessingTimeWindows.of(size, offset % size), sizes, st.integers(0, 19)),
    st.builds(
        lambda size, slide, offset: SlidingProcessingTimeWindows.of(size, slide, offset % slide),
        sizes,
        sizes,
        st.integers(0, 19),
    ),
)


@settings(max_examples=80, deadline=None)
@given(clock_windows, stories, st.sampled_from(FUNCTIONS))
def test_clock_operator_does_exactly_what_the_general_one_does(
    assigner: Any, story: list[Any], functions: dict[str, Any]
) -> None:
    fast = window_harness(BUILT, assigner, **functions)
    assert isinstance(fast.operator, ClockWindowOperator)
    assert play_by_the_clock(fast, story) == play_by_the_clock(window_harness(GENERAL, assigner, **functions), story)


def in_order_of_keys(seen: list[Any]) -> list[Any]:
    """Sort what came out at the same timestamp: there the order among keys is free."""
    return [
        (sorted(part[0], key=lambda found: (found[1], repr(found[0]))), *part[1:]) if isinstance(part, tuple) else part
        for part in seen
    ]


@settings(max_examples=80, deadline=None)
@given(sizes, stories, st.sampled_from(FUNCTIONS), st.booleans())
def test_session_operator_does_what_the_general_one_does(
    gap: int, story: list[Any], functions: dict[str, Any], has_tag: bool
) -> None:
    choice: dict[str, Any] = {**functions, "late_tag": LATE if has_tag else None}
    assigner = EventTimeSessionWindows.with_gap(gap)
    fast = window_harness(BUILT, assigner, **choice)
    assert isinstance(fast.operator, SessionOperator)
    general = window_harness(GENERAL, assigner, **choice)
    assert in_order_of_keys(play(fast, story)) == in_order_of_keys(play(general, story))


def starts_of(assigner: Any, timestamp: int) -> list[int]:
    """All starts of windows that contain a moment, found by looking at every start there could be."""
    slide = getattr(assigner, "slide", assigner.size)
    return [
        start
        for start in range(timestamp - assigner.size, timestamp + 1)
        if (start - assigner.offset) % slide == 0 and start <= timestamp < start + assigner.size
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(assigner=aligned, run=records)
def test_counts_are_those_of_brute_force(kind: str, assigner: Any, run: list[tuple[str, int]]) -> None:
    harness = window_harness(kind, assigner, reducer=Count(), function=Contents())
    harness.push_run(numbered(run, 0))
    harness.end()
    expected = Counter((key, start) for key, timestamp in run for start in starts_of(assigner, timestamp))
    assert {(key, start): count for key, start, _, (count,) in harness.values} == expected
    assert [timestamp for _, timestamp in harness.outputs] == sorted(timestamp for _, timestamp in harness.outputs)  # type: ignore[type-var]


def sessions_of(run: list[tuple[str, int]], gap: int) -> set[tuple[str, int, int, tuple[int, ...]]]:
    """Sort, then cut wherever the pause is longer than the gap."""
    found: dict[str, list[list[int]]] = {}
    for key, timestamp in sorted(run):
        mine = found.setdefault(key, [])
        if mine and timestamp - mine[-1][-1] <= gap:
            mine[-1].append(timestamp)
        else:
            mine.append([timestamp])
    return {(key, times[0], times[-1] + gap, tuple(times)) for key, mine in found.items() for times in mine}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(gap=sizes, run=records, cuts=st.lists(st.integers(0, 40)))
def test_sessions_do_not_depend_on_the_order_of_arrival(
    kind: str, gap: int, run: list[tuple[str, int]], cuts: list[int]
) -> None:
    harness = window_harness(kind, EventTimeSessionWindows.with_gap(gap), function=Contents())
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(run)), len(run)]
    for start, end in pairwise(bounds):
        harness.push_run([((key, timestamp), timestamp) for key, timestamp in run[start:end]])
    harness.end()
    found = {
        (key, start, end, tuple(sorted(timestamp for _, timestamp in elements)))
        for key, start, end, elements in harness.values
    }
    assert found == sessions_of(run, gap)
    assert left_behind(harness) == {}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(assigner=st.one_of(aligned, sizes.map(EventTimeSessionWindows.with_gap)), data=st.data())
def test_any_interleaving_of_in_time_data_gives_the_same_results(kind: str, assigner: Any, data: Any) -> None:
    """Two ordered channels; the watermark stays behind the minimum of what both have sent, so nothing is late.

    It stays behind by one millisecond more than needed: a session fires at the last millisecond before its end, but a
    record at its very end, which is not late then, would still have joined it.
    """
    channels = [sorted(data.draw(records), key=lambda record: record[1]) for _ in range(2)]
    order = data.draw(st.permutations([0] * len(channels[0]) + [1] * len(channels[1])))
    results = []
    for sequence in (sorted(order), order):
        harness = window_harness(kind, assigner, reducer=Count(), function=Contents())
        position = [0, 0]
        for channel in sequence:
            key, timestamp = channels[channel][position[channel]]
            position[channel] += 1
            harness.push((key,), timestamp)
            if all(position):
                sent = [channels[which][position[which] - 1][1] for which in (0, 1)]
                if not harness.watermarks or min(sent) - 2 > harness.watermarks[-1]:
                    harness.push_watermark(min(sent) - 2)
        harness.end()
        assert harness.metrics.snapshot() == {"numLateRecordsDropped": 0}
        results.append(sorted(harness.outputs))
    assert results[0] == results[1]
