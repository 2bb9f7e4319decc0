"""A program that has changed since the checkpoint: what it finds again, and what it is told about the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import (
    DataStream,
    KeyedProcessFunction,
    StateRestoreError,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.testing import LocalCheckpoint, LocalRun
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import BACKENDS, timed
from tests.unit.runtime.checkpoint.test_recovery_finished import OneToThree

ROWS = [(n, n) for n in range(1, 7)]
Build = Callable[[StreamExecutionEnvironment], DataStream[Any]]


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.sum.update((self.sum.value() or 0) + value)
        yield self.sum.value()


def rows(env: StreamExecutionEnvironment) -> DataStream[int]:
    return timed(env, ROWS).uid("rows")


def sums(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return rows(env).key_by(lambda _: 0).process(Sum()).uid("sums")


def keyed_map(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return rows(env).key_by(lambda _: 0).map(lambda n: n).uid("map")


def job(build: Build, *, backend: str = "heap", allows: bool = False, max_parallelism: int = 128) -> Any:
    env = environment()
    env.enable_checkpointing(3_600_000)
    env.set_state_backend(BACKENDS[backend]())
    env.set_max_parallelism(max_parallelism)
    env._allows_non_restored_state = allows
    collect(build(env))
    return env._build_job(None)


def after_three(build: Build, backend: str = "heap") -> LocalCheckpoint:
    """Returns a checkpoint behind the third record."""
    run = LocalRun(job(build, backend=backend))
    for _ in range(3):
        run.step()
    checkpoint = run.checkpoint()
    run.close()
    return checkpoint


def restored(checkpoint: LocalCheckpoint, build: Build, **options: Any) -> list[Any]:
    return LocalRun(job(build, **options), restore=checkpoint).run().collected["out"]


def test_steps_are_found_wherever_they_are_now() -> None:
    def in_between(env: StreamExecutionEnvironment) -> DataStream[Any]:
        more = rows(env).map(lambda n: n).uid("new").disable_chaining().filter(lambda n: True).uid("also new")
        return more.key_by(lambda _: 0).process(Sum()).uid("sums").rebalance().map(lambda n: n).uid("last")

    assert restored(after_three(sums), in_between) == [10, 15, 21]


@pytest.mark.parametrize("backend", ["heap", "rocksdb"])
def test_a_keyed_step_without_state_is_not_missed_and_may_have_another_max_parallelism(backend: str) -> None:
    checkpoint = after_three(keyed_map, backend)
    assert restored(checkpoint, rows) == [4, 5, 6]
    assert restored(checkpoint, keyed_map, backend=backend, max_parallelism=64) == [4, 5, 6]


def test_a_step_that_has_no_use_for_the_state_of_its_uid_is_refused() -> None:
    def unkeyed(env: StreamExecutionEnvironment) -> DataStream[Any]:
        return rows(env).map(lambda n: n).uid("sums")

    def other_source(env: StreamExecutionEnvironment) -> DataStream[Any]:
        return env.add_source(OneToThree()).uid("rows").key_by(lambda _: 0).process(Sum()).uid("sums")

    checkpoint = after_three(sums)
    with pytest.raises(StateRestoreError, match=r"(?s)not on a keyed stream any more.*\(sums\)"):
        restored(checkpoint, unkeyed)
    assert restored(checkpoint, unkeyed, allows=True) == [4, 5, 6]
    with pytest.raises(StateRestoreError, match=r"(?s)Source step.*SourceFunction now.*\(rows\)"):
        restored(checkpoint, other_source)
    assert restored(checkpoint, other_source, allows=True) == [7, 9, 12]
