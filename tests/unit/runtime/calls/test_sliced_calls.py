"""Calls with very many results, or without an end: records stream, and everything else gets its turn in between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    CoFlatMapFunction,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
    TimestampAssigner,
    Types,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.errors import UserFunctionError
from penstock.testing import build_job
from penstock.testing.local_run import LocalRun
from tests.unit.local_jobs import collect, environment, local_run, results


def most_held(run: LocalRun) -> int:
    """Return the most blocks and records that were under way at any moment, until the run has finished."""
    most = 0
    while not run.is_finished:
        run.step()
        most = max(most, sum(len(task.outbox) for task in run.tasks))
    return most


def test_results_without_end_come_out_while_the_call_goes_on() -> None:
    env = environment()
    collect(env.from_collection([0]).flat_map(lambda _: itertools.count()))
    run = local_run(env)
    seen = 0
    for _ in range(5):
        run.step()
        found = run.collected.get("out", [])
        assert found == list(range(len(found)))
        assert len(found) - seen < 10_000
        seen = len(found)
    assert seen > 1000
    assert not run.is_finished


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_large_number_of_results_of_each_record(parallelism: int) -> None:
    env = environment(parallelism)
    stream = env.from_collection([1, 2, 3]).flat_map(lambda value: (value * 100_000 + i for i in range(10_000)))
    assert sorted(results(stream)) == [value * 100_000 + i for value in (1, 2, 3) for i in range(10_000)]


def test_a_large_list_goes_on_in_slices_and_in_order() -> None:
    env = environment()
    assert results(env.from_collection([1]).flat_map(lambda _: list(range(50_000)))) == list(range(50_000))


def test_many_results_at_several_steps_of_a_chain_keep_their_order() -> None:
    def times_three_thousand(value: int) -> Iterator[int]:
        for i in range(3000):
            yield value * 10_000 + i

    env = environment()
    stream = env.from_collection([1, 2]).flat_map(times_three_thousand).flat_map(lambda value: iter([value] * 3))
    wanted = [value * 10_000 + i for value in (1, 2) for i in range(3000) for _ in range(3)]
    assert results(stream) == wanted


class Repeat(KeyedProcessFunction[str, tuple[str, int], Any]):
    """Yields a record's number many times, with its key, its time and a count in state, which others must not touch."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[Any]:
        for _ in range(value[1]):
            self.count.update((self.count.value() or 0) + 1)
            yield ctx.get_current_key(), ctx.timestamp(), self.count.value()


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]  # type: ignore[no-any-return]


def test_key_and_time_are_those_of_the_record_when_a_call_goes_on() -> None:
    records = [("a", 3000), ("b", 2000), ("a", 1)]
    env = environment()
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(Stamp())
    stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy)
    found = results(stream.key_by(lambda record: record[0]).process(Repeat()))
    wanted = [("a", 3000, n) for n in range(1, 3001)] + [("b", 2000, n) for n in range(1, 2001)] + [("a", 1, 3001)]
    assert found == wanted


def test_a_watermark_waits_for_the_results_before_it() -> None:
    class Watching(ProcessFunction[int, Any]):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            yield value, ctx.timer_service().current_watermark()

    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    stream = env.from_collection([("a", 5000)]).assign_timestamps_and_watermarks(strategy)
    found = results(stream.flat_map(lambda record: range(record[1])).process(Watching()))
    assert [value for value, _ in found] == list(range(5000))
    assert {watermark for _, watermark in found} == {-(2**63)}


def test_timers_of_processing_time_fire_behind_a_call_that_goes_on() -> None:
    """A timer of the same operator does not come between two results of a call; its key does not get mixed up."""

    class Timed(KeyedProcessFunction[int, int, Any]):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            ctx.timer_service().register_processing_time_timer(1)
            for _ in range(5000):
                yield ctx.get_current_key()

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield f"timer of {ctx.get_current_key()}"

    env = environment()
    collect(env.from_collection([1, 2]).key_by(lambda value: value).process(Timed()))
    run = local_run(env)
    run.step()
    run.clock.advance(10)
    found = run.run().collected["out"]
    assert found == [1] * 5000 + [2] * 5000 + ["timer of 1", "timer of 2"]


