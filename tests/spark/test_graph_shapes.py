"""Random graphs give the same results on Spark as in process."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from penstock import StreamExecutionEnvironment
from tests.spark.jobs import collect
from tests.unit.property.graph_shapes import Shape, build, expected, shapes


@pytest.mark.timeout(300)
@given(shapes(most_steps=5, most_parallelism=2))
@settings(deadline=None, max_examples=3, derandomize=True, suppress_health_check=list(HealthCheck))
def test_any_graph_gives_the_same_results_as_over_plain_lists(shape: Shape) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    assert Counter(collect(build(env, shape, is_parallel=True))) == expected(shape)
