"""The harness itself: what goes in, what can be seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.graph.steps import ProcessStep
from penstock.testing import ManualClock, OperatorHarness
from penstock.vocabulary.functions.basic import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
)
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.vocabulary.functions.windowed import ProcessAllWindowFunction
from penstock.vocabulary.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.windows.assigners import TumblingEventTimeWindows


class Keep(KeyedProcessFunction[Any, Any, Any]):
    """Keeps what it sees in every kind of state and sets timers in both kinds of time."""

    value = ValueStateDescriptor("value", default_value=-1)
    items = ListStateDescriptor("items")
    table = MapStateDescriptor("table")
    total = ReducingStateDescriptor("total", lambda a, b: a + b)
    tag = OutputTag("side")

    def open(self, runtime_context: Any) -> None:
        self.states = (
            runtime_context.get_state(self.value),
            runtime_context.get_list_state(self.items),
            runtime_context.get_map_state(self.table),
            runtime_context.get_reducing_state(self.total),
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        number = value[1]
        single, items, table, total = self.states
        single.update(number)
        items.add(number)
        table.put(number, True)
        total.add(number)
        ctx.timer_service().register_event_time_timer(number)
        ctx.timer_service().register_processing_time_timer(number * 10)
        yield self.tag, number

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp, ctx.timer_service().current_processing_time()


class ByName(KeySelector[Any, Any]):
    def get_key(self, value: Any) -> Any:
        return value[0]


def test_a_process_function_with_state_timers_and_side_output() -> None:
    with OperatorHarness.for_process(Keep(), key=ByName()) as harness:
        harness.push(("a", 5), 100)
        harness.push_run([(("b", 7), 101), (("a", 6), 102)])
        assert harness.side_output(Keep.tag) == [(5, 100), (7, 101), (6, 102)]
        assert harness.outputs == []
        assert harness.event_timers() == [(5, "a", None), (6, "a", None), (7, "b", None)]
        assert [timer[0] for timer in harness.processing_timers()] == [50, 60, 70]
        assert harness.state(Keep.value, "a") == 6
        assert harness.state(Keep.items, "a") == [5, 6]
        assert harness.state(Keep.table, "b") == {7: True}
        assert harness.state(Keep.total, "a") == 11
        assert harness.state_keys(Keep.items) == ["a", "b"]
        assert [harness.state(kept, "c") for kept in (Keep.value, Keep.items, Keep.table, Keep.total)] == [
            -1,
            [],
            {},
            None,
        ]
        harness.push_watermark(6)
        assert harness.take_outputs() == [(("a", "EVENT_TIME", 5, 0), 5), (("a", "EVENT_TIME", 6, 0), 6)]
        harness.advance(65)
        assert harness.take_outputs() == [
            (("a", "PROCESSING_TIME", 50, 50), None),
            (("a", "PROCESSING_TIME", 60, 60), None),
        ]
        assert harness.clock.now() == 65
        harness.end()
        assert harness.values == [("b", "EVENT_TIME", 7, 65)]
        assert harness.watermarks == [6, 2**63 - 1]


def test_looking_at_state_does_not_disturb_the_current_key() -> None:
    harness = OperatorHarness.for_process(Keep(), key=ByName())
    harness.push(("a", 5), 1)
    harness.state(Keep.value, "b")
    harness.state(Keep.value, "a")
    assert harness._keys.key == "a"


def test_an_unkeyed_process_function() -> None:
    class Echo(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    harness = OperatorHarness.for_process(Echo())
    harness.push("x")
    harness.push_watermark(9)
    harness.push("y", 10)
    harness.push_status(is_idle=True)
    assert harness.outputs == [(("x", None, -(2**63)), None), (("y", 10, 9), 10)]
    assert harness.statuses == [True]
    assert harness.event_timers() == []


def test_one_record_functions() -> None:
    class Double(MapFunction[int, int]):
        def map(self, value: int) -> int:
            return value * 2

    class Twice(FlatMapFunction[int, int]):
        def flat_map(self, value: int) -> Iterable[int]:
            yield value
            yield value

    class Even(FilterFunction[int]):
        def filter(self, value: int) -> bool:
            return value % 2 == 0

    class Add(ReduceFunction[int]):
        def reduce(self, value1: int, value2: int) -> int:
            return value1 + value2

    def results(function: Any, **settings: Any) -> list[Any]:
        harness = OperatorHarness.for_function(function, **settings)
        harness.push_run([(1, 10), (2, 20), (3, 30)])
        return harness.outputs

    assert results(Double()) == [(2, 10), (4, 20), (6, 30)]
    assert results(Twice()) == [(1, 10), (1, 10), (2, 20), (2, 20), (3, 30), (3, 30)]
    assert results(Even()) == [(2, 20)]
    assert results(Add(), key=lambda number: number % 2) == [(1, 10), (2, 20), (4, 30)]


def test_windows_over_everything_and_keyed_ones() -> None:
    class Size(ProcessAllWindowFunction[Any, Any, Any]):
        def process(self, context: Any, elements: Iterable[Any]) -> Any:
            yield len(list(elements))

    harness = OperatorHarness.for_window(TumblingEventTimeWindows.of(10), function=Size(), clock=ManualClock(500))
    harness.push_run([("a", 1), ("b", 2)])
    harness.push_watermark(9)
    assert harness.outputs == [(2, 9)]
    assert harness.clock.now() == 500
    keyed = OperatorHarness.for_window(TumblingEventTimeWindows.of(10), key=lambda value: value, reduce=min)
    keyed.push_run([("a", 1), ("b", 2)])
    keyed.push_watermark(9)
    assert keyed.outputs == [("a", 9), ("b", 9)]


def test_a_step_of_a_job() -> None:
    harness = OperatorHarness.for_step(ProcessStep(function=Keep(), key=ByName().get_key), name="keep")
    harness.push(("a", 1), 1)
    assert harness.side_output(OutputTag("side")) == [(1, 1)]


def test_what_cannot_be_harnessed_is_explained() -> None:
    with pytest.raises(ProgramError, match="give the harness a key"):
        OperatorHarness.for_process(Keep())
    with pytest.raises(ProgramError, match=r"for_function\(\) takes one of MapFunction"):
        OperatorHarness.for_function(len)
    with pytest.raises(ProgramError, match="either reduce or aggregate"):
        OperatorHarness.for_window(TumblingEventTimeWindows.of(10), reduce=min, aggregate=Keep())
    with pytest.raises(TypeError, match="one input"):
        OperatorHarness.for_process(Keep(), key=ByName()).push_second("x")