class Twice(CoFlatMapFunction[int, int, Any]):
    def flat_map1(self, value: int) -> Iterator[Any]:
        return iter([("first", value)] * 3000)

    def flat_map2(self, value: int) -> Iterator[Any]:
        return iter([("second", value)] * 3000)


def test_both_inputs_of_connected_streams_wait_for_each_other() -> None:
    env = environment()
    one, other = env.from_collection([1]), env.from_collection([2])
    found = results(one.connect(other).flat_map(Twice()))
    assert sorted(found) == [("first", 1)] * 3000 + [("second", 2)] * 3000
    changes = sum(one != other for one, other in itertools.pairwise(found))
    assert changes == 1


def counting(limit: int) -> Any:
    def count(value: int) -> Iterator[tuple[int, int]]:
        for number in range(limit):
            yield value, number

    return count


def chained_flat_map(env: StreamExecutionEnvironment, limit: int) -> None:
    collect(env.from_collection([1, 2, 3]).flat_map(counting(limit)).uid("flat map"))


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_checkpoint_in_the_middle_of_a_call_holds_how_far_it_has_come(steps: int) -> None:
    env = environment()
    env.enable_checkpointing(1000)
    chained_flat_map(env, 4000)
    job = build_job(env)
    run = LocalRun(job)
    for _ in range(steps):
        run.step()
    before = run.collected.get("out", [])[:]
    assert len(before) < 12_000
    checkpoint = run.checkpoint()
    behind = run.collected["out"][:]
    restored = LocalRun(job, restore=checkpoint).run()
    wanted = [(value, number) for value in (1, 2, 3) for number in range(4000)]
    assert behind + restored.collected.get("out", []) == wanted


def test_a_checkpoint_in_the_middle_of_a_call_holds_the_record_as_it_came() -> None:
    def count_down(record: dict[str, int]) -> Iterator[int]:
        while record["n"] > 0:
            record["n"] -= 1
            yield record["n"]

    env = environment()
    env.enable_checkpointing(1000)
    collect(env.from_collection([{"n": 6000}, {"n": 3000}]).flat_map(count_down))
    job = build_job(env)
    run = LocalRun(job)
    run.step()
    first = run.checkpoint()
    behind = run.collected["out"][:]
    again = LocalRun(job, restore=first)
    again.step()
    second = again.checkpoint()  # in the middle of the call that was begun again
    behind += again.collected["out"]
    rest = LocalRun(job, restore=second).run().collected["out"]
    assert behind + rest == [*range(5999, -1, -1), *range(2999, -1, -1)]


def test_a_checkpoint_of_a_call_without_end() -> None:
    env = environment()
    env.enable_checkpointing(1000)
    collect(env.from_collection([7]).flat_map(lambda value: ((value, i) for i in itertools.count())))
    job = build_job(env)
    run = LocalRun(job)
    run.step()
    checkpoint = run.checkpoint()
    emitted = len(run.collected["out"])
    again = LocalRun(job, restore=checkpoint)
    again.step()
    again.step()
    assert again.collected["out"][0] == (7, emitted)


def test_a_checkpoint_waits_for_a_function_with_state() -> None:
    """In the middle of such a call, its state says more than its results: the checkpoint comes behind the call."""
    env = environment()
    env.enable_checkpointing(1000)
    collect(env.from_collection([("a", 5000)]).key_by(lambda record: record[0]).process(Repeat()))
    job = build_job(env)
    run = LocalRun(job)
    run.step()
    checkpoint = run.checkpoint()
    assert [count for _, _, count in run.collected["out"]] == list(range(1, 5001))
    assert LocalRun(job, restore=checkpoint).run().collected.get("out", []) == []


def test_a_failure_in_the_middle_of_a_call_names_the_record() -> None:
    def fail(value: str) -> Iterator[int]:
        yield from range(5000)
        message = "no more"
        raise ValueError(message)

    env = environment()
    collect(env.from_collection(["the record"]).flat_map(fail))
    run = local_run(env)
    with pytest.raises(UserFunctionError, match="'the record'"):
        run.run()
    assert run.collected["out"] == list(range(5000))


def test_blocks_do_not_pile_up_in_front_of_an_exchange() -> None:
    """2 million numbers are more than 100 blocks; only those of a slice are held."""
    env = environment()
    env.from_collection([0]).flat_map(lambda _: range(500_000)).rebalance().filter(lambda _: False).print()
    assert most_held(local_run(env)) < 3
