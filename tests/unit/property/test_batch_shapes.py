"""A job graph of any shape gives in batch what its steps say, with any parallelism and whatever runs twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock import Configuration, RuntimeExecutionMode
from penstock.testing import LocalBatchRun
from tests.unit.local_jobs import collect, environment
from tests.unit.property.graph_shapes import (
    DIAMOND,
    KEYED_BRANCHES,
    UNION_OF_DEPTHS,
    USED_FIVE_TIMES,
    Shape,
    build,
    expected,
    shapes,
)


def batch_results(shape: Shape, parallelism: int, memory: str, *, is_lost: bool) -> list[Any]:
    env = environment(parallelism).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.configure(Configuration.from_dict({"execution.sorted-inputs.memory": memory}))
    collect(build(env, shape, is_parallel=parallelism > 1))
    run = LocalBatchRun.of(env, loses=lambda stage, index, attempt: is_lost and attempt == 0)
    return run.run().collected.get("out", [])


@given(shapes(), st.booleans())
@example(DIAMOND, False)
@example(USED_FIVE_TIMES, True)
@example(UNION_OF_DEPTHS, False)
@example(KEYED_BRANCHES, True)
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
def test_any_graph_gives_the_same_results_in_batch(shape: Shape, is_lost: bool) -> None:
    wanted = expected(shape)
    assert Counter(batch_results(shape, 1, "128 mb", is_lost=is_lost)) == wanted
    assert Counter(batch_results(shape, 3, "1 kb", is_lost=is_lost)) == wanted


@given(shapes(most_steps=5))
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
def test_a_task_that_runs_again_gives_the_same_rows_in_the_same_order(shape: Shape) -> None:
    first = batch_results(shape, 3, "128 mb", is_lost=False)
    assert batch_results(shape, 3, "128 mb", is_lost=True) == first
