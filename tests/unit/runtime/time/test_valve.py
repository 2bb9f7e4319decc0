"""Event time at a fan-in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.time.valve import WatermarkValve


def test_time_waits_for_every_channel() -> None:
    valve = WatermarkValve(2)
    assert valve.on_watermark(0, 5) is None
    assert valve.watermark == MIN_TIMESTAMP
    assert valve.on_watermark(1, 3) == 3


def test_w_44_min_rule() -> None:
    """Delay 3: 28 gives 25, 23 gives 20."""
    valve = WatermarkValve(2)
    valve.on_watermark(0, 25)
    assert valve.on_watermark(1, 20) == 20
    assert valve.on_watermark(1, 25) == 25


def test_w_45_monotone_per_channel() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 22)
    assert valve.on_watermark(1, 19) == 19
    assert valve.on_watermark(0, 18) is None
    assert valve.channels[0].watermark == 22
    assert valve.watermark == 19


def test_w_46_array_update() -> None:
    valve = WatermarkValve(3)
    valve.on_watermark(0, 2)
    valve.on_watermark(1, 4)
    assert valve.on_watermark(2, 3) == 2
    assert valve.on_watermark(0, 5) == 3
    assert valve.on_watermark(2, 6) == 4


def test_an_idle_channel_does_not_hold_time_back() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 7)
    assert valve.on_status(1, is_idle=True) == (7, None)
    assert valve.on_watermark(0, 9) == 9


def test_becoming_idle_lets_time_go_to_the_next_slowest() -> None:
    valve = WatermarkValve(3)
    for channel, watermark in enumerate((2, 5, 9)):
        valve.on_watermark(channel, watermark)
    assert valve.on_status(0, is_idle=True) == (5, None)


def test_a_fast_channel_becoming_idle_changes_nothing() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 2)
    valve.on_watermark(1, 9)
    assert valve.on_status(1, is_idle=True) == (None, None)
    assert valve.watermark == 2


def test_when_all_are_idle_time_goes_as_far_as_any_had_come() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 2)
    valve.on_watermark(1, 9)
    assert valve.on_status(1, is_idle=True) == (None, None)
    assert valve.on_status(0, is_idle=True) == (9, True)
    assert valve.is_idle


def test_a_watermark_of_an_idle_channel_is_ignored() -> None:
    valve = WatermarkValve(2)
    valve.on_status(0, is_idle=True)
    assert valve.on_watermark(0, 50) is None
    assert valve.channels[0].watermark == MIN_TIMESTAMP


def test_coming_back_from_idleness_does_not_turn_time_back() -> None:
    valve = WatermarkValve(2)
    valve.on_watermark(0, 3)
    valve.on_watermark(1, 3)
    valve.on_status(1, is_idle=True)
    assert valve.on_watermark(0, 10) == 10
    assert valve.on_status(1, is_idle=False) == (None, None)
    assert valve.on_watermark(1, 5) is None
    # Channel 1 lags, so it does not count until it has caught up.
    assert valve.on_watermark(0, 12) == 12
    assert valve.on_watermark(1, 12) is None
    assert valve.on_watermark(0, 20) is None
    assert valve.on_watermark(1, 15) == 15


def test_all_idle_and_back() -> None:
    valve = WatermarkValve(2)
    assert valve.on_status(0, is_idle=True) == (None, None)
    assert valve.on_status(1, is_idle=True) == (None, True)
    assert valve.on_status(1, is_idle=False) == (None, False)
    assert not valve.is_idle
    assert valve.on_watermark(1, 4) == 4


def test_a_repeated_status_is_no_change() -> None:
    valve = WatermarkValve(1)
    assert valve.on_status(0, is_idle=False) == (None, None)
    assert valve.on_status(0, is_idle=True) == (None, True)
    assert valve.on_status(0, is_idle=True) == (None, None)


def test_the_end_of_time_needs_all() -> None:
    valve = WatermarkValve(2)
    assert valve.on_watermark(0, MAX_TIMESTAMP) is None
    assert valve.on_watermark(1, 3) == 3
    assert valve.on_watermark(1, MAX_TIMESTAMP) == MAX_TIMESTAMP


EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50) | st.booleans()), max_size=60)


@given(EVENTS)
def test_time_never_goes_back(events: list[tuple[int, int | bool]]) -> None:
    valve = WatermarkValve(4)
    last = MIN_TIMESTAMP
    for channel, event in events:
        if isinstance(event, bool):
            advanced, _ = valve.on_status(channel, is_idle=event)
        else:
            advanced = valve.on_watermark(channel, event)
        if advanced is not None:
            assert advanced > last
            last = advanced
        assert valve.watermark == last


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=60))
def test_without_idleness_time_is_the_minimum_of_the_maxima(events: list[tuple[int, int]]) -> None:
    valve = WatermarkValve(4)
    highest = [MIN_TIMESTAMP] * 4
    for channel, watermark in events:
        valve.on_watermark(channel, watermark)
        highest[channel] = max(highest[channel], watermark)
        assert valve.watermark == min(highest)


@given(EVENTS)
def test_the_status_says_whether_somebody_is_active(events: list[tuple[int, int | bool]]) -> None:
    valve = WatermarkValve(4)
    idle = [False] * 4
    shown = False
    for channel, event in events:
        if isinstance(event, bool):
            idle[channel] = event
            _, changed = valve.on_status(channel, is_idle=event)
            if changed is not None:
                assert changed is not shown
                shown = changed
        assert shown is all(idle)
