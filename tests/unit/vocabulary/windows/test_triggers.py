from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.windows.triggers import (
    CountTrigger,
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
    TriggerResult,
)
from penstock.vocabulary.windows.windows import GlobalWindow, TimeWindow
from tests.unit.vocabulary.windows.trigger_driver import TriggerDriver

CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = (
    TriggerResult.CONTINUE,
    TriggerResult.FIRE,
    TriggerResult.PURGE,
    TriggerResult.FIRE_AND_PURGE,
)
LONG_MAX = 2**63 - 1
W = TimeWindow(0, 10)


@pytest.mark.parametrize(
    ("result", "fires", "purges"),
    [(CONTINUE, False, False), (FIRE, True, False), (PURGE, False, True), (FIRE_AND_PURGE, True, True)],
)
def test_trigger_results(result, fires, purges):
    assert result.is_fire() is fires
    assert result.is_purge() is purges
    assert pickle.loads(pickle.dumps(result)) is result


class OnCount(Trigger[Any, Any]):
    """The custom trigger of W-42, written as a user writes one: one result on every second record."""

    def __init__(self, result):
        self.result = result
        self.count = CountTrigger.of(2)

    def on_element(self, element, timestamp, window, ctx):
        return self.result if self.count.on_element(element, timestamp, window, ctx).is_fire() else CONTINUE

    def on_processing_time(self, time, window, ctx):
        return CONTINUE

    def on_event_time(self, time, window, ctx):
        return CONTINUE

    def clear(self, window, ctx):
        self.count.clear(window, ctx)


@pytest.mark.parametrize(("result", "sums"), [(FIRE, [3, 10]), (FIRE_AND_PURGE, [3, 7]), (PURGE, [])])
def test_w_42_fire_keeps_and_purge_empties(result, sums):
    driver = TriggerDriver(OnCount(result))
    for value in (1, 2, 3, 4):
        driver.element(value, 0, W)
    assert [sum(contents) for _, contents in driver.firings] == sums


def test_a_trigger_that_cannot_merge_says_so():
    trigger = OnCount(FIRE)
    assert trigger.can_merge() is False
    with pytest.raises(ProgramError, match=r"OnCount cannot be used with windows that merge"):
        trigger.on_merge(W, TriggerDriver(trigger).context(W))


def test_w_37_the_event_time_trigger_fires_at_the_last_millisecond():
    window = TimeWindow(0, 10_000)
    driver = TriggerDriver(EventTimeTrigger.create())
    assert driver.element("x", 3000, window) is CONTINUE
    assert driver.event_timers == {(9999, window)}
    driver.advance_watermark(9998)
    assert driver.firings == []
    driver.advance_watermark(9999)
    assert driver.firings == [(window, ["x"])]


def test_trg_08_a_record_of_a_window_that_has_ended_fires_it_at_once():
    driver = TriggerDriver(EventTimeTrigger(), watermark=9)
    assert driver.element("late", 3, W) is FIRE
    assert driver.event_timers == set()


def test_the_event_time_trigger_ignores_other_timers():
    driver = TriggerDriver(EventTimeTrigger())
    assert driver.trigger.on_event_time(8, W, driver.context(W)) is CONTINUE
    assert driver.trigger.on_processing_time(9, W, driver.context(W)) is CONTINUE


def test_the_event_time_trigger_follows_a_merge():
    first, second, merged = TimeWindow(1, 3), TimeWindow(3, 5), TimeWindow(1, 5)
    driver = TriggerDriver(EventTimeTrigger())
    driver.element("a", 1, first)
    driver.element("b", 3, second)
    assert driver.trigger.can_merge()
    driver.merge([first, second], merged)
    assert driver.event_timers == {(4, merged)}
    driver.advance_watermark(4)
    assert driver.firings == [(merged, ["a", "b"])]


def test_the_event_time_trigger_sets_no_timer_for_a_merged_window_that_has_ended():
    driver = TriggerDriver(EventTimeTrigger(), watermark=4)
    driver.merge([TimeWindow(1, 3), TimeWindow(3, 5)], TimeWindow(1, 5))
    assert driver.event_timers == set()


def test_the_processing_time_trigger_fires_by_the_clock():
    driver = TriggerDriver(ProcessingTimeTrigger.create(), watermark=LONG_MAX)
    assert driver.element("x", 3, W) is CONTINUE
    driver.advance_clock(8)
    assert driver.firings == []
    driver.advance_clock(9)
    assert driver.firings == [(W, ["x"])]
    assert driver.trigger.on_event_time(9, W, driver.context(W)) is CONTINUE


