"""A job graph of any shape gives what its steps say, with any parallelism."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, example, given, settings

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
from tests.unit.runtime.task.stream_bench import collected, environment


@given(shapes())
@example(DIAMOND)
@example(USED_FIVE_TIMES)
@example(UNION_OF_DEPTHS)
@example(KEYED_BRANCHES)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_any_graph_gives_the_same_results_with_any_parallelism(shape: Shape) -> None:
    wanted = expected(shape)
    assert Counter(collected(build(environment(1), shape, is_parallel=False))) == wanted
    assert Counter(collected(build(environment(3), shape, is_parallel=True))) == wanted


def test_independent_pipelines_and_many_ends_run_in_one_job() -> None:
    env = environment(2)
    pipelines = [env.from_collection(range(number)).map(lambda value: value) for number in range(10)]
    assert [sorted(found) for found in collected(*pipelines)] == [list(range(number)) for number in range(10)]
