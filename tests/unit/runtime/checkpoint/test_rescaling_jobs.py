"""A job that comes back with another parallelism has every key's state and every timer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    CheckpointedFunction,
    KeyedProcessFunction,
    ListStateDescriptor,
    MapFunction,
    MapStateDescriptor,
    StateRestoreError,
    ValueStateDescriptor,
)
from penstock.testing import LocalRun, build_job
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import BACKENDS, timed

KEYS = st.one_of(st.integers(-5, 40), st.text(max_size=3), st.tuples(st.integers(0, 5), st.booleans()))
END = 1_000_000


class Remember(KeyedProcessFunction):
    """Keeps a count, a list and a map per key, and says all of it when event time is over."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))
        self.parity = runtime_context.get_map_state(MapStateDescriptor("parity"))

    def process_element(self, value: tuple[Any, int], ctx: Any) -> None:
        number = value[1]
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(number)
        self.parity.put(number % 2, number)
        ctx.timer_service().register_event_time_timer(END)
        ctx.timer_service().register_event_time_timer(END + number)
        ctx.timer_service().register_processing_time_timer(END + number)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        domain = ctx.time_domain().name
        state = self.count.value(), tuple(self.seen.get()), tuple(sorted(self.parity.items()))
        yield repr(ctx.get_current_key()), domain, timestamp, state


def job(rows: list[tuple[Any, int]], parallelism: int, backend: str) -> Any:
    env = environment(parallelism)
    env.set_max_parallelism(16)
    env.set_state_backend(BACKENDS[backend]())
    splits = [[(row, row[1]) for row in rows[start::3]] for start in range(3)]
    keyed = timed(env, *splits).uid("rows").key_by(lambda row: row[0]).process(Remember()).uid("remember")
    collect(keyed)
    return build_job(env)


def expected(rows: list[tuple[Any, int]]) -> list[Any]:
    """What must come out, reckoned without any job."""
    per_key: dict[Any, list[int]] = {}
    for key, number in rows:
        # A key is what it is, not what it equals: True and 1 are different keys, as their hashes are.
        per_key.setdefault((type(key), repr(key)), []).append(number)
    timers = []
    for (_, name), numbers in per_key.items():
        state = len(numbers), tuple(numbers), tuple(sorted({number % 2: number for number in numbers}.items()))
        times = {END, *(END + number for number in numbers)}
        timers += [(name, "EVENT_TIME", time, state) for time in times]
    return sorted(timers)


MOMENTS = st.lists(st.integers(0, 4), min_size=4, max_size=4)


@settings(max_examples=12)
@given(keys=st.lists(KEYS, min_size=4, max_size=30), moments=MOMENTS)
def test_2_3_1_4_keeps_every_state_and_every_timer(
    tmp_path_factory: pytest.TempPathFactory, keys: list[Any], moments: list[int]
) -> None:
    check_2_3_1_4(tmp_path_factory.mktemp("savepoints"), "heap", keys, moments)


@settings(max_examples=3)
@given(keys=st.lists(KEYS, min_size=4, max_size=30), moments=MOMENTS)
def test_2_3_1_4_with_rocksdb(tmp_path_factory: pytest.TempPathFactory, keys: list[Any], moments: list[int]) -> None:
    check_2_3_1_4(tmp_path_factory.mktemp("savepoints"), "rocksdb", keys, moments)


def check_2_3_1_4(directory: Path, backend: str, keys: list[Any], moments: list[int]) -> None:
    # The splits are read side by side, so only numbers that grow with the split keep the order within a key.
    rows = [(key, number + 1) for number, key in enumerate(keys)]
    path: str | None = None
    for parallelism, steps in zip((2, 3, 1, 4), moments, strict=True):
        run = LocalRun(job(rows, parallelism, backend), restore=path)
        for _ in range(steps):
            run.step()
        path = run.savepoint(directory)
        assert run.collected.get("out", []) == [] or run.is_finished
        if run.is_finished:
            break
        run.close()
    out = run.collected.get("out", []) if run.is_finished else LocalRun(job(rows, 2, backend), restore=path).run()
    found = out if isinstance(out, list) else out.collected["out"]
    assert sorted(with_sorted_lists(found)) == sorted(with_sorted_lists(expected(rows)))


def with_sorted_lists(results: list[Any]) -> list[Any]:
    """Numbers of one key may come over several splits, in any order: the last of each parity may be any of them."""
    return [(key, domain, time, (count, tuple(sorted(seen)))) for key, domain, time, (count, seen, _) in results]


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 1), (1, 4)])
def test_processing_time_timers_move_with_their_keys(before: int, after: int) -> None:
    rows = [(key, 0 if key % 2 else key + 1) for key in range(20)] * 2 + [("last", 1)]
    first = LocalRun(job(rows, before, "heap"))
    for _ in range(8):
        first.step()
    checkpoint = first.checkpoint()
    expected_timers = timers_of(first)
    assert len(expected_timers) > 10
    second = LocalRun(job(rows, after, "heap"), restore=checkpoint)
    second.open()
    assert timers_of(second) == expected_timers


def timers_of(run: LocalRun) -> list[Any]:
    return sorted(
        (repr(timer.key), timer.timestamp, timer.domain)
        for task in run.tasks
        for subtask in task.subtasks.values()
        for operator in subtask.chain.operators
        for timer in operator.snapshot_timers()
    )


