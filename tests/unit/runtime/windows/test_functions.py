"""How window functions are called, what their context offers, and what they may keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions.basic import ReduceFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.windowed import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.vocabulary.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.windows import TimeWindow
from tests.unit.runtime.windows.window_bench import KINDS, Contents, Count, left_behind, restore, window_harness

pytestmark = pytest.mark.parametrize("kind", KINDS)
FIVE = TumblingEventTimeWindows.of(5000)


def run(kind: str, records: Iterable[tuple[Any, int]] = (), **settings: Any) -> list[tuple[Any, int | None]]:
    harness = window_harness(kind, settings.pop("assigner", FIVE), **settings)
    harness.push_run(records or [(("a", 1), 1000), (("b", 2), 2000), (("a", 3), 3000)])
    harness.end()
    return harness.outputs


def test_window_function_gets_key_window_and_elements(kind: str) -> None:
    class Apply(WindowFunction[Any, Any, Any, Any]):
        def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Any:
            yield key, window, [number for _, number in inputs]

    window = TimeWindow(0, 5000)
    assert run(kind, function=Apply()) == [(("a", window, [1, 3]), 4999), (("b", window, [2]), 4999)]
    assert [value for value, _ in run(kind, function=PassThroughWindowFunction())] == [("a", 1), ("a", 3), ("b", 2)]


def test_functions_over_all_windows_get_no_key(kind: str) -> None:
    class Process(ProcessAllWindowFunction[Any, Any, Any]):
        def process(self, context: Any, elements: Iterable[Any]) -> Any:
            yield context.window().end, len(list(elements))

    class Apply(AllWindowFunction[Any, Any, Any]):
        def apply(self, window: Any, inputs: Iterable[Any]) -> Any:
            return [(window.end, len(list(inputs)))]

    all_windows: dict[str, Any] = {"key": lambda _: 0, "is_keyed": False}
    assert run(kind, function=Process(), **all_windows) == [((5000, 3), 4999)]
    assert run(kind, function=Apply(), **all_windows) == [((5000, 3), 4999)]
    passed = run(kind, function=PassThroughAllWindowFunction(), **all_windows)
    assert [value for value, _ in passed] == [("a", 1), ("b", 2), ("a", 3)]
    plain = run(kind, function=lambda window, inputs: [len(list(inputs))], **all_windows)
    assert plain == [(3, 4999)]


def test_w_39_window_all_is_windows_under_one_key(kind: str) -> None:
    class All(ProcessAllWindowFunction[Any, Any, Any]):
        def process(self, context: Any, elements: Iterable[Any]) -> Any:
            yield context.window(), list(elements)

    class Keyed(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            yield context.window(), list(elements)

    records = [((name, moment), moment * 700) for moment, name in enumerate("abcabcdabcdaab")]
    for assigner in (FIVE, SlidingEventTimeWindows.of(3000, 1000), EventTimeSessionWindows.with_gap(800)):
        over_all = run(kind, records, assigner=assigner, function=All(), key=lambda _: 0, is_keyed=False)
        assert over_all == run(kind, records, assigner=assigner, function=Keyed(), key=lambda _: "const")


def test_a_collector_may_be_asked_for(kind: str) -> None:
    class Process(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any], out: Any) -> Any:  # type: ignore[override]
            for element in elements:
                out.collect(element[1] * 10)

    class Apply(WindowFunction[Any, Any, Any, Any]):
        def apply(self, key: Any, window: Any, inputs: Iterable[Any], out: Any) -> Any:  # type: ignore[override]
            out.collect(key)

    assert [value for value, _ in run(kind, function=Process())] == [10, 30, 20]
    assert [value for value, _ in run(kind, function=Apply())] == ["a", "b"]


def test_side_outputs_by_yield_and_by_call(kind: str) -> None:
    tag, other = OutputTag("tag"), OutputTag("other")

    class Process(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            context.output(other, key.upper())
            yield OutputTag("tag"), key
            yield key

    harness = window_harness(kind, FIVE, function=Process())
    harness.push_run([(("a", 1), 1000), (("b", 2), 2000)])
    harness.push_watermark(4999)
    assert harness.outputs == [("a", 4999), ("b", 4999)]
    assert harness.side_output(tag) == [("a", 4999), ("b", 4999)]
    assert harness.side_output(other) == [("A", 4999), ("B", 4999)]


def test_a_function_may_return_nothing(kind: str) -> None:
    class Silent(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            return None

    assert run(kind, function=Silent()) == []


def test_the_elements_belong_to_the_function(kind: str) -> None:
    class Greedy(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield len(elements)
            elements.clear()

    harness = window_harness(kind, FIVE, function=Greedy(), allowed_lateness=1000)
    harness.push_run([(("a", 1), 1000), (("a", 2), 2000)])
    harness.push_watermark(4999)
    harness.push(("a", 3), 1000)
    assert harness.values == [2, 3]


def test_reduce_functions_may_be_objects_with_a_life_cycle(kind: str) -> None:
    calls: list[str] = []

    class Largest(ReduceFunction[Any]):
        def open(self, runtime_context: Any) -> None:
            calls.append(runtime_context.get_task_name())

        def close(self) -> None:
            calls.append("closed")

        def reduce(self, value1: Any, value2: Any) -> Any:
            return max(value1, value2)

    class Function(Contents):
        def open(self, runtime_context: Any) -> None:
            calls.append("function")

    with window_harness(kind, FIVE, reducer=Largest(), function=Function()) as harness:
        harness.push_run([(("a", 1), 1000), (("a", 3), 2000)])
        harness.end()
        assert harness.values == [("a", 0, 5000, [("a", 3)])]
    assert calls == ["windows", "function", "closed"]


class Remembering(ProcessWindowFunction[Any, Any, Any, Any]):
    """Counts its calls per window and per key, and frees what it keeps per window."""

    calls = ValueStateDescriptor("calls", default_value=0)
    total = ReducingStateDescriptor("total", lambda a, b: a + b)
    windows = ListStateDescriptor("windows")
    sizes = MapStateDescriptor("sizes")

    def __init__(self) -> None:
        self.cleared: list[Any] = []

    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Any:
        count = len(list(elements))
        calls = context.window_state().get_state(self.calls)
        calls.update(calls.value() + 1)
        context.window_state().get_map_state(self.sizes).put(calls.value(), count)
        total = context.global_state().get_reducing_state(self.total)
        total.add(count)
        context.global_state().get_list_state(self.windows).add(context.window().start)
        sizes = dict(context.window_state().get_map_state(self.sizes).items())
        yield key, context.window().start, calls.value(), sizes, total.get()

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        self.cleared.append((context.window().start, context.window_state().get_state(self.calls).value()))
        context.window_state().get_state(self.calls).clear()
        context.window_state().get_map_state(self.sizes).clear()


@pytest.mark.parametrize("lateness", [0, 1000])
def test_per_window_and_global_state(kind: str, lateness: int) -> None:
    function = Remembering()
    harness = window_harness(kind, FIVE, function=function, allowed_lateness=lateness)
    harness.push_run([(("a", 1), 1000), (("b", 2), 2000), (("a", 3), 6000)])
    harness.push_watermark(4999)
    expected = [("a", 0, 1, {1: 1}, 1), ("b", 0, 1, {1: 1}, 1)]
    assert harness.values == expected
    if lateness:
        assert function.cleared == []
        harness.push(("a", 4), 1000)
        expected.append(("a", 0, 2, {1: 1, 2: 2}, 3))
        assert harness.values == expected
        assert harness.state(Remembering.calls, "a", TimeWindow(0, 5000)) == 2
    harness.push_watermark(5999)
    assert function.cleared == [(0, 1 + bool(lateness)), (0, 1)]
    assert left_behind(harness) == {"window-contents": {TimeWindow(5000, 10_000)}}
    harness.end()
    assert harness.state(Remembering.windows, "a") == [0, *([0] if lateness else []), 5000]
    assert harness.state(Remembering.total, "b") == 1
    assert left_behind(harness) == {}


def test_sessions_have_global_state_but_none_per_window(kind: str) -> None:
    class Global(ProcessWindowFunction[Any, Any, Any, Any]):
        cleared = 0

        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            seen = context.global_state().get_state(ValueStateDescriptor("seen", default_value=0))
            seen.update(seen.value() + 1)
            yield seen.value()

        def clear(self, context: Any) -> None:
            self.cleared += 1

    function = Global()
    harness = window_harness(kind, EventTimeSessionWindows.with_gap(1000), function=function)
    harness.push_run([(("a",), 1000), (("a",), 1500), (("a",), 9000)])
    harness.end()
    assert harness.values == [1, 2]
    assert function.cleared == 2
    harness = window_harness(kind, EventTimeSessionWindows.with_gap(1000), function=Remembering())
    harness.push(("a",), 1000)
    with pytest.raises(ProgramError, match=r"Per-window state is not available with windows that merge"):
        harness.end()


def test_the_context_tells_the_time(kind: str) -> None:
    class Times(ProcessWindowFunction[Any, Any, Any, Any]):
        def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
            yield context.current_watermark(), context.current_processing_time()

    harness = window_harness(kind, FIVE, function=Times())
    harness.push(("a",), 1000)
    harness.advance(77)
    harness.push_watermark(5500)
    assert harness.values == [(5500, 77)]


@pytest.mark.parametrize(
    "assigner", [FIVE, SlidingEventTimeWindows.of(4000, 2000), EventTimeSessionWindows.with_gap(1000)], ids=repr
)
def test_a_restored_operator_goes_on_where_the_snapshot_was_taken(kind: str, assigner: Any) -> None:
    """Keyed state and timers are all there is; both operators write and read the same."""
    first = [(("a", 1), 1000), (("b", 2), 1500), (("a", 3), 1700), (("a", 9), 5000)]
    second = [(("a", 4), 2000), (("b", 5), 5500), (("c", 6), 100)]
    whole = window_harness(kind, assigner, reducer=Count(), function=Contents())
    whole.push_run(first)
    whole.push_run(second)
    whole.end()
    for target in KINDS:
        before = window_harness(kind, assigner, reducer=Count(), function=Contents())
        before.push_run(first)
        after = window_harness(target, assigner, reducer=Count(), function=Contents())
        restore(after, before)
        after.push_run(second)
        after.end()
        assert sorted(after.outputs) == sorted(whole.outputs)
        assert left_behind(after) == {}


def test_windows_that_fired_before_a_snapshot_do_not_fire_by_themselves_again(kind: str) -> None:
    old = window_harness(kind, FIVE, reducer=Count(), allowed_lateness=5000)
    old.push_run([(("a",), 1000), (("b",), 1000)])
    old.push_watermark(5000)
    assert old.values == [1, 1]
    new = window_harness(kind, FIVE, reducer=Count(), allowed_lateness=5000)
    restore(new, old)
    new.push(("a",), 2000)
    new.push_watermark(6000)
    new.push_watermark(9999)
    assert new.values == [2]
    assert left_behind(new) == {}
