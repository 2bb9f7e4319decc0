"""A job that starts from a savepoint has the max parallelism of its state, unless the program sets one."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import MapFunction, StateRestoreError
from penstock.testing import LocalRun
from penstock.testing.local_checkpoints import LocalCheckpoint
from tests.unit.local_jobs import collect, environment
from tests.unit.runtime.checkpoint.recovery_bench import BACKENDS

KEYS = 30


class MaxParallelism(MapFunction):
    """Adds the number of key groups that the step sees."""

    def open(self, runtime_context: Any) -> None:
        self.groups = runtime_context.get_max_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        return (*value, self.groups)


def job(backend: str, parallelism: int, values: list[int], max_parallelism: int | None = None) -> Any:
    env = environment(parallelism)
    env.set_state_backend(BACKENDS[backend]())
    env.enable_checkpointing(3_600_000)
    if max_parallelism is not None:
        env.set_max_parallelism(max_parallelism)
    pairs = env.from_collection(values).uid("numbers").map(lambda number: (number % KEYS, 1)).uid("pairs")
    counts = pairs.key_by(lambda pair: pair[0]).sum(1).uid("sums").map(MaxParallelism()).uid("groups")
    collect(counts)
    return env._build_job(None)


def counted_once(backend: str, **settings: Any) -> LocalCheckpoint:
    """The state of a job that has counted each key once."""
    return LocalRun(job(backend, 2, list(range(KEYS)), **settings)).run().checkpoints.complete[-1]


def test_a_parallelism_with_another_usual_max_parallelism_goes_on_with_that_of_the_state() -> None:
    # With a parallelism of 86 a new job has 256 key groups.
    run = LocalRun(job("heap", 86, list(range(2 * KEYS))), restore=counted_once("heap")).run()
    assert sorted(run.collected["out"]) == [(key, 2, 128) for key in range(KEYS)]
    fresh = LocalRun(job("heap", 86, [1])).run()
    assert fresh.collected["out"] == [(1, 1, 256)]


@pytest.mark.parametrize("backend", ["heap", "rocksdb"])
def test_what_the_first_job_has_set_holds_for_the_next_that_sets_nothing(backend: str) -> None:
    run = LocalRun(job(backend, 3, list(range(2 * KEYS))), restore=counted_once(backend, max_parallelism=7)).run()
    assert sorted(run.collected["out"]) == [(key, 2, 7) for key in range(KEYS)]


def test_a_setting_that_is_the_one_of_the_state_is_fine_and_another_one_is_refused() -> None:
    state = counted_once("heap")
    run = LocalRun(job("heap", 2, list(range(2 * KEYS)), max_parallelism=128), restore=state).run()
    assert len(run.collected["out"]) == KEYS
    with pytest.raises(StateRestoreError, match=r"of 128, and the program sets 256.*Remove the setting"):
        LocalRun(job("heap", 2, [], max_parallelism=256), restore=state)


@pytest.mark.parametrize("max_parallelism", [None, 130, 256])
def test_more_subtasks_than_key_groups_are_refused_with_advice_that_works(max_parallelism: int | None) -> None:
    with pytest.raises(StateRestoreError, match=r"has 130\. Lower its parallelism to 128 or less"):
        LocalRun(job("heap", 130, [], max_parallelism=max_parallelism), restore=counted_once("heap"))


def test_state_without_keys_may_have_any_max_parallelism() -> None:
    def sources(parallelism: int, max_parallelism: int, last: int) -> Any:
        env = environment(parallelism).set_max_parallelism(max_parallelism)
        env.enable_checkpointing(3_600_000)
        collect(env.from_collection(list(range(last))).uid("numbers"))
        return env._build_job(None)

    state = LocalRun(sources(1, 128, 3)).run().checkpoints.complete[-1]
    assert LocalRun(sources(1, 4, 5), restore=state).run().collected["out"] == [3, 4]
