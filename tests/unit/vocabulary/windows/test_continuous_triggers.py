from __future__ import annotations

import pickle
from datetime import timedelta

import cloudpickle
import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.time.durations import Duration, Time
from penstock.vocabulary.windows.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    DeltaTrigger,
    Min,
    ProcessingTimeoutTrigger,
)
from penstock.vocabulary.windows.delta_function import DeltaFunction
from penstock.vocabulary.windows.triggers import CountTrigger, EventTimeTrigger, PurgingTrigger, TriggerResult
from penstock.vocabulary.windows.windows import GlobalWindow, TimeWindow
from tests.unit.vocabulary.windows.trigger_driver import TriggerDriver

CONTINUE, FIRE, FIRE_AND_PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE
LONG_MAX = 2**63 - 1
MINUTE = TimeWindow(0, 60_000)


def test_w_41_result_every_10_s():
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(Time.seconds(10)))
    counts_after = []
    for timestamp in (1000, 5000, 12_000, 25_000):
        # A punctuated watermark equals the timestamp of the record and follows it.
        driver.element(timestamp, timestamp, MINUTE)
        driver.advance_watermark(timestamp)
        counts_after.append(driver.counts())
    assert counts_after == [[], [], [3], [3, 4]]
    assert driver.event_timers == {(30_000, MINUTE), (59_999, MINUTE)}
    driver.advance_watermark(LONG_MAX)
    assert driver.counts() == [3, 4, 4, 4, 4, 4]


def test_the_continuous_event_time_trigger_fires_late_records_at_once():
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(10_000), watermark=59_999)
    assert driver.element("late", 3000, MINUTE) is FIRE
    assert driver.is_clean()


def test_the_continuous_event_time_trigger_ignores_timers_that_are_not_its_own():
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(10_000))
    driver.element("x", 1000, MINUTE)
    assert driver.trigger.on_event_time(7000, MINUTE, driver.context(MINUTE)) is CONTINUE
    assert driver.trigger.on_processing_time(10_000, MINUTE, driver.context(MINUTE)) is CONTINUE


def test_the_continuous_event_time_trigger_aligns_before_the_epoch_too():
    window = TimeWindow(-60_000, 0)
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(10_000))
    driver.element("x", -55_000, window)
    assert driver.event_timers == {(-50_000, window), (-1, window)}


def test_the_continuous_event_time_trigger_keeps_the_earliest_firing_of_merged_windows():
    first, second, merged = TimeWindow(12_000, 17_000), TimeWindow(3000, 14_000), TimeWindow(3000, 17_000)
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(5000))
    driver.element("a", 12_000, first)
    driver.element("b", 3000, second)
    assert driver.trigger.can_merge()
    driver.merge([first, second], merged)
    assert driver.timers_of(merged) == {5000}
    driver.element("c", 4000, merged)
    driver.advance_watermark(LONG_MAX)
    assert driver.counts() == [3, 3, 3, 3], "at 5000, 10000, 15000 and 16999"


def test_w_41_in_processing_time():
    driver = TriggerDriver(ContinuousProcessingTimeTrigger.of(10_000))
    for time in (1000, 5000, 12_000, 25_000):
        driver.advance_clock(time)
        driver.element(time, 0, MINUTE)
    assert driver.counts() == [2, 3], "the timers of 10 s and 20 s fire before the record that comes after them"
    driver.advance_clock(59_999)
    driver.clear(MINUTE)
    assert driver.counts() == [2, 3, 4, 4, 4, 4]
    assert driver.is_clean()
    assert driver.trigger.on_event_time(10_000, MINUTE, driver.context(MINUTE)) is CONTINUE


def test_the_continuous_processing_time_trigger_stops_when_the_clock_has_passed_the_window():
    # The window is one in event time, which the watermark does not end.
    driver = TriggerDriver(ContinuousProcessingTimeTrigger.of(25_000))
    driver.element("x", 1000, MINUTE)
    driver.advance_clock(1_000_000)
    assert driver.counts() == [1, 1, 1], "at 25000, 50000 and 59999"
    assert driver.is_clean()


def test_the_continuous_processing_time_trigger_fires_records_of_old_windows_at_once():
    # The window ended in 1970; by the clock it is 2001.
    now = 1_000_000_000_000
    driver = TriggerDriver(ContinuousProcessingTimeTrigger.of(10_000), clock=now)
    for count in (1, 2):
        driver.element("x", 1000, MINUTE)
        driver.advance_clock(now)
        assert len(driver.firings) == count
        assert driver.is_clean()


@pytest.mark.parametrize(("timestamp", "next_firing"), [(1000, 10_000), (55_000, 59_999)])
def test_clear_leaves_the_timer_at_the_end_of_the_window(timestamp, next_firing):
    driver = TriggerDriver(ContinuousEventTimeTrigger.of(10_000))
    driver.element("x", timestamp, MINUTE)
    assert driver.event_timers == {(next_firing, MINUTE), (59_999, MINUTE)}
    driver.clear(MINUTE)
    assert driver.event_timers == {(59_999, MINUTE)}
    assert not any(driver.state.values())


