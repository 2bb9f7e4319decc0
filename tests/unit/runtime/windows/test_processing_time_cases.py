"""Windows by the clock: W-43 and W-116, and how their timers come and go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.process import KeyedProcessFunction
from penstock.vocabulary.state.descriptors import ValueStateDescriptor
from penstock.vocabulary.windows.assigners import (
    GlobalWindows,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.vocabulary.windows.continuous_triggers import ContinuousProcessingTimeTrigger, ProcessingTimeoutTrigger
from penstock.vocabulary.windows.sessions import ProcessingTimeSessionWindows
from penstock.vocabulary.windows.triggers import CountTrigger
from tests.unit.runtime.windows.window_bench import BUILT, Count, left_behind, window_harness


def add_up(known: Any, value: Any) -> Any:
    return known[0], known[1] + value[1]


def arrive(harness: OperatorHarness, arrivals: Iterable[tuple[int, str]], until: int) -> list[tuple[int, Any]]:
    """Let words arrive at moments of the clock; return what came out and when."""
    found: list[tuple[int, Any]] = []
    emit = harness.operator.output.emit

    def noting(values: list[Any], timestamps: Any) -> None:
        found.extend((harness.clock.now(), value) for value in values)
        emit(values, timestamps)

    harness.operator.output.emit = noting
    for moment, word in arrivals:
        harness.advance(moment - harness.clock.now())
        harness.push((word, 1))
    harness.advance(until - harness.clock.now())
    return found


WORDS = [(500, "a"), (1500, "b"), (2500, "a"), (3500, "a")]


def test_w_43_tumbling_three_seconds() -> None:
    harness = window_harness(BUILT, TumblingProcessingTimeWindows.of(3000), reducer=add_up)
    assert arrive(harness, WORDS, 6000) == [(2999, ("a", 2)), (2999, ("b", 1)), (5999, ("a", 1))]
    assert [timestamp for _, timestamp in harness.outputs] == [2999, 2999, 5999]
    assert harness.processing_timers() == []
    assert left_behind(harness) == {}


def test_w_43_sliding_three_seconds_every_second() -> None:
    harness = window_harness(BUILT, SlidingProcessingTimeWindows.of(3000, 1000), reducer=add_up)
    assert arrive(harness, [(500, "a"), (1500, "a")], 5000) == [
        (999, ("a", 1)),
        (1999, ("a", 2)),
        (2999, ("a", 2)),
        (3999, ("a", 1)),
    ]
    assert left_behind(harness) == {}


def test_w_43_session_of_two_seconds() -> None:
    harness = window_harness(BUILT, ProcessingTimeSessionWindows.with_gap(2000), reducer=add_up)
    assert arrive(harness, [(500, "a"), (2000, "a"), (2500, "b"), (4500, "a")], 10_000) == [
        (3999, ("a", 2)),
        (4499, ("b", 1)),
        (6499, ("a", 1)),
    ]
    assert harness.processing_timers() == []
    assert left_behind(harness) == {}


def test_w_43_sliding_ten_seconds_every_five() -> None:
    harness = window_harness(BUILT, SlidingProcessingTimeWindows.of(10_000, 5000), reducer=Count())
    assert arrive(harness, [(1000, "a"), (6000, "a")], 20_000) == [(4999, 1), (9999, 2), (14_999, 1)]


def test_w_43_reduce_of_five_seconds() -> None:
    harness = window_harness(BUILT, TumblingProcessingTimeWindows.of(5000), reducer=add_up)
    assert arrive(harness, [(0, "a"), (4998, "a"), (5000, "a")], 10_000) == [(4999, ("a", 2)), (9999, ("a", 1))]


def test_windows_by_the_clock_ignore_watermarks_and_are_never_late() -> None:
    harness = window_harness(BUILT, TumblingProcessingTimeWindows.of(3000), reducer=Count(), allowed_lateness=60_000)
    harness.push_watermark(2**63 - 1)
    harness.push(("a",), 5)
    harness.push(("a",))
    assert harness.outputs == []
    harness.advance(3000)
    assert harness.outputs == [(2, 2999)]
    assert left_behind(harness) == {}
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 0}


def test_timers_due_together_give_one_run() -> None:
    harness = window_harness(BUILT, TumblingProcessingTimeWindows.of(3000), reducer=Count())
    runs: list[list[Any]] = []
    harness.operator.output.emit = lambda values, timestamps: runs.append(values)
    for key in "abc":
        harness.push((key,))
    harness.advance(3000)
    assert runs == [[1, 1, 1]]


def test_continuous_processing_time_trigger_ends_with_its_window() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(1000)
    harness = window_harness(BUILT, TumblingProcessingTimeWindows.of(2500), trigger=trigger, reducer=Count())
    harness.push(("a",))
    harness.advance(10_000)
    assert harness.outputs == [(1, 2499), (1, 2499), (1, 2499)]
    assert harness.processing_timers() == []
    assert left_behind(harness) == {}


def test_count_or_timeout_remedies_a_window_that_is_never_full() -> None:
    """TRG-07."""
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), 1000)
    harness = window_harness(BUILT, GlobalWindows.create(), trigger=trigger, reducer=Count())
    harness.push(("a",))
    harness.advance(999)
    assert harness.values == []
    harness.advance(1)
    assert harness.values == [1]
    for _ in range(3):
        harness.push(("a",))
    assert harness.values == [1, 4]
    assert harness.processing_timers() == []


class Rising(KeyedProcessFunction[Any, Any, Any]):
    """Warns when the temperature has been rising for a second of the clock."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        last, timer = self.last.value(), self.timer.value()
        self.last.update(value[1])
        service = ctx.timer_service()
        if last is not None and value[1] > last and timer is None:
            due = service.current_processing_time() + 1000
            service.register_processing_time_timer(due)
            self.timer.update(due)
        elif last is not None and value[1] <= last and timer is not None:
            service.delete_processing_time_timer(timer)
            self.timer.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        self.timer.clear()
        yield ctx.get_current_key(), timestamp


def test_w_116_temperature_rising_for_a_second() -> None:
    harness = OperatorHarness.for_process(Rising(), key=lambda reading: reading[0])
    readings = [(0, 10), (200, 11), (400, 10), (600, 12), (800, 14), (1500, 15)]
    for moment, degrees in readings:
        harness.advance(moment - harness.clock.now())
        harness.push(("sensor_1", degrees))
    assert harness.values == []
    assert [timestamp for timestamp, _, _ in harness.processing_timers()] == [1600]
    harness.advance(100)
    assert harness.values == [("sensor_1", 1600)]
