"""The join without windows: driven by arrival, kept in state, with a time to live."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ProgramError
from penstock.graph.multi_input_steps import JoinKind, JoinStep
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import FlatJoinFunction
from penstock.vocabulary.state.descriptors import ListStateDescriptor
from penstock.vocabulary.time.durations import Time
from penstock.vocabulary.types.rows import RowKind
from tests.unit.runtime.task.stream_bench import collected, environment, timed

INSERT, DELETE = RowKind.INSERT, RowKind.DELETE


def by_key(record: Any) -> Any:
    return record[0]


def pair(left: Any, right: Any) -> Any:
    return left and left[1], right and right[1]


def join(kind: JoinKind = JoinKind.INNER, function: Any = pair, **settings: Any) -> OperatorHarness:
    step = JoinStep(key=by_key, second_key=by_key, function=function, kind=kind, **settings)
    return OperatorHarness.for_step(step)


def kept(harness: OperatorHarness) -> int:
    states = [ListStateDescriptor(f"join-{side}") for side in ("left", "right")]
    return sum(len(harness.state(state, key)) for state in states for key in harness.state_keys(state))


def test_each_arrival_meets_all_partners_so_far_and_gives_its_timestamp() -> None:
    harness = join()
    harness.push(("a", 1), 10)
    harness.push(("a", 2), 20)
    harness.push_second(("a", 3), 5)
    harness.push_second(("b", 4), 5)
    assert harness.outputs == [((1, 3), 5), ((2, 3), 5)]


def test_a_function_that_changes_and_yields_a_record_again_gives_it_as_it_was_each_time() -> None:
    class Twice(FlatJoinFunction[Any, Any, Any]):
        def join(self, left: Any, right: Any) -> Any:
            for number in (1, 2):
                left[1] = number
                yield left

    for has_row_kinds in (False, True):
        harness = join(function=Twice(), has_row_kinds=has_row_kinds)
        harness.push(["a", 0])
        harness.push_second(("a", 0))
        expected = [["a", 1], ["a", 2]]
        assert harness.values == ([(INSERT, record) for record in expected] if has_row_kinds else expected)


def test_left_outer_join_takes_back_what_a_partner_makes_wrong() -> None:
    harness = join(JoinKind.LEFT, has_row_kinds=True)
    harness.push(("a", 1))
    harness.push_second(("a", 2))
    harness.push_second(("a", 3))
    harness.push(("a", 4))
    harness.push_second(("b", 5))
    assert harness.values == [
        (INSERT, (1, None)),
        (DELETE, (1, None)),
        (INSERT, (1, 2)),
        (INSERT, (1, 3)),
        (INSERT, (4, 2)),
        (INSERT, (4, 3)),
    ]


def test_right_and_full_outer_joins() -> None:
    harness = join(JoinKind.RIGHT)
    harness.push_second(("a", 1))
    harness.push(("b", 2))
    harness.push(("a", 3))
    assert harness.values == [(None, 1), (3, 1)]
    harness = join(JoinKind.FULL, has_row_kinds=True)
    harness.push_second(("a", 1))
    harness.push(("b", 2))
    harness.push(("a", 3))
    assert harness.values == [(INSERT, (None, 1)), (INSERT, (2, None)), (DELETE, (None, 1)), (INSERT, (3, 1))]


def test_records_expire_and_leave_the_state() -> None:
    harness = join(JoinKind.LEFT, state_ttl=100)
    harness.push_second(("a", 1))
    harness.advance(60)
    harness.push_second(("a", 2))
    harness.advance(39)
    harness.push(("a", 3))
    harness.advance(1)
    harness.push(("a", 4))
    assert harness.values == [(3, 1), (3, 2), (4, 2)]
    assert kept(harness) == 3
    harness.advance(1000)
    assert kept(harness) == 0
    assert harness.processing_timers() == []
    harness.push(("a", 5))
    assert harness.values[-1] == (5, None)


def test_without_time_to_live_records_are_kept_for_ever() -> None:
    harness = join()
    harness.push(("a", 1))
    harness.advance(10**12)
    harness.push_second(("a", 2))
    assert harness.values == [(1, 2)]
    assert harness.processing_timers() == []


def test_flat_join_functions() -> None:
    class Both(FlatJoinFunction[Any, Any, Any]):
        def join(self, first: Any, second: Any) -> Any:
            yield from (first[1], second[1])

    harness = join(function=Both())
    harness.push(("a", 1), 7)
    harness.push_second(("a", 2), 8)
    assert harness.outputs == [(1, 8), (2, 8)]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_program_with_a_join_without_windows(parallelism: int) -> None:
    env = environment(parallelism)
    users = env.from_elements(("u1", "Ann"), ("u2", "Bob"))
    orders = timed(env, (1, "u1", 10), (2, "u1", 20), (3, "u3", 30))
    joined = (
        orders.join(users)
        .where(1)
        .equal_to(0)
        .without_window(Time.hours(1))
        .apply(lambda order, user: (order[0], user[1]))
    )
    assert sorted(collected(joined)) == [(1, "Ann"), (2, "Ann")]


def test_a_time_to_live_must_be_positive() -> None:
    stream = environment().from_elements(("a", 1))
    with pytest.raises(ProgramError, match="at least one millisecond"):
        stream.join(stream).where(0).equal_to(0).without_window(0)


RECORDS = st.lists(st.tuples(st.booleans(), st.sampled_from("abc"), st.integers(0, 5)), max_size=25)


@given(RECORDS, st.sampled_from(JoinKind))
@settings(deadline=None)
def test_what_stands_in_the_end_is_what_a_database_would_say(
    records: list[tuple[bool, str, int]], kind: JoinKind
) -> None:
    harness = join(kind, has_row_kinds=True)
    for is_left, key, number in records:
        (harness.push if is_left else harness.push_second)((key, number))
    standing: Counter[Any] = Counter()
    for row_kind, result in harness.values:
        standing[result] += 1 if row_kind is INSERT else -1
    lefts = [(key, number) for is_left, key, number in records if is_left]
    rights = [(key, number) for is_left, key, number in records if not is_left]
    expected: Counter[Any] = Counter((a[1], b[1]) for a in lefts for b in rights if a[0] == b[0])
    if kind.keeps_left:
        expected.update((a[1], None) for a in lefts if a[0] not in {b[0] for b in rights})
    if kind.keeps_right:
        expected.update((None, b[1]) for b in rights if b[0] not in {a[0] for a in lefts})
    assert +standing == expected
    assert min(standing.values(), default=0) >= 0
