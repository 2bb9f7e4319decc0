"""Timers: once per key and time, in order, deletable, also from inside a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.foundation.clock import ManualClock
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.runtime.time.timers import InternalTimers, TimerQueue, one_by_one
from penstock.statestore.backend import KeyContext


class Timers:
    """Both queues of an operator, with what has fired."""

    def __init__(self, on_fire: Callable[[Timers, int, Any], None] | None = None) -> None:
        self.clock = ManualClock()
        self.service = ProcessingTimeService(self.clock)
        self.keys = KeyContext()
        self.event: list[tuple[int, Any]] = []
        self.processing: list[tuple[int, Any]] = []
        self._on_fire = on_fire
        self.timers = InternalTimers(
            self.keys,
            self.service,
            on_event_time=one_by_one(self._on_event),
            on_processing_time=one_by_one(self._on_processing),
        )

    def _on_event(self, timestamp: int, key: Any, _: Any) -> None:
        self.event.append((timestamp, key))
        self._callback(timestamp, key)

    def _on_processing(self, timestamp: int, key: Any, _: Any) -> None:
        self.processing.append((timestamp, key))
        self._callback(timestamp, key)

    def _callback(self, timestamp: int, key: Any) -> None:
        if self._on_fire is not None:
            self.keys.key = key
            self._on_fire(self, timestamp, key)

    def key(self, key: Any) -> InternalTimers:
        self.keys.key = key
        return self.timers

    def run_to(self, now: int) -> None:
        while (due := self.service.next_time()) is not None and due <= now:
            self.clock.set(max(due, self.clock.now()))
            self.service.fire_due()
        self.clock.set(now)


def test_a_timer_fires_when_the_watermark_reaches_it() -> None:
    bench = Timers()
    bench.key("a").register_event_time_timer(10)
    bench.timers.advance_watermark(9)
    assert bench.event == []
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a")]
    bench.timers.advance_watermark(20)
    assert bench.event == [(10, "a")]


def test_w_52_once_per_key_and_time() -> None:
    bench = Timers()
    for _ in range(3):
        bench.key("a").register_event_time_timer(10)
    bench.key("b").register_event_time_timer(10)
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a"), (10, "b")]


def test_w_52_in_processing_time() -> None:
    bench = Timers()
    for _ in range(3):
        bench.key("a").register_processing_time_timer(10)
    bench.key("b").register_processing_time_timer(10)
    bench.run_to(10)
    assert bench.processing == [(10, "a"), (10, "b")]


def test_w_53_deleting_a_missing_timer_is_no_error() -> None:
    bench = Timers()
    bench.key("a").delete_event_time_timer(10)
    bench.key("a").delete_processing_time_timer(10)
    bench.key("a").register_event_time_timer(10)
    bench.key("b").delete_event_time_timer(10)
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a")]


def test_a_deleted_timer_does_not_fire() -> None:
    bench = Timers()
    bench.key("a").register_event_time_timer(10)
    bench.key("a").register_event_time_timer(11)
    bench.key("a").delete_event_time_timer(10)
    bench.timers.advance_watermark(20)
    assert bench.event == [(11, "a")]


def test_the_two_domains_do_not_mix() -> None:
    bench = Timers()
    bench.key("a").register_event_time_timer(10)
    bench.key("a").register_processing_time_timer(10)
    bench.key("a").delete_processing_time_timer(10)
    bench.run_to(10)
    assert bench.processing == []
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a")]


def test_timers_fire_in_the_order_of_time() -> None:
    bench = Timers()
    for timestamp in (30, 10, 20):
        bench.key("a").register_event_time_timer(timestamp)
    bench.timers.advance_watermark(100)
    assert bench.event == [(10, "a"), (20, "a"), (30, "a")]


def test_a_timer_in_the_past_fires_with_the_next_watermark() -> None:
    bench = Timers()
    bench.timers.advance_watermark(100)
    bench.key("a").register_event_time_timer(50)
    assert bench.event == []
    bench.timers.advance_watermark(101)
    assert bench.event == [(50, "a")]


def test_a_timer_registered_in_a_callback_fires_in_the_same_advance() -> None:
    def chain(bench: Timers, timestamp: int, key: Any) -> None:
        if timestamp < 40:
            bench.timers.register_event_time_timer(timestamp + 10)

    bench = Timers(chain)
    bench.key("a").register_event_time_timer(10)
    bench.timers.advance_watermark(35)
    assert bench.event == [(10, "a"), (20, "a"), (30, "a")]
    bench.timers.advance_watermark(100)
    assert bench.event[3:] == [(40, "a")]


def test_a_callback_may_delete_a_timer_of_the_same_time() -> None:
    def delete_b(bench: Timers, timestamp: int, key: Any) -> None:
        bench.key("b").delete_event_time_timer(timestamp)

    bench = Timers(delete_b)
    bench.key("a").register_event_time_timer(10)
    bench.key("b").register_event_time_timer(10)
    bench.key("c").register_event_time_timer(10)
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a"), (10, "c")]


def test_a_callback_may_register_for_another_key_at_the_same_time() -> None:
    def add_b(bench: Timers, timestamp: int, key: Any) -> None:
        if key == "a":
            bench.key("b").register_event_time_timer(timestamp)

    bench = Timers(add_b)
    bench.key("a").register_event_time_timer(10)
    bench.timers.advance_watermark(10)
    assert bench.event == [(10, "a"), (10, "b")]


def test_the_watermark_is_known_to_the_callback() -> None:
    seen: list[int] = []
    bench = Timers(lambda bench, _timestamp, _key: seen.append(bench.timers.current_watermark))
    bench.key("a").register_event_time_timer(10)
    bench.timers.advance_watermark(15)
    assert seen == [15]


def test_deleting_the_first_processing_timer_does_not_lose_the_next() -> None:
    bench = Timers()
    bench.key("a").register_processing_time_timer(10)
    bench.key("a").delete_processing_time_timer(10)
    bench.key("a").register_processing_time_timer(20)
    bench.run_to(30)
    assert bench.processing == [(20, "a")]


def test_an_earlier_processing_timer_fires_first() -> None:
    bench = Timers()
    bench.key("a").register_processing_time_timer(30)
    bench.key("a").register_processing_time_timer(10)
    bench.run_to(10)
    assert bench.processing == [(10, "a")]
    bench.run_to(30)
    assert bench.processing == [(10, "a"), (30, "a")]


def test_a_processing_timer_registered_in_a_callback_fires_when_due() -> None:
    def again(bench: Timers, timestamp: int, key: Any) -> None:
        bench.timers.register_processing_time_timer(timestamp + 10)

    bench = Timers(again)
    bench.key("a").register_processing_time_timer(10)
    bench.run_to(35)
    assert bench.processing == [(10, "a"), (20, "a"), (30, "a")]


def test_deleted_timers_do_not_pile_up() -> None:
    """A session that is prolonged a million times registers and deletes as often."""
    queue = TimerQueue()
    for timestamp in range(10_000):
        queue.add(timestamp, "a", None)
        if timestamp:
            queue.remove(timestamp - 1, "a", None)
    assert len(queue) == 1
    assert len(queue._heap) < 200
    assert queue.first() == 9_999


def test_one_heap_entry_for_all_keys_of_a_time() -> None:
    queue = TimerQueue()
    for key in range(1000):
        queue.add(10, key, None)
    assert len(queue) == 1000
    assert len(queue._heap) == 1


def test_a_snapshot_lists_every_timer() -> None:
    queue = TimerQueue()
    queue.add(20, "a", "window")
    queue.add(10, "b", None)
    queue.add(10, "a", None)
    queue.add(30, "a", None)
    queue.remove(30, "a", None)
    assert sorted(queue.snapshot(), key=str) == [(10, "a", None), (10, "b", None), (20, "a", "window")]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "fire"]), st.integers(0, 30), st.integers(0, 3)), max_size=80
)


@given(OPERATIONS)
def test_the_queue_behaves_like_a_sorted_set(operations: list[tuple[str, int, int]]) -> None:
    queue = TimerQueue()
    expected: set[tuple[int, int]] = set()
    for kind, timestamp, key in operations:
        if kind == "add":
            queue.add(timestamp, key, None)
            expected.add((timestamp, key))
        elif kind == "remove":
            queue.remove(timestamp, key, None)
            expected.discard((timestamp, key))
        else:
            fired: list[tuple[int, int]] = []
            queue.fire_up_to(timestamp, one_by_one(lambda time, owner, _, fired=fired: fired.append((time, owner))))
            due = {timer for timer in expected if timer[0] <= timestamp}
            assert set(fired) == due
            assert len(fired) == len(due)
            assert [time for time, _ in fired] == sorted(time for time, _ in fired)
            expected -= due
        assert len(queue) == len(expected)
        assert queue.first() == min((time for time, _ in expected), default=None)