class Spread(MapFunction, CheckpointedFunction):
    """Keeps everything it has seen in a list that is spread over the subtasks."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen"))
        self.seen = list(self.state.get())

    def map(self, value: Any) -> Any:
        self.seen.append(value)
        return value

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.seen)


def test_elements_of_operator_lists_are_spread_evenly() -> None:
    def spread_job(parallelism: int) -> Any:
        env = environment(parallelism)
        collect(timed(env, [(n, 0) for n in range(12)]).rebalance().map(Spread()).uid("spread"))
        return build_job(env)

    first = LocalRun(spread_job(2))
    for _ in range(10):
        first.step()
    again = LocalRun(spread_job(4), restore=first.checkpoint())
    again.open()
    seen = [
        operator.function.seen
        for task in again.tasks
        for subtask in task.subtasks.values()
        for operator in subtask.chain.operators
        if isinstance(getattr(operator, "function", None), Spread)
    ]
    assert sorted(number for part in seen for number in part) == list(range(10))
    assert sorted(len(part) for part in seen) == [2, 2, 3, 3]


def test_another_max_parallelism_is_refused_for_keyed_state(tmp_path: Path) -> None:
    rows = [(n, n) for n in range(6)]
    run = LocalRun(job(rows, 2, "heap"))
    run.step()
    path = run.savepoint(tmp_path)
    env = environment(2)
    env.set_max_parallelism(32)
    collect(timed(env, []).uid("rows").key_by(lambda row: row[0]).process(Remember()).uid("remember"))
    with pytest.raises(StateRestoreError, match=r"max parallelism of 16.*set_max_parallelism\(16\)"):
        LocalRun.of(env, restore=path)


def test_an_operator_without_a_match_is_refused_unless_its_state_may_be_left_behind(tmp_path: Path) -> None:
    run = LocalRun(job([(n, n) for n in range(6)], 1, "heap"))
    run.step()
    path = run.savepoint(tmp_path)

    def other(*, allows: bool) -> LocalRun:
        env = environment()
        env._allows_non_restored_state = allows
        collect(timed(env, [((1, 1), 1)]).uid("rows").map(lambda row: row).uid("new"))
        return LocalRun.of(env, restore=path)

    with pytest.raises(StateRestoreError, match=r"\(remember\).*uid\(\).*allow_non_restored_state"):
        other(allows=False)
    plan = other(allows=True).checkpoints.plan
    assert plan is not None
    assert (plan.restored, plan.dropped) == (("rows",), ("remember",))
    assert "new" in plan.new


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 2)])
def test_a_range_is_not_divided_anew(before: int, after: int) -> None:
    """The splits of a sequence depend on the parallelism; a restored job goes on with those it had."""

    def sequence_job(parallelism: int) -> Any:
        env = environment(parallelism)
        collect(env.from_sequence(1, 1000).key_by(lambda n: n).map(lambda n: n))
        return build_job(env)

    first = LocalRun(sequence_job(before))
    first.step()
    checkpoint = first.checkpoint()
    second = LocalRun(sequence_job(after), restore=checkpoint).run()
    assert sorted(first.collected["out"] + second.collected["out"]) == list(range(1, 1001))


class SaysItsTime(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 1)])
def test_splits_that_come_back_in_one_source_go_on_with_the_least_of_their_times(before: int, after: int) -> None:
    def two_splits(parallelism: int) -> Any:
        env = environment(parallelism)
        stream = timed(env, [(n, n * 100) for n in (1, 2, 3)], [(n, n) for n in (1, 2, 3)])
        collect(stream.uid("rows").key_by(lambda _: 0).process(SaysItsTime()).uid("time").set_parallelism(1))
        return env._build_job(None)

    first = LocalRun(two_splits(before))
    for _ in range(2 // before):
        first.step()
    # Each split is at its first record: at 99 and at 0.
    second = LocalRun(two_splits(after), restore=first.checkpoint())
    second.step()
    # Time is that of the second split, whichever is read first: 0 before and 1 after its next record.
    assert all(time <= 1 for _, time in second.collected["out"])


class RulesOfTheFirst(MapFunction, CheckpointedFunction):
    """Only the first subtask has broadcast state before a restore; afterwards everybody says what it got."""

    def initialize_state(self, context: Any) -> None:
        self.is_restored = context.is_restored()
        self.store = context.get_operator_state_store()

    def open(self, runtime_context: Any) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self.rules = None
        if self.is_restored or self.index == 0:
            self.rules = self.store.get_broadcast_state(MapStateDescriptor("rules"))

    def snapshot_state(self, context: Any) -> None:
        if self.rules is not None and not self.is_restored:
            self.rules.put("rule", 1)

    def map(self, value: int) -> Any:
        return self.index, {} if self.rules is None else dict(self.rules.items())


@pytest.mark.parametrize("after", [1, 2, 3])
def test_broadcast_state_that_one_subtask_has_reported_is_everywhere_after_a_restore(after: int) -> None:
    def rules_job(parallelism: int) -> Any:
        env = environment(parallelism)
        collect(timed(env, [(n, 0) for n in range(12)]).uid("rows").rebalance().map(RulesOfTheFirst()).uid("rules"))
        return env._build_job(None)

    first = LocalRun(rules_job(2))
    first.step()
    second = LocalRun(rules_job(after), restore=first.checkpoint()).run()
    found = second.collected["out"]
    assert {index for index, _ in found} == set(range(after))
    assert all(rules == {"rule": 1} for _, rules in found)
