"""Keyed state in a real worker, as the worked cases have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import StreamExecutionEnvironment
from tests.spark import functions
from tests.spark.jobs import collect, per_key

ONE_KEY = [(1, 3.0), (1, 5.0), (1, 7.0), (1, 4.0), (1, 2.0)]
TWO_KEYS = [(1, 3.0), (1, 5.0), (1, 7.0), (2, 4.0), (2, 2.0), (2, 6.0)]
SHARED_COUNT = {1: [3.0, 4.0, 5.0], 2: [1.0, 1.2, 2.0]}
COUNT_PER_KEY = {1: [3.0, 4.0, 5.0], 2: [4.0, 3.0, 4.0]}


def test_w_03_counter_with_and_without_state(env: StreamExecutionEnvironment) -> None:
    ones = env.from_elements(1, 1, 1)
    stateful = ones.key_by(lambda _: 0).map(functions.Counter()).map(lambda n: ("stateful", n))
    stateless = ones.map(lambda n: ("stateless", n + 1))
    assert per_key(collect(stateful.union(stateless))) == {"stateful": [1, 2, 3], "stateless": [2, 2, 2]}


@pytest.mark.parametrize(
    ("is_clearing", "means"),
    [
        pytest.param(False, [(1, 4.0), (1, 5.0), (1, 4.75), (1, 4.2)], id="w_04"),
        pytest.param(True, [(1, 4.0), (1, 5.5)], id="w_05"),
    ],
)
def test_w_04_w_05_value_state(env: StreamExecutionEnvironment, is_clearing: bool, means: list[Any]) -> None:
    keyed = env.from_collection(ONE_KEY).key_by(lambda r: r[0])
    assert collect(keyed.flat_map(functions.ValueStateMean(is_clearing=is_clearing))) == means


@pytest.mark.parametrize(
    ("function", "parallelism", "results"),
    [
        pytest.param(functions.ListStateMean(), 2, {1: [5.0], 2: [4.0]}, id="w_06"),
        pytest.param(functions.MapStateMean(), 2, {1: [5.0], 2: [4.0]}, id="w_07"),
        pytest.param(functions.ReducingStateMean(), 2, SHARED_COUNT, id="w_08-shared"),
        pytest.param(functions.ReducingStateMean(), 4, COUNT_PER_KEY, id="w_08-apart"),
        pytest.param(functions.KeyedCountMean(), 2, COUNT_PER_KEY, id="w_08-keyed"),
        pytest.param(
            functions.AggregatingStateText(),
            2,
            {
                1: ["Contains-3.0", "Contains-3.0-5.0", "Contains-3.0-5.0-7.0"],
                2: ["Contains-4.0", "Contains-4.0-2.0", "Contains-4.0-2.0-6.0"],
            },
            id="w_09",
        ),
    ],
)
def test_w_06_to_w_09(
    env: StreamExecutionEnvironment, function: Any, parallelism: int, results: dict[int, list[Any]]
) -> None:
    env.set_parallelism(parallelism)
    keyed = env.from_collection(TWO_KEYS).key_by(lambda r: r[0])
    assert per_key(collect(keyed.flat_map(function))) == results


def test_w_10_sink_that_buffers_two(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    rows = env.from_elements(("spark", 3), ("hadoop", 5), ("hive", 7), ("flume", 9))
    rows.add_sink(functions.BufferingSink(str(path))).set_parallelism(1)
    env.execute()
    assert path.read_text().splitlines() == ["[('spark', 3), ('hadoop', 5)]", "[('hive', 7), ('flume', 9)]"]


def test_w_11_map_with_state_identity(env: StreamExecutionEnvironment) -> None:
    rows = [(1, "a"), (2, "b"), (3, "c")]
    keyed = env.from_collection(rows).key_by(lambda r: r[0])
    assert sorted(collect(keyed.map_with_state(lambda element, state: (element, state)))) == rows
