"""Harnesses of operators with two inputs: connected functions, broadcast state, joins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    MapStateDescriptor,
    OutputTag,
    ProcessJoinFunction,
    TumblingEventTimeWindows,
    ValueStateDescriptor,
    Watermark,
)
from penstock.testing import Emitted, OperatorHarness, StatusChange

RULES = MapStateDescriptor("rules")
SEEN = ValueStateDescriptor("seen")


class Meet(KeyedCoProcessFunction[Any, Any, Any, Any]):
    """Keeps what the second input said of a key and tells the first; says at time 100 how it ended."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(SEEN)

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value, self.seen.value()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.seen.update(value[1])
        ctx.timer_service().register_event_time_timer(100)
        return []

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "end", ctx.get_current_key(), timestamp


def test_a_keyed_co_process_function() -> None:
    with OperatorHarness.for_connected(Meet(), first_key=0, second_key=0) as harness:
        harness.push(("a", 1), 10)
        harness.push_second(("a", 2), 20)
        harness.push(("a", 3), 30)
        harness.push_second_run([(("b", 4), 40)])
        assert harness.values == [(("a", 1), None), (("a", 3), 2)]
        assert harness.state(SEEN, "b") == 4
        assert harness.state_entry_count() == 2
        assert harness.event_timers() == [(100, "a", None), (100, "b", None)]


def test_event_time_is_that_of_the_slower_input() -> None:
    with OperatorHarness.for_connected(Meet(), first_key=0, second_key=0) as harness:
        harness.push_second(("a", 2), 20)
        harness.push_second_watermark(200)
        assert harness.log == []
        harness.push_first_watermark(99)
        assert harness.take_log() == [Watermark(99)]
        harness.push_first_status(is_idle=True)  # nobody holds the second input's watermark up any more
        assert harness.take_log() == [Emitted(("end", "a", 100), 100), Watermark(200)]
        harness.push_second_status(is_idle=True)
        assert harness.take_log() == [StatusChange(True)]
        harness.push_status(is_idle=False)
        assert harness.statuses == [True, False]


def test_co_map_and_co_flat_map() -> None:
    class Sides(CoMapFunction[Any, Any, Any]):
        def map1(self, value: Any) -> Any:
            return "left", value

        def map2(self, value: Any) -> Any:
            return "right", value

    class Copies(CoFlatMapFunction[Any, Any, Any]):
        def flat_map1(self, value: Any) -> Any:
            yield from [value, value]

        def flat_map2(self, value: Any) -> Any:
            return []

    with OperatorHarness.for_connected(Sides()) as sides, OperatorHarness.for_connected(Copies()) as copies:
        for harness in (sides, copies):
            harness.push("x", 1)
            harness.push_second("y", 2)
        assert sides.outputs == [(("left", "x"), 1), (("right", "y"), 2)]
        assert copies.outputs == [("x", 1), ("x", 1)]


def test_broadcast_state() -> None:
    class Price(BroadcastProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.get_broadcast_state(RULES).get(value)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(*value)
            return []

    with OperatorHarness.for_broadcast(Price(), RULES) as harness:
        harness.push("tea")
        harness.push_second(("tea", 3))
        harness.push("tea")
        assert harness.values == [("tea", None), ("tea", 3)]
        assert harness.operator_state(RULES) == {"tea": 3}
        snapshot = harness.snapshot()
    # Broadcast state goes to every subtask, however many there are.
    for subtask in range(3):
        with OperatorHarness.for_broadcast(Price(), RULES, parallelism=3, subtask=subtask, restore=snapshot) as harness:
            harness.push("tea")
            assert harness.values == [("tea", 3)]


def test_keyed_broadcast_state() -> None:
    class Limit(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
        def open(self, runtime_context: Any) -> None:
            self.seen = runtime_context.get_state(SEEN)

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.seen.update((self.seen.value() or 0) + 1)
            if self.seen.value() > (ctx.get_broadcast_state(RULES).get("limit") or 0):
                yield value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put("limit", value)
            return []

    with OperatorHarness.for_broadcast(Limit(), RULES, key=lambda word: word) as harness:
        harness.push_second(1)
        for word in ("a", "b", "a"):
            harness.push(word)
        assert harness.values == ["a"]
        assert harness.state_entry_count(SEEN) == 2


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right, ctx.get_timestamp()


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
def test_an_interval_join(backend: Any) -> None:
    late = OutputTag("late")
    with OperatorHarness.for_interval_join(
        Pair(), first_key=0, second_key=0, lower=-10, upper=20, right_late_tag=late, state_backend=backend()
    ) as harness:
        harness.push(("k", "l"), 100)
        for time in (89, 90, 120, 121):
            harness.push_second(("k", time), time)
        # left + lower <= right <= left + upper, both ends included
        assert [(right[1], time) for _, right, time in harness.values] == [(90, 100), (120, 120)]
        assert harness.state_entry_count() == 2  # each side has one for the key
        harness.push_watermark(130)
        assert harness.state_entry_count() == 1  # the right record of 121 may find a left one of 131
        harness.push_second(("k", 50), 50)
        assert harness.side_output(late) == [(("k", 50), 50)]
        harness.push_watermark(200)
        assert harness.state_entry_count() == 0


@pytest.mark.parametrize("is_group", [False, True])
def test_a_window_join_and_a_co_group(is_group: bool) -> None:
    class Sizes(CoGroupFunction[Any, Any, Any]):
        def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Any:
            yield len(list(first)), len(list(second))

    function: Any = Sizes() if is_group else (lambda left, right: (left[1], right[1]))
    assigner = TumblingEventTimeWindows.of(10)
    with OperatorHarness.for_window_join(assigner, function, first_key=0, second_key=0) as harness:
        harness.push_run([(("k", 1), 1), (("k", 2), 2)])
        harness.push_second(("k", 3), 3)
        harness.push_first_watermark(9)
        assert harness.outputs == []
        harness.push_second_watermark(9)
        assert harness.outputs == ([((2, 1), 9)] if is_group else [((1, 3), 9), ((2, 3), 9)])


def test_a_join_without_windows_from_streams() -> None:
    with OperatorHarness.for_stream(
        lambda left, right: (
            left.left_outer_join(right).where(0).equal_to(0).without_window(1000).apply(lambda a, b: (a, b))
        )
    ) as harness:
        harness.push(("k", 1))
        assert harness.values == [(("k", 1), None)]
        harness.push_second(("k", 2))
        assert harness.values[1:] == [(("k", 1), ("k", 2))]
        harness.advance(1001)
        harness.push_second(("k", 3))
        assert harness.values[2:] == []  # the left record's time to live is over


def test_an_operator_with_one_input_has_no_second_one() -> None:
    with OperatorHarness.for_map(str) as harness:
        for call in (
            lambda: harness.push_second(1),
            lambda: harness.push_second_watermark(1),
            lambda: harness.push_second_status(is_idle=True),
        ):
            with pytest.raises(TypeError, match="one input"):
                call()
