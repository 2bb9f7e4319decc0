"""Graphs of any shape give the same results on Spark as in process; several of them are pipelines of one job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock import StreamExecutionEnvironment
from tests.spark.jobs import collect
from tests.unit.property.graph_shapes import NAMED_SHAPES, Shape, build, expected, shapes
from tests.unit.runtime.task.stream_bench import collected, environment

pytestmark = pytest.mark.timeout(300)

Found = Counter[tuple[int, int]]


def on_spark(env: StreamExecutionEnvironment, wanted: Sequence[Shape]) -> list[Found]:
    """Run the shapes as independent pipelines of one job."""
    # Lambdas keep what they refer to, so the number is bound when the step is written.
    pipelines = [
        build(env, shape, is_parallel=True).map(lambda result, number=number: (number, result))
        for number, shape in enumerate(wanted)
    ]
    found: list[Found] = [Counter() for _ in wanted]
    for number, result in collect(pipelines[0].union(*pipelines[1:])):
        found[number][result] += 1
    return found


@pytest.fixture(scope="module")
def named_results() -> dict[str, Found]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return dict(zip(NAMED_SHAPES, on_spark(env, list(NAMED_SHAPES.values())), strict=True))


@pytest.mark.parametrize("name", NAMED_SHAPES)
def test_shape(name: str, named_results: dict[str, Found]) -> None:
    assert named_results[name] == expected(NAMED_SHAPES[name])


@given(st.lists(shapes(most_steps=5, most_parallelism=2), min_size=1, max_size=3))
@settings(deadline=None, max_examples=10, derandomize=True, suppress_health_check=list(HealthCheck))
def test_random_graphs_give_the_same_results_as_in_process_and_over_plain_lists(drawn: list[Shape]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    in_process = [Counter(collected(build(environment(2), shape, is_parallel=True))) for shape in drawn]
    assert on_spark(env, drawn) == in_process == [expected(shape) for shape in drawn]


def test_ten_sinks_of_three_pipelines_in_one_job(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    numbers, words = env.from_collection(range(5)), env.from_elements("a", "b")
    for factor in range(7):
        numbers.map(lambda value, factor=factor: value * factor).print(f"times {factor}")
    words.map(str.upper).print("upper")
    words.key_by(lambda word: word).map(lambda word: word * 2).set_parallelism(3).print("twice")
    env.from_elements(1).union(env.from_elements(2)).print("third")
    env.execute("ten sinks")
    found: dict[str, list[str]] = {}
    for line in capsys.readouterr().out.splitlines():
        sink, value = line.split("> ")
        found.setdefault(sink.partition(":")[0], []).append(value)
    assert {sink: sorted(values) for sink, values in found.items()} == {
        **{f"times {factor}": sorted(str(value * factor) for value in range(5)) for factor in range(7)},
        "upper": ["A", "B"],
        "twice": ["aa", "bb"],
        "third": ["1", "2"],
    }
