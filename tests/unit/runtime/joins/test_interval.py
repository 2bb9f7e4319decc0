"""Interval joins: which pairs come out, with which timestamp, and what is kept for how long."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import MissingTimestampError, ProgramError
from penstock.graph.multi_input_steps import IntervalJoinStep, JoinKind
from penstock.runtime.joins.buffer import HeapJoinBuffer, StateJoinBuffer, join_buffer
from penstock.runtime.joins.interval import IntervalJoinOperator
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import ProcessJoinFunction
from penstock.vocabulary.state.descriptors import MapStateDescriptor
from penstock.vocabulary.time.durations import Time
from tests.unit.runtime.task.stream_bench import collected, environment, timed

END = 2**63 - 1


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left and left[1], right and right[1]


def by_key(record: Any) -> Any:
    return record[0]


def join(lower: int, upper: int, kind: JoinKind = JoinKind.INNER, function: Any = None, **tags: Any) -> OperatorHarness:
    step = IntervalJoinStep(
        function=function or Pair(), key=by_key, second_key=by_key, lower=lower, upper=upper, kind=kind, **tags
    )
    return OperatorHarness.for_step(step)


def left(harness: OperatorHarness, time: int, key: str = "k") -> None:
    harness.push((key, time), time)


def right(harness: OperatorHarness, time: int, key: str = "k") -> None:
    harness.push_second((key, time), time)


def buffered(harness: OperatorHarness) -> dict[str, list[int]]:
    operator = harness.operator
    assert isinstance(operator, IntervalJoinOperator)
    found = {}
    for side in (operator._left, operator._right):
        assert isinstance(side.buffer, HeapJoinBuffer)
        found[side.name] = sorted(time for entries in side.buffer.entries.values() for time, _ in entries)
    return found


def test_only_equal_keys_are_paired_and_results_have_the_later_timestamp() -> None:
    harness = join(-5, 5)
    left(harness, 10, "a")
    right(harness, 12, "b")
    right(harness, 8, "a")
    right(harness, 13, "a")
    assert harness.outputs == [((10, 8), 10), ((10, 13), 13)]


def test_equal_records_are_all_paired() -> None:
    harness = join(0, 0)
    left(harness, 1)
    left(harness, 1)
    right(harness, 1)
    right(harness, 1)
    assert harness.values == [(1, 1)] * 4


def test_both_bounds_may_be_negative() -> None:
    harness = join(-4, -2)
    for time in (1, 2, 3, 4, 5):
        right(harness, time)
    left(harness, 6)
    assert harness.values == [(6, 2), (6, 3), (6, 4)]


def test_the_context_knows_both_timestamps_and_side_outputs() -> None:
    tag = OutputTag("pairs")

    class Tell(ProcessJoinFunction[Any, Any, Any]):
        def process_element(self, left: Any, right: Any, ctx: Any, out: Any) -> None:  # type: ignore[override]
            ctx.output(tag, "side")
            out.collect((ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()))

    harness = join(0, 5, function=Tell())
    right(harness, 7)
    left(harness, 4)
    assert harness.outputs == [((4, 7, 7), 7)]
    assert harness.side_output(tag) == [("side", 7)]


def test_the_watermark_cleans_up_both_sides() -> None:
    harness = join(-2, 8)
    left(harness, 10)
    right(harness, 10)
    harness.push_watermark(11)
    assert buffered(harness) == {"left": [10], "right": [10]}
    harness.push_watermark(17)
    assert buffered(harness)["left"] == [10]
    harness.push_watermark(20)
    assert buffered(harness) == {"left": [], "right": []}
    assert harness.operator.snapshot_timers() == []


def test_a_partner_whose_time_is_over_is_gone_whether_cleaned_up_yet_or_not() -> None:
    harness = join(-100, 100)
    left(harness, 0)
    harness.push_watermark(100)
    right(harness, 100)
    assert harness.values == []


def test_state_is_bounded_while_the_watermark_advances() -> None:
    harness = join(-10, 10)
    most = 0
    for time in range(0, 5000, 2):
        left(harness, time, f"k{time % 7}")
        right(harness, time + 1, f"k{time % 7}")
        harness.push_watermark(time - 5)
        kept = buffered(harness)
        most = max(most, len(kept["left"]) + len(kept["right"]))
    assert most <= 50


def test_late_records_are_dropped_and_counted() -> None:
    harness = join(-5, 5)
    left(harness, 10)
    harness.push_watermark(12)
    right(harness, 11)
    right(harness, 12)
    assert harness.values == [(10, 12)]
    assert harness.metrics.counter("numLateRecordsDropped").get_count() == 1


def test_late_records_go_to_side_outputs_of_their_own() -> None:
    late_left, late_right = OutputTag("late left"), OutputTag("late right")
    harness = join(-5, 5, left_late_tag=late_left, right_late_tag=late_right)
    harness.push_watermark(12)
    left(harness, 10)
    right(harness, 11)
    assert harness.side_output(late_left) == [(("k", 10), 10)]
    assert harness.side_output(late_right) == [(("k", 11), 11)]


@pytest.mark.parametrize(
    ("kind", "alone"),
    [
        (JoinKind.INNER, []),
        (JoinKind.LEFT, [(20, None)]),
        (JoinKind.RIGHT, [(None, 40)]),
        (JoinKind.FULL, [(20, None), (None, 40)]),
    ],
)
def test_outer_joins_let_records_without_partner_out(kind: JoinKind, alone: list[Any]) -> None:
    harness = join(-2, 5, kind)
    left(harness, 10)
    right(harness, 15)
    left(harness, 20)
    right(harness, 40)
    harness.push_watermark(100)
    assert harness.values == [(10, 15), *alone]
    assert buffered(harness) == {"left": [], "right": []}


def test_a_record_without_partner_comes_out_when_its_interval_has_passed_and_is_not_late() -> None:
    harness = join(-2, 5, JoinKind.LEFT)
    left(harness, 20)
    harness.push_watermark(24)
    assert harness.outputs == []
    harness.push_watermark(25)
    assert harness.outputs == [((20, None), 20)]
    assert harness.watermarks == [19, 20]
    harness.end()
    assert harness.watermarks == [19, 20, END]


def test_inner_joins_do_not_delay_the_watermark() -> None:
    harness = join(-2, 5)
    harness.push_watermark(24)
    assert harness.watermarks == [24]


def test_there_is_no_timestamp_of_a_missing_partner() -> None:
    class Ask(ProcessJoinFunction[Any, Any, Any]):
        def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
            yield ctx.get_right_timestamp()

    harness = join(0, 0, JoinKind.LEFT, function=Ask())
    left(harness, 1)
    with pytest.raises(ProgramError, match="no right record"):
        harness.push_watermark(1)


def test_records_without_timestamp_are_refused() -> None:
    harness = join(0, 0)
    with pytest.raises(MissingTimestampError, match="assign_timestamps_and_watermarks"):
        harness.push(("k", 1))


def test_wrong_programs_are_refused() -> None:
    env = environment()
    stream = env.from_elements(("a", 1))
    keyed = stream.key_by(by_key)
    with pytest.raises(ProgramError, match="needs a keyed stream"):
        stream.interval_join(keyed)  # type: ignore[attr-defined]
    with pytest.raises(ProgramError, match="two keyed streams"):
        keyed.interval_join(stream)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="is empty"):
        keyed.interval_join(keyed).between(0, 0).upper_bound_exclusive().process(Pair())
    with pytest.raises(ProgramError, match="needs a ProcessJoinFunction"):
        keyed.interval_join(keyed).between(0, 1).process(lambda left, right: left)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_program_with_an_interval_join(parallelism: int) -> None:
    env = environment(parallelism)
    first = timed(env, *[(f"k{number % 3}", number) for number in range(30)]).key_by(by_key)
    second = timed(env, *[(f"k{number % 3}", number) for number in range(30)]).key_by(by_key)
    joined = first.interval_join(second).between(Time.milliseconds(-1), Time.milliseconds(3)).process(Pair())
    expected = [(a, b) for a in range(30) for b in range(30) if a % 3 == b % 3 and -1 <= b - a <= 3]
    assert sorted(collected(joined)) == expected


RECORDS = st.lists(st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(0, 30)), max_size=40)


@given(RECORDS, st.integers(-6, 6), st.integers(0, 8), st.sampled_from(JoinKind), st.booleans())
@settings(deadline=None)
def test_any_order_of_arrival_gives_the_pairs_of_a_nested_loop(
    records: list[tuple[bool, str, int]], lower: int, length: int, kind: JoinKind, is_heap: bool
) -> None:
    upper = lower + length
    harness = join(lower, upper, kind)
    operator = harness.operator
    assert isinstance(operator, IntervalJoinOperator)
    if not is_heap:
        backend = operator.context.keyed_state()
        for side in (operator._left, operator._right):
            side.buffer = StateJoinBuffer(backend.map_state(MapStateDescriptor(f"other-{side.name}")))
    for is_left, key, time in records:
        (left if is_left else right)(harness, time, key)
    harness.end()
    lefts = [(key, time) for is_left, key, time in records if is_left]
    rights = [(key, time) for is_left, key, time in records if not is_left]
    pairs = [(a, b) for a in lefts for b in rights if a[0] == b[0] and lower <= b[1] - a[1] <= upper]
    expected = Counter(((a[1], b[1]), max(a[1], b[1])) for a, b in pairs)
    if kind.keeps_left:
        expected.update(((a[1], None), a[1]) for a in lefts if a not in [pair[0] for pair in pairs])
    if kind.keeps_right:
        expected.update(((None, b[1]), b[1]) for b in rights if b not in [pair[1] for pair in pairs])
    assert Counter(harness.outputs) == expected


def test_a_buffer_of_one_backend_is_stored_as_that_of_another() -> None:
    keys = KeyContext()
    keys.key = "k"
    backend = HeapStateBackend(keys)
    first = HeapJoinBuffer(backend, keys, "side", is_padded=False)
    for time in (5, 1, 3, 3):
        first.add("k", time, f"r{time}")
    first.store()
    second = StateJoinBuffer(backend.map_state(MapStateDescriptor("side")))
    assert list(second.between("k", 2, 5)) == [(3, "r3"), (3, "r3"), (5, "r5")]
    second.add("k", 7, "r7")
    assert second.expire("k", 4) == [(1, "r1"), (3, "r3"), (3, "r3")]
    third = join_buffer(backend, keys, "side", is_padded=False)
    assert third.expire("k", 9) == [(5, "r5"), (7, "r7")]
    assert list(third.between("k", 0, 9)) == []
    assert third.expire("k", 9) == []


def test_keys_with_many_timestamps() -> None:
    harness = join(-2, 2)
    for time in (*range(0, 120, 3), 1):
        left(harness, time)
    right(harness, 60)
    left(harness, 61)
    right(harness, 62)
    assert sorted(harness.values) == [(60, 60), (60, 62), (61, 60), (61, 62), (63, 62)]


def test_cleanups_are_part_of_a_snapshot() -> None:
    harness = join(-2, 5, JoinKind.LEFT)
    left(harness, 20)
    right(harness, 40)
    harness.operator.prepare_snapshot(1)
    timers = harness.operator.snapshot_timers()
    assert [(timer.timestamp, timer.key, timer.namespace) for timer in timers] == [
        (25, "k", "left"),
        (42, "k", "right"),
    ]
    backend = harness.operator.context.keyed_state()
    again = IntervalJoinOperator(harness.operator.step)  # type: ignore[attr-defined]
    again.setup(harness.operator.context, harness.operator.output)
    again.open()
    again.restore_timers(timers)
    again.process_watermark(100)
    assert harness.values == [(20, None)]
    assert backend.keys("interval-join-left") == backend.keys("interval-join-right") == []
