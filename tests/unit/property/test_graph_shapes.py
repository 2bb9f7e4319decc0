"""A job graph of any shape gives what its steps say, with any parallelism."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, example, given, settings

from tests.unit.property.graph_shapes import Shape, Step, build, expected, shapes
from tests.unit.runtime.stream_bench import collected, environment

DIAMOND = Shape(
    ((1, 2, 3, 4, 5),),
    (Step("map", (0,)), Step("filter", (0,)), Step("union", (1, 2)), Step("connect", (3, 0)), Step("join", (4, 4), 2)),
)
USED_FIVE_TIMES = Shape(((1, 2, 3),), tuple(Step("map", (0,), parallelism) for parallelism in (1, 2, 3, 0, 2)))
UNION_OF_DEPTHS = Shape(
    ((1, 2), (3, 4)),
    (
        Step("sum", (0,), 2),
        Step("window", (2,), 3),
        Step("union", (1, 3)),
        Step("union", (4, 0)),
        Step("side", (5,), 2),
        Step("interval_join", (6, 7), 3),
    ),
)


@given(shapes())
@example(DIAMOND)
@example(USED_FIVE_TIMES)
@example(UNION_OF_DEPTHS)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_any_graph_gives_the_same_results_with_any_parallelism(shape: Shape) -> None:
    wanted = expected(shape)
    assert Counter(collected(build(environment(1), shape, is_parallel=False))) == wanted
    assert Counter(collected(build(environment(3), shape, is_parallel=True))) == wanted


def test_independent_pipelines_and_many_ends_run_in_one_job() -> None:
    env = environment(2)
    pipelines = [env.from_collection(range(number)).map(lambda value: value) for number in range(10)]
    assert [sorted(found) for found in collected(*pipelines)] == [list(range(number)) for number in range(10)]