def test_a_window_under_a_timeout_still_fires_at_its_end():
    driver = TriggerDriver(ProcessingTimeoutTrigger.of(ContinuousEventTimeTrigger.of(10_000), 500))
    driver.element("x", 1000, MINUTE)
    driver.advance_clock(500)
    assert driver.counts() == [1]
    driver.advance_watermark(59_999)
    assert driver.counts() == [1, 1]


def test_the_continuous_processing_time_trigger_keeps_the_earliest_firing_of_merged_windows():
    first, second, merged = TimeWindow(0, 40_000), TimeWindow(20_000, 60_000), TimeWindow(0, 60_000)
    driver = TriggerDriver(ContinuousProcessingTimeTrigger.of(10_000), clock=1000)
    driver.element("a", 0, first)
    driver.clock = 21_000
    driver.element("b", 0, second)
    assert driver.trigger.can_merge()
    driver.merge([first, second], merged)
    assert driver.timers_of(merged) == {10_000}


@pytest.mark.parametrize("kind", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_intervals_are_taken_in_every_form_and_checked(kind):
    for interval in (Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5), 5000):
        assert kind.of(interval).interval == 5000
    with pytest.raises(ProgramError, match=f"{kind.__name__} needs an interval"):
        kind.of(0)


def test_min_keeps_the_smaller_number():
    assert Min().reduce(3, 2) == 2


class Rise(DeltaFunction[int]):
    def get_delta(self, old_data_point, new_data_point):
        return new_data_point - old_data_point


@pytest.mark.parametrize("delta", [Rise(), lambda old, new: new - old])
def test_the_delta_trigger_measures_from_the_record_that_fired_last(delta):
    window = GlobalWindow.get()
    driver = TriggerDriver(DeltaTrigger.of(5, delta))
    results = [driver.element(value, 0, window) for value in (10, 15, 16, 21, 22)]
    # 15 is 5 away, which is not more than the threshold; 16 fires; from 16, 21 is 5 away and 22 fires.
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE]
    assert driver.trigger.can_merge() is False


def test_the_delta_trigger_ignores_time():
    driver = TriggerDriver(DeltaTrigger(5, Rise()))
    assert driver.trigger.on_event_time(1, MINUTE, driver.context(MINUTE)) is CONTINUE
    assert driver.trigger.on_processing_time(1, MINUTE, driver.context(MINUTE)) is CONTINUE


def test_a_delta_function_must_be_callable():
    with pytest.raises(TypeError, match="delta function"):
        DeltaTrigger.of(5, 5)


def timeout(nested=None, **options):
    return TriggerDriver(ProcessingTimeoutTrigger.of(nested or CountTrigger.of(3), 100, **options))


def test_trg_07_a_count_or_timeout():
    window = GlobalWindow.get()
    driver = timeout()
    driver.element(1, 0, window)
    driver.advance_clock(50)
    driver.element(2, 0, window)
    driver.advance_clock(99)
    assert driver.firings == []
    driver.advance_clock(100)
    assert driver.firings == [(window, [1, 2])]
    assert driver.is_clean(), "after a timeout the count starts anew"


def test_the_timeout_stops_when_the_trigger_inside_fires():
    window = GlobalWindow.get()
    driver = timeout()
    assert [driver.element(value, 0, window) for value in (1, 2, 3)] == [CONTINUE, CONTINUE, FIRE]
    assert driver.is_clean()


def test_the_timeout_can_start_anew_with_each_record():
    window = GlobalWindow.get()
    driver = timeout(reset_timer_on_new_record=True)
    driver.element(1, 0, window)
    driver.advance_clock(60)
    driver.element(2, 0, window)
    assert driver.processing_timers == {(160, window)}
    driver.advance_clock(159)
    assert driver.firings == []
    driver.advance_clock(160)
    assert driver.counts() == [2]


def test_the_count_may_go_on_after_a_timeout():
    window = GlobalWindow.get()
    driver = timeout(should_clear_on_timeout=False)
    driver.element(1, 0, window)
    driver.element(2, 0, window)
    driver.advance_clock(100)
    assert driver.counts() == [2]
    assert driver.element(3, 0, window) is FIRE


def test_the_timeout_purges_if_the_trigger_inside_does():
    driver = timeout(PurgingTrigger.of(EventTimeTrigger.create()))
    driver.element("x", 1000, MINUTE)
    driver.advance_watermark(59_999)
    assert driver.firings == [(MINUTE, ["x"])]
    assert driver.contents[MINUTE] == []
    assert driver.is_clean()


def test_the_timeout_is_taken_in_every_form():
    nested = CountTrigger.of(3)
    for length in (Time.seconds(5), Duration.of_seconds(5), timedelta(seconds=5), 5000):
        assert ProcessingTimeoutTrigger.of(nested, length).timeout == 5000


@pytest.mark.parametrize(
    "trigger",
    [
        ContinuousEventTimeTrigger(10),
        ContinuousProcessingTimeTrigger(10),
        DeltaTrigger(5, lambda old, new: new - old),
        ProcessingTimeoutTrigger(CountTrigger(3), 10),
    ],
)
def test_clear_removes_timers_and_state_and_triggers_travel(trigger):
    driver = TriggerDriver(pickle.loads(cloudpickle.dumps(trigger)))
    driver.element(1, 1, MINUTE)
    driver.clear(MINUTE)
    driver.advance_watermark(59_999)  # the end of the window, where the operator clears for the last time
    assert driver.is_clean()
