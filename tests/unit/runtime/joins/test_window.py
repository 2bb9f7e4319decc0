"""Window joins and co-groups: pairs, groups, outer joins, triggers, evictors, lateness."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ProgramError, UserFunctionError
from penstock.graph.multi_input_steps import CoGroupStep, JoinKind, tagged_key
from penstock.runtime.windows.fast.aligned import AlignedWindowOperator
from penstock.runtime.windows.fast.sessions import SessionOperator
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import CoGroupFunction, FlatJoinFunction, JoinFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.windows.assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from penstock.vocabulary.windows.evictors import CountEvictor
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.triggers import CountTrigger, PurgingTrigger, Trigger, TriggerResult
from penstock.vocabulary.windows.windows import TaggedUnion
from tests.unit.runtime.task.stream_bench import collected, environment, timed


def by_key(record: Any) -> Any:
    return record[0]


class Pair(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first and first[1], second and second[1]


class Groups(CoGroupFunction[Any, Any, Any]):
    def co_group(self, first: Any, second: Any) -> Any:
        yield [value[1] for value in first], [value[1] for value in second]


def bench(assigner: Any, kind: JoinKind | None = JoinKind.INNER, function: Any = None, **settings: Any) -> Any:
    step = CoGroupStep(
        key=tagged_key(by_key, by_key),
        input_keys=(by_key, by_key),
        assigner=assigner,
        kind=kind,
        function=function or (Groups() if kind is None else Pair()),
        **settings,
    )
    return OperatorHarness.for_step(step)


def test_pairs_come_out_in_the_order_of_arrival_of_both_sides_at_the_end_of_the_window() -> None:
    harness = bench(TumblingEventTimeWindows.of(10))
    harness.push(("k", "a"), 5)
    harness.push_second(("k", "x"), 1)
    harness.push(("k", "b"), 0)
    harness.push_second(("k", "y"), 9)
    harness.push_second(("other", "z"), 9)
    harness.push_watermark(8)
    assert harness.outputs == []
    harness.push_watermark(9)
    assert harness.outputs == [(("a", "x"), 9), (("a", "y"), 9), (("b", "x"), 9), (("b", "y"), 9)]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JoinKind.INNER, [(1, 1)]),
        (JoinKind.LEFT, [(1, 1), (2, None)]),
        (JoinKind.RIGHT, [(1, 1), (None, 3)]),
        (JoinKind.FULL, [(1, 1), (2, None), (None, 3)]),
    ],
)
def test_outer_joins_let_windows_with_one_side_out(kind: JoinKind, expected: list[Any]) -> None:
    harness = bench(TumblingEventTimeWindows.of(10), kind)
    harness.push(("a", 1), 1)
    harness.push_second(("a", 1), 1)
    harness.push(("b", 2), 2)
    harness.push_second(("c", 3), 3)
    harness.push_watermark(9)
    assert harness.values == expected


def test_flat_joins_and_callables() -> None:
    class Both(FlatJoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any) -> Any:
            yield from (first[1], second[1])

    class BothToCollector(FlatJoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any, out: Any) -> None:  # type: ignore[override]
            out.collect(first[1])
            out.collect(second[1])

    functions = [Both(), BothToCollector(), lambda first, second, out: out.collect(first[1] + second[1])]
    for function, expected in zip([*functions, lambda a, b: a[1] * b[1]], [[2, 3], [2, 3], [5], [6]], strict=True):
        harness = bench(TumblingEventTimeWindows.of(10), function=function)
        harness.push(("a", 2), 1)
        harness.push_second(("a", 3), 1)
        harness.end()
        assert harness.values == expected


def test_co_group_sees_both_groups_even_if_one_is_empty() -> None:
    harness = bench(TumblingEventTimeWindows.of(10), None)
    harness.push(("a", 1), 1)
    harness.push(("a", 2), 1)
    harness.push_second(("a", 3), 1)
    harness.push_second(("b", 4), 1)
    harness.push_watermark(9)
    assert harness.values == [([1, 2], [3]), ([], [4])]


def test_late_records_fire_the_window_again_within_the_allowed_lateness() -> None:
    tag = OutputTag("late")
    harness = bench(TumblingEventTimeWindows.of(10), allowed_lateness=5, late_tag=tag)
    harness.push(("a", 1), 1)
    harness.push_watermark(9)
    assert harness.values == []
    harness.push_second(("a", 2), 2)
    assert harness.values == [(1, 2)]
    harness.push_watermark(14)
    harness.push_second(("a", 3), 3)
    assert harness.values == [(1, 2)]
    assert harness.side_output(tag) == [(TaggedUnion(1, ("a", 3)), 3)]
    assert harness.side_output(tag)[0][0].is_two()
    assert harness.side_output(tag)[0][0].get_two() == ("a", 3)
    assert harness.side_output(tag)[0][0].get_one() is None


class OnSecond(Trigger[Any, Any]):
    """Fires whenever a record of the second stream comes."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if element.is_two() else TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        """Do nothing."""

    def clear(self, window: Any, ctx: Any) -> None:
        """Do nothing."""


def test_triggers_see_which_stream_a_record_came_from() -> None:
    harness = bench(TumblingEventTimeWindows.of(10), trigger=OnSecond())
    harness.push(("a", 1), 1)
    harness.push_second(("a", 2), 1)
    harness.push_second(("a", 3), 1)
    assert harness.values == [(1, 2), (1, 2), (1, 3)]


def test_count_triggers_and_evictors_count_both_sides_together() -> None:
    harness = bench(GlobalWindows.create(), trigger=PurgingTrigger.of(CountTrigger.of(3)))
    harness.push(("a", 1))
    harness.push_second(("a", 2))
    harness.push(("a", 3))
    assert harness.values == [(1, 2), (3, 2)]
    harness = bench(TumblingEventTimeWindows.of(10), None, evictor=CountEvictor.of(2))
    for number in range(3):
        harness.push(("a", number), 1)
    harness.push_second(("a", 7), 1)
    harness.push_watermark(9)
    assert harness.values == [([2], [7])]


def test_processing_time_windows_join_records_without_timestamps() -> None:
    harness = bench(TumblingProcessingTimeWindows.of(100))
    harness.push(("a", 1))
    harness.push_second(("a", 2))
    harness.advance(100)
    assert harness.values == [(1, 2)]


def test_common_windows_are_run_by_the_fast_operators() -> None:
    def built(assigner: Any) -> Any:
        return bench(assigner).operator

    assert isinstance(built(TumblingEventTimeWindows.of(5)), AlignedWindowOperator)
    assert isinstance(built(EventTimeSessionWindows.with_gap(5)), SessionOperator)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_program_with_joins_and_co_groups(parallelism: int) -> None:
    env = environment(parallelism)
    first = timed(env, *[(f"k{number % 3}", number) for number in range(20)])
    second = timed(env, *[(number, f"k{number % 3}") for number in range(5, 20)], time=lambda record: record[0])
    window = TumblingEventTimeWindows.of(6)

    def joined(call: Any) -> Any:
        return (
            call(second)
            .where(0)
            .equal_to(lambda record: record[1])
            .window(window)
            .apply(lambda a, b: (a and a[1], b and b[0]))
        )

    inner, left = joined(first.join), joined(first.left_outer_join)
    right, full = joined(first.right_outer_join), joined(first.full_outer_join)
    groups = first.co_group(second).where(0).equal_to(1).window(window).apply(lambda a, b: [(len(a), len(b))])
    found = collected(inner, left, right, full, groups)
    pairs = [(a, b) for a in range(20) for b in range(5, 20) if a % 3 == b % 3 and a // 6 == b // 6]
    lonely = [(a, None) for a in range(20) if a not in [pair[0] for pair in pairs]]
    assert sorted(found[0]) == sorted(found[2]) == pairs
    assert sorted(found[1], key=str) == sorted(found[3], key=str) == sorted(pairs + lonely, key=str)
    counts = {
        (window_number, key): (
            sum(1 for a in range(20) if a // 6 == window_number and a % 3 == key),
            sum(1 for b in range(5, 20) if b // 6 == window_number and b % 3 == key),
        )
        for window_number in range(4)
        for key in range(3)
    }
    assert sorted(found[4]) == sorted(count for count in counts.values() if count != (0, 0))


def test_wrong_programs_are_refused() -> None:
    env = environment()
    stream = env.from_elements(("a", 1))
    window = stream.join(stream).where(0).equal_to(0).window(TumblingEventTimeWindows.of(5))
    with pytest.raises(ProgramError, match="JoinFunction"):
        window.apply(Groups())
    with pytest.raises(ProgramError, match="must not be negative"):
        window.allowed_lateness(-1)
    with pytest.raises(ProgramError, match="WindowAssigner"):
        stream.join(stream).where(0).equal_to(0).window(5)
    with pytest.raises(ProgramError, match="cannot be used with windows that merge"):
        stream.join(stream).where(0).equal_to(0).window(EventTimeSessionWindows.with_gap(5)).trigger(OnSecond())
    with pytest.raises(ProgramError, match="needs a stream"):
        stream.co_group("x")  # type: ignore[arg-type]


def test_a_failure_names_the_join_function() -> None:
    class Broken(JoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any) -> Any:
            raise RuntimeError("no such goods")

    env = environment()
    stream = timed(env, ("a", 1))
    window = stream.join(stream).where(0).equal_to(0).window(TumblingEventTimeWindows.of(5))
    with pytest.raises(UserFunctionError, match=r"(?s)no such goods.*function.*Broken"):
        collected(window.apply(Broken()))


def test_functions_are_opened_and_closed_once() -> None:
    calls = []

    class Counting(Pair):
        def open(self, runtime_context: Any) -> None:
            calls.append(("open", runtime_context.get_index_of_this_subtask()))

        def close(self) -> None:
            calls.append("close")

    harness = bench(TumblingEventTimeWindows.of(5), function=Counting())
    harness.close()
    assert calls == [("open", 0), "close"]


RECORDS = st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(-10, 20)), max_size=30)


@given(RECORDS, st.integers(1, 7), st.integers(1, 7), st.sampled_from(JoinKind))
@settings(deadline=None)
def test_sliding_joins_equal_a_nested_loop_over_windows(
    records: list[tuple[bool, str, int]], size: int, slide: int, kind: JoinKind
) -> None:
    harness = bench(SlidingEventTimeWindows.of(size, slide), kind)
    for is_left, key, time in records:
        (harness.push if is_left else harness.push_second)((key, time), time)
    harness.end()
    expected = []
    for start in range(-20, 30):
        if start % slide:
            continue
        for key in "ab":
            inside = [(is_left, time) for is_left, k, time in records if k == key and start <= time < start + size]
            lefts = [time for is_left, time in inside if is_left]
            rights = [time for is_left, time in inside if not is_left]
            found: list[Any] = [(a, b) for a in lefts for b in rights]
            if kind.keeps_left and not rights:
                found += [(a, None) for a in lefts]
            if kind.keeps_right and not lefts:
                found += [(None, b) for b in rights]
            expected += [(pair, start + size - 1) for pair in found]
    assert sorted(harness.outputs, key=str) == sorted(expected, key=str)
