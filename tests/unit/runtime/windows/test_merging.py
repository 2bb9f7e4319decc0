"""Windows that merge: sessions with every feature, and assigners of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.windows.assigners import MergingWindowAssigner
from penstock.vocabulary.windows.continuous_triggers import ContinuousEventTimeTrigger
from penstock.vocabulary.windows.sessions import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from penstock.vocabulary.windows.triggers import CountTrigger, EventTimeTrigger, PurgingTrigger, Trigger
from penstock.vocabulary.windows.windows import TimeWindow
from tests.unit.runtime.windows.window_bench import BUILT, GENERAL, KINDS, Contents, Count, left_behind, window_harness


def sessions(kind: str, gap: int = 2000, **settings: Any) -> Any:
    settings.setdefault("function", Contents())
    return window_harness(kind, EventTimeSessionWindows.with_gap(gap), **settings)


def push(harness: Any, *seconds: int, key: str = "k") -> None:
    harness.push_run([((key, moment), moment * 1000) for moment in seconds])


@pytest.mark.parametrize("kind", KINDS)
def test_touching_sessions_are_one_and_a_gap_of_one_more_millisecond_is_two(kind: str) -> None:
    """WIN-18."""
    harness = sessions(kind, reducer=Count(), function=None)
    harness.push_run([(("k",), 0), (("k",), 2000), (("k",), 4001)])
    harness.end()
    assert harness.outputs == [(2, 3999), (1, 6000)]


@pytest.mark.parametrize("kind", KINDS)
def test_one_record_joins_many_sessions_and_keeps_their_neighbours(kind: str) -> None:
    harness = sessions(kind, gap=1000)
    push(harness, 1, 10, 20, 3, 30)
    harness.push_run([(("k", "joins"), 2000)])
    harness.end()
    assert harness.values == [
        ("k", 1000, 4000, [("k", 1), ("k", 3), ("k", "joins")]),
        ("k", 10_000, 11_000, [("k", 10)]),
        ("k", 20_000, 21_000, [("k", 20)]),
        ("k", 30_000, 31_000, [("k", 30)]),
    ]
    assert left_behind(harness) == {}
    assert harness.state_keys(ListStateDescriptor("merging-window-set")) == []
    assert harness.event_timers() == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_earlier_record_moves_the_start_only(kind: str) -> None:
    harness = sessions(kind)
    push(harness, 5, 4)
    assert harness.event_timers() == [(6999, "k", TimeWindow(4000, 7000))]
    harness.push_watermark(6998)
    assert harness.values == []
    harness.push_watermark(6999)
    assert harness.values == [("k", 4000, 7000, [("k", 5), ("k", 4)])]


@pytest.mark.parametrize("kind", KINDS)
def test_keys_have_sessions_of_their_own(kind: str) -> None:
    harness = sessions(kind)
    push(harness, 1, 2, key="a")
    push(harness, 1, key="b")
    push(harness, 4, key="a")
    harness.push_watermark(5999)
    assert harness.values == [
        ("b", 1000, 3000, [("b", 1)]),
        ("a", 1000, 6000, [("a", 1), ("a", 2), ("a", 4)]),
    ]
    assert left_behind(harness) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_the_mapping_of_windows_is_state(kind: str) -> None:
    harness = sessions(kind)
    push(harness, 1, 2, 9)
    assert harness.state(ListStateDescriptor("merging-window-set"), "k") == [
        (TimeWindow(1000, 4000), TimeWindow(1000, 3000)),
        (TimeWindow(9000, 11_000), TimeWindow(9000, 11_000)),
    ]
    assert harness.state(ListStateDescriptor("window-contents"), "k", TimeWindow(1000, 3000)) == [("k", 1), ("k", 2)]


@pytest.mark.parametrize("kind", KINDS)
def test_late_record_can_still_extend_an_open_session(kind: str) -> None:
    late = OutputTag("late")
    harness = sessions(kind, late_tag=late)
    push(harness, 5)
    harness.push_watermark(6000)
    push(harness, 3, 2, 1)
    assert harness.side_output(late) == []
    harness.push_watermark(6999)
    assert harness.values == [("k", 1000, 7000, [("k", 5), ("k", 3), ("k", 2), ("k", 1)])]
    push(harness, 4)
    assert harness.side_output(late) == [(("k", 4), 4000)]
    assert left_behind(harness) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_lateness_refires_a_session_or_lets_it_grow(kind: str) -> None:
    harness = sessions(kind, allowed_lateness=10_000)
    push(harness, 1, 3)
    harness.push_watermark(6000)
    assert harness.values == [("k", 1000, 5000, [("k", 1), ("k", 3)])]
    push(harness, 2)
    assert harness.values[1:] == [("k", 1000, 5000, [("k", 1), ("k", 3), ("k", 2)])]
    push(harness, 5)
    assert len(harness.values) == 2
    harness.push_watermark(6999)
    assert harness.values[2:] == [("k", 1000, 7000, [("k", 1), ("k", 3), ("k", 2), ("k", 5)])]
    harness.push_watermark(16_999)
    assert left_behind(harness) == {}
    assert harness.event_timers() == []


@pytest.mark.parametrize("kind", KINDS)
def test_reduce_merges_accumulators(kind: str) -> None:
    harness = sessions(kind, reducer=lambda a, b: (a[0], a[1] + b[1]), function=None)
    push(harness, 1, 5, 3)
    harness.end()
    assert harness.values == [("k", 9)]


def test_count_trigger_counts_over_merged_windows() -> None:
    harness = sessions(BUILT, trigger=CountTrigger.of(3))
    push(harness, 1, 5, 3)
    assert harness.values == [("k", 1000, 7000, [("k", 1), ("k", 5), ("k", 3)])]
    push(harness, 6, 6)
    assert len(harness.values) == 1
    push(harness, 4)
    assert len(harness.values) == 2
    harness.end()
    assert left_behind(harness) == {}


def test_purging_count_trigger_empties_a_session_that_lives_on() -> None:
    harness = sessions(BUILT, trigger=PurgingTrigger.of(CountTrigger.of(2)))
    push(harness, 1, 2, 3, 4)
    assert harness.values == [("k", 1000, 4000, [("k", 1), ("k", 2)]), ("k", 1000, 6000, [("k", 3), ("k", 4)])]
    harness.end()
    assert len(harness.values) == 2
    assert left_behind(harness) == {}


def test_continuous_trigger_takes_over_the_earliest_firing() -> None:
    harness = sessions(BUILT, gap=3000, trigger=ContinuousEventTimeTrigger.of(2000), reducer=Count(), function=None)
    push(harness, 1, 5, 3)
    harness.push_watermark(2000)
    assert harness.values == [3]
    harness.push_watermark(4000)
    assert harness.values == [3, 3]
    harness.end()
    assert harness.outputs == [(3, 7999)] * 4
    assert left_behind(harness) == {}


def test_dynamic_gaps() -> None:
    harness = window_harness(
        BUILT, DynamicEventTimeSessionWindows.with_dynamic_gap(lambda record: record[1]), function=Contents()
    )
    harness.push_run([(("k", 5000), 1000), (("k", 1000), 2000), (("k", 1000), 6000), (("k", 10), 8000)])
    harness.end()
    assert harness.values == [
        ("k", 1000, 7000, [("k", 5000), ("k", 1000), ("k", 1000)]),
        ("k", 8000, 8010, [("k", 10)]),
    ]


def test_a_window_equal_to_a_grown_session_keeps_its_contents() -> None:
    harness = window_harness(
        BUILT, DynamicEventTimeSessionWindows.with_dynamic_gap(lambda record: record[1]), function=Contents()
    )
    harness.push_run([(("k", 100), 0), (("k", 100), 50), (("k", 150), 0)])
    harness.end()
    assert harness.values == [("k", 0, 150, [("k", 100), ("k", 100), ("k", 150)])]


def test_processing_time_sessions_merge_and_end() -> None:
    harness = window_harness(BUILT, ProcessingTimeSessionWindows.with_gap(1000), function=Contents())
    harness.push(("k", 1))
    harness.advance(700)
    harness.push(("k", 2))
    assert harness.processing_timers() == [(1699, "k", TimeWindow(0, 1700))]
    harness.advance(1000)
    assert harness.values == [("k", 0, 1700, [("k", 1), ("k", 2)])]
    assert left_behind(harness) == {}


class SumUp(AggregateFunction[int, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return -accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Noting(EventTimeTrigger):
    """Adds each record's number to a state that it merges."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> Any:
        ctx.get_partitioned_state(self.descriptor).add(element[1])
        return super().on_element(element, timestamp, window, ctx)

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        super().on_merge(window, ctx)
        ctx.merge_partitioned_state(self.descriptor)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        super().clear(window, ctx)
        ctx.get_partitioned_state(self.descriptor).clear()


