"""The run in this process itself: deterministic, in steps, by its own clock."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import KeyedProcessFunction, MapFunction, UserFunctionError
from tests.unit.local_jobs import collect, environment, local_run, run_locally


class Counting(MapFunction):
    """Counts in a plain attribute, which each subtask has for itself."""

    def __init__(self) -> None:
        self.count = 0

    def map(self, value: Any) -> int:
        self.count += 1
        return self.count


def test_every_subtask_has_functions_of_its_own() -> None:
    env = environment(3)
    counting = Counting()
    collect(env.from_collection(list(range(6))).map(counting))
    assert sorted(run_locally(env).collected["out"]) == [1, 1, 1, 2, 2, 2]
    assert counting.count == 0


def test_two_runs_are_the_same() -> None:
    def lines() -> list[str]:
        env = environment(4)
        numbers = env.from_sequence(1, 200).shuffle().map(lambda x: x % 7).key_by(lambda x: x)
        numbers.reduce(lambda a, b: a + b).print()
        return run_locally(env).printed

    assert lines() == lines()


def test_steps_ask_each_source_once() -> None:
    env = environment()
    collect(env.from_collection(list(range(10_000))))
    run = local_run(env)
    assert run.step()
    assert 0 < len(run.collected["out"]) < 10_000
    assert not run.is_finished
    run.run()
    assert run.is_finished
    assert run.collected["out"] == list(range(10_000))


class Timer(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield timestamp, ctx.timer_service().current_processing_time()


def test_advancing_stops_at_every_timer() -> None:
    env = environment()
    # Long enough that the source has not ended after one step.
    collect(env.from_collection([30, 10, 20] + [10] * 5000).key_by(lambda x: x).process(Timer()))
    run = local_run(env)
    run.step()
    run.advance(25)
    assert run.collected["out"] == [(10, 10), (20, 20)]
    assert run.clock.now() == 25


def test_the_clock_stands_still_while_there_is_work() -> None:
    env = environment()
    collect(env.from_collection(list(range(20_000))))
    run = local_run(env).run()
    assert run.clock.now() == 0


def test_a_second_open_is_no_second_open() -> None:
    env = environment()
    env.from_collection([1]).map(Counting()).print()
    run = local_run(env)
    run.open()
    run.open()
    run.run()
    assert run.printed == ["1"]


def test_a_failure_names_the_step() -> None:
    env = environment()
    env.from_collection([0]).map(lambda x: 1 / x).name("dividing").print()
    with pytest.raises(UserFunctionError, match="dividing"):
        run_locally(env)