def test_the_processing_time_trigger_follows_a_merge():
    first, second, merged = TimeWindow(1, 3), TimeWindow(3, 5), TimeWindow(1, 5)
    driver = TriggerDriver(ProcessingTimeTrigger(), clock=1)
    driver.element("a", 1, first)
    driver.element("b", 3, second)
    assert driver.trigger.can_merge()
    driver.merge([first, second], merged)
    assert driver.processing_timers == {(4, merged)}


def test_the_count_trigger_starts_anew_after_each_firing():
    driver = TriggerDriver(CountTrigger.of(3))
    results = [driver.element(value, 0, W) for value in range(7)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]


def test_the_count_trigger_counts_each_window_for_itself():
    driver = TriggerDriver(CountTrigger.of(2))
    other = TimeWindow(10, 20)
    assert [driver.element("x", 0, w) for w in (W, other, W, other)] == [CONTINUE, CONTINUE, FIRE, FIRE]


def test_the_count_trigger_adds_up_merged_windows():
    first, second, merged = TimeWindow(1, 3), TimeWindow(3, 5), TimeWindow(1, 5)
    driver = TriggerDriver(CountTrigger.of(3))
    driver.element("a", 1, first)
    driver.element("b", 3, second)
    assert driver.trigger.can_merge()
    driver.merge([first, second], merged)
    assert driver.element("c", 4, merged) is FIRE


def test_the_count_trigger_needs_a_positive_number():
    with pytest.raises(ProgramError, match="CountTrigger cannot fire every 0 records"):
        CountTrigger.of(0)


def test_the_purging_trigger_adds_a_purge_to_every_firing():
    driver = TriggerDriver(PurgingTrigger.of(CountTrigger.of(2)))
    assert [driver.element(value, 0, W) for value in (1, 2, 3, 4)] == [
        CONTINUE,
        FIRE_AND_PURGE,
        CONTINUE,
        FIRE_AND_PURGE,
    ]
    assert [contents for _, contents in driver.firings] == [[1, 2], [3, 4]]


def test_the_purging_trigger_passes_timers_merges_and_clearing_on():
    driver = TriggerDriver(PurgingTrigger.of(EventTimeTrigger.create()))
    context = driver.context(W)
    assert driver.trigger.on_event_time(9, W, context) is FIRE_AND_PURGE
    assert driver.trigger.on_event_time(8, W, context) is CONTINUE
    assert driver.trigger.can_merge()
    driver.merge([W, TimeWindow(10, 20)], TimeWindow(0, 20))
    assert driver.event_timers == {(19, TimeWindow(0, 20))}
    driver.clear(TimeWindow(0, 20))
    assert driver.is_clean()
    by_clock = PurgingTrigger.of(ProcessingTimeTrigger())
    assert by_clock.on_processing_time(9, W, context) is FIRE_AND_PURGE
    assert PurgingTrigger.of(OnCount(PURGE)).can_merge() is False


def test_the_purging_trigger_leaves_a_plain_purge_alone():
    driver = TriggerDriver(PurgingTrigger.of(OnCount(PURGE)))
    assert [driver.element(value, 0, W) for value in (1, 2)] == [CONTINUE, PURGE]


def test_the_never_trigger_never_fires():
    window = GlobalWindow.get()
    driver = TriggerDriver(NeverTrigger())
    assert driver.element("x", 0, window) is CONTINUE
    driver.advance_watermark(LONG_MAX)
    driver.advance_clock(LONG_MAX)
    assert driver.firings == []
    assert driver.trigger.can_merge() is False


def test_the_end_of_stream_trigger_fires_at_the_last_watermark():
    window = GlobalWindow.get()
    driver = TriggerDriver(EndOfStreamTrigger())
    driver.element("x", 0, window)
    driver.element("y", 0, window)
    driver.advance_watermark(LONG_MAX - 1)
    assert driver.firings == []
    driver.advance_watermark(LONG_MAX)
    assert driver.firings == [(window, ["x", "y"])]


@pytest.mark.parametrize(
    ("trigger", "window"),
    [
        (EventTimeTrigger(), W),
        (ProcessingTimeTrigger(), W),
        (CountTrigger(3), W),
        (PurgingTrigger(CountTrigger(3)), W),
        (NeverTrigger(), GlobalWindow.get()),
        (EndOfStreamTrigger(), GlobalWindow.get()),
    ],
)
def test_clear_removes_timers_and_state_and_triggers_travel(trigger, window):
    driver = TriggerDriver(pickle.loads(cloudpickle.dumps(trigger)))
    driver.element("x", 1, window)
    driver.clear(window)
    assert driver.is_clean()