@pytest.mark.parametrize(
    ("descriptor", "content"),
    [
        (ReducingStateDescriptor("notes", lambda a, b: a + b), 9),
        (ListStateDescriptor("notes"), [1, 5, 3]),
        (AggregatingStateDescriptor("notes", SumUp()), -9),
    ],
    ids=lambda value: type(value).__name__,
)
def test_state_of_triggers_is_merged(descriptor: StateDescriptor, content: Any) -> None:
    harness = sessions(BUILT, trigger=Noting(descriptor))
    push(harness, 1, 5, 3)
    assert harness.state(descriptor, "k", TimeWindow(1000, 7000)) == content
    assert left_behind(harness)["notes"] == {TimeWindow(1000, 7000)}
    harness.end()
    assert left_behind(harness) == {}


def test_state_that_cannot_be_merged_is_refused() -> None:
    descriptor = ValueStateDescriptor("notes")

    class Wrong(EventTimeTrigger):
        def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
            ctx.merge_partitioned_state(descriptor)

    harness = sessions(BUILT, trigger=Wrong())
    push(harness, 1)
    with pytest.raises(ProgramError, match=r"'notes'.*cannot be merged"):
        push(harness, 2)


class TensOf(MergingWindowAssigner[Any, TimeWindow]):
    """Windows of one millisecond; those within the same ten merge into the ten when there are two of them."""

    def __init__(self, result_end: int = 10) -> None:
        self.result_end = result_end

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(self, windows: Iterable[TimeWindow], callback: Any) -> None:
        tens: dict[int, list[TimeWindow]] = {}
        for window in windows:
            tens.setdefault(window.start // 10 * 10, []).append(window)
        for start, group in tens.items():
            if len(group) > 1:
                callback.merge(group, TimeWindow(start, start + self.result_end))

    def get_default_trigger(self, env: Any = None) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return None

    def is_event_time(self) -> bool:
        return True


def test_a_merging_assigner_of_ones_own() -> None:
    harness = window_harness(GENERAL, TensOf(), function=Contents())
    harness.push_run([(("k", 1), 3), (("k", 2), 14), (("k", 3), 7), (("k", 4), 5), (("k", 5), 3)])
    harness.end()
    assert harness.values == [("k", 0, 10, [("k", 1), ("k", 3), ("k", 4), ("k", 5)]), ("k", 14, 15, [("k", 2)])]
    assert left_behind(harness) == {}
    assert harness.state_keys(ListStateDescriptor("merging-window-set")) == []


def test_merging_into_a_window_that_is_over_is_refused() -> None:
    harness = window_harness(GENERAL, TensOf(result_end=1), function=Contents())
    harness.push(("k", 1), 7)
    harness.push_watermark(5)
    with pytest.raises(ProgramError, match="which is over"):
        harness.push(("k", 2), 8)
