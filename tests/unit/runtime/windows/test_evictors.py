"""Evictors around the window function, and triggers with timers and state of their own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.windowed import WindowFunction
from penstock.vocabulary.state.descriptors import ValueStateDescriptor
from penstock.vocabulary.windows.assigners import GlobalWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.continuous_triggers import ContinuousEventTimeTrigger, DeltaTrigger
from penstock.vocabulary.windows.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.triggers import CountTrigger, NeverTrigger, PurgingTrigger, Trigger, TriggerResult
from penstock.vocabulary.windows.windows import TimeWindow
from tests.unit.runtime.windows.window_bench import BUILT, Contents, Count, left_behind, window_harness


class Numbers(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
        yield [number for _, number in inputs]


def numbers_after(evictor: Any, numbers: Iterable[float], every: int, **settings: Any) -> list[Any]:
    settings.setdefault("function", Numbers())
    harness = window_harness(BUILT, GlobalWindows.create(), trigger=CountTrigger.of(every), evictor=evictor, **settings)
    for number in numbers:
        harness.push(("k", number), int(number * 1000))
    return harness.values


def test_count_evictor_before_keeps_the_last() -> None:
    assert numbers_after(CountEvictor.of(2), [1, 2, 3, 4, 5, 6], 3) == [[2, 3], [5, 6]]


def test_count_evictor_after_lets_the_function_see_all() -> None:
    assert numbers_after(CountEvictor.of(1, True), [1, 2, 3, 4, 5, 6], 3) == [[1, 2, 3], [3, 4, 5, 6]]


def test_time_evictor_works_on_timestamps() -> None:
    assert numbers_after(TimeEvictor.of(2000), [1, 5, 6], 3) == [[5, 6]]


def test_delta_evictor() -> None:
    assert numbers_after(DeltaEvictor.of(3, lambda old, new: abs(new[1] - old[1])), [1, 9, 7, 8], 4) == [[9, 7, 8]]


def test_without_timestamps_evictors_see_none() -> None:
    seen: list[Any] = []

    class Look(Evictor[Any, Any]):
        def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
            seen.extend((element.get_value(), element.has_timestamp(), size) for element in elements)
            seen.append(
                (ctx.get_current_watermark(), ctx.get_current_processing_time(), ctx.get_metric_group().snapshot())
            )

        def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
            elements.clear()

    harness = window_harness(
        BUILT, GlobalWindows.create(), trigger=CountTrigger.of(1), evictor=Look(), function=Numbers()
    )
    harness.push(("k", 1))
    harness.push(("k", 2))
    nothing_late = {"numLateRecordsDropped": 0}
    assert seen == [
        (("k", 1), False, 1),
        (-(2**63), 0, nothing_late),
        (("k", 2), False, 1),
        (-(2**63), 0, nothing_late),
    ]
    assert harness.values == [[1], [2]]


def test_reduce_and_aggregate_work_on_what_the_evictor_left() -> None:
    add_up = numbers_after(CountEvictor.of(2), [1, 2, 3], 3, reducer=lambda a, b: (a[0], a[1] + b[1]), function=None)
    assert add_up == [("k", 5)]
    assert numbers_after(CountEvictor.of(2), [1, 2, 3], 3, reducer=Count(), function=None) == [2]
    with_function = numbers_after(
        CountEvictor.of(2), [1, 2, 3], 3, reducer=lambda a, b: (a[0], a[1] + b[1]), function=Numbers()
    )
    assert with_function == [[5]]


def test_when_nothing_is_left() -> None:
    """A window function sees an empty window, an aggregate its empty result; a reduce has nothing to say."""
    assert numbers_after(CountEvictor.of(0), [1, 2], 2) == [[]]
    assert numbers_after(CountEvictor.of(0), [1, 2], 2, reducer=Count(), function=None) == [0]
    assert numbers_after(CountEvictor.of(0), [1, 2], 2, reducer=lambda a, b: a, function=None) == []


def test_an_emptied_window_does_not_fire_again() -> None:
    harness = window_harness(
        BUILT, TumblingEventTimeWindows.of(5000), evictor=CountEvictor.of(0, True), function=Contents(),
        trigger=ContinuousEventTimeTrigger.of(1000),
    )  # fmt: skip
    harness.push(("k", 1), 500)
    harness.push_watermark(1500)
    assert harness.values == [("k", 0, 5000, [("k", 1)])]
    harness.push_watermark(4999)
    assert len(harness.values) == 1
    assert left_behind(harness) == {}


def test_evictor_with_sessions_that_merge() -> None:
    harness = window_harness(
        BUILT, EventTimeSessionWindows.with_gap(2000), evictor=CountEvictor.of(2), function=Contents(),
        allowed_lateness=5000,
    )  # fmt: skip
    for moment in (1, 5, 3):
        harness.push(("k", moment), moment * 1000)
    harness.push_watermark(6999)
    assert harness.values == [("k", 1000, 7000, [("k", 5), ("k", 3)])]
    harness.push(("k", 6), 6000)
    assert harness.values[1:] == []
    harness.push_watermark(7999)
    assert harness.values[1:] == [("k", 1000, 8000, [("k", 3), ("k", 6)])]
    harness.end()
    assert left_behind(harness) == {}


def test_delta_trigger_measures_from_the_record_that_fired() -> None:
    trigger = DeltaTrigger.of(5, lambda old, new: new[1] - old[1])
    harness = window_harness(BUILT, GlobalWindows.create(), trigger=trigger, function=Numbers())
    for number in (1, 4, 7, 9, 13):
        harness.push(("k", number), number)
    assert harness.values == [[1, 4, 7], [1, 4, 7, 9, 13]]


def test_purging_trigger_keeps_the_timers_of_its_window() -> None:
    harness = window_harness(
        BUILT, TumblingEventTimeWindows.of(5000), trigger=PurgingTrigger.of(CountTrigger.of(2)), reducer=Count()
    )
    harness.push_run([(("k",), 1), (("k",), 2), (("k",), 3)])
    assert harness.values == [2]
    assert harness.event_timers() == [(4999, "k", TimeWindow(0, 5000))]
    harness.push_watermark(4999)
    assert harness.values == [2]
    assert left_behind(harness) == {}


def test_end_of_stream_trigger_fires_once_at_the_end() -> None:
    harness = window_harness(BUILT, GlobalWindows.create_with_end_of_stream_trigger(), reducer=Count())
    harness.push(("a",))
    harness.push(("b",))
    harness.push(("a",))
    harness.push_watermark(10**12)
    assert harness.values == []
    harness.end()
    assert harness.outputs == [(2, 2**63 - 1), (1, 2**63 - 1)]


class Early(Trigger[Any, TimeWindow]):
    """Fires a second after the first record of a window, by event time, and at the end; keeps state and timers."""

    first = ValueStateDescriptor("first")

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        state = ctx.get_partitioned_state(self.first)
        if state.value() is None:
            state.update(timestamp + 1000)
            ctx.register_event_time_timer(timestamp + 1000)
            ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self.first)
        if state.value() is not None:
            ctx.delete_event_time_timer(state.value())
        ctx.delete_event_time_timer(window.max_timestamp())
        state.clear()


def test_state_and_timers_of_a_custom_trigger_belong_to_key_and_window() -> None:
    harness = window_harness(BUILT, TumblingEventTimeWindows.of(5000), trigger=Early(), function=Contents())
    harness.push_run([(("a", 1), 1000), (("b", 2), 1500), (("a", 3), 6000)])
    assert harness.state(Early.first, "a", TimeWindow(0, 5000)) == 2000
    assert harness.state(Early.first, "a", TimeWindow(5000, 10_000)) == 7000
    assert harness.state(Early.first, "b", TimeWindow(0, 5000)) == 2500
    assert harness.state(Early.first, "b", TimeWindow(5000, 10_000)) is None
    harness.push_watermark(2000)
    assert harness.values == [("a", 0, 5000, [("a", 1)])]
    harness.push_watermark(4999)
    assert [(key, start) for key, start, _, _ in harness.values[1:]] == [("b", 0), ("a", 0), ("b", 0)]
    assert left_behind(harness) == {"window-contents": {(5000, 10_000)}, "first": {(5000, 10_000)}}
    harness.end()
    assert left_behind(harness) == {}
    assert harness.event_timers() == []


@pytest.mark.parametrize("trigger", [Early(), NeverTrigger()], ids=["custom", "never"])
def test_a_trigger_that_cannot_merge_is_refused_with_sessions(trigger: Any) -> None:
    with pytest.raises(ProgramError, match=r"'windows' cannot be used with windows that merge"):
        window_harness(BUILT, EventTimeSessionWindows.with_gap(1000), trigger=trigger, reducer=Count())
