"""The first programs of every tutorial, through the real executor."""

from __future__ import annotations

import pytest

from penstock import StreamExecutionEnvironment
from tests.spark.jobs import collect, per_key

LINES = ["hadoop hadoop", "hadoop", "hive hadoop"]


def test_w_01_word_count_with_one_subtask_keeps_the_order(
    env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    env.set_parallelism(1)
    env.from_collection(LINES).flat_map(str.split).map(lambda w: (w, 1)).key_by(lambda t: t[0]).sum(1).print()
    env.execute("word count")
    assert capfd.readouterr().out.splitlines() == [
        "('hadoop', 1)",
        "('hadoop', 2)",
        "('hadoop', 3)",
        "('hive', 1)",
        "('hadoop', 4)",
    ]


def test_w_01_word_count_with_eight_subtasks_prints_the_subtasks_of_flink(
    env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]
) -> None:
    env.set_parallelism(8)
    env.from_collection(LINES).flat_map(str.split).map(lambda w: (w, 1)).key_by(0).sum(1).print()
    env.execute("word count")
    lines = capfd.readouterr().out.splitlines()
    assert [line for line in lines if "hadoop" in line] == [f"8> ('hadoop', {count})" for count in (1, 2, 3, 4)]
    assert [line for line in lines if "hive" in line] == ["1> ('hive', 1)"]
    assert len(lines) == 5


def test_w_02_reduce_with_one_subtask(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    reduced = env.from_collection(range(1, 9)).key_by(lambda x: x % 3).reduce(lambda a, b: a + b)
    assert collect(reduced) == [1, 2, 3, 5, 7, 9, 12, 15]


def test_w_02_reduce_with_four_subtasks(env: StreamExecutionEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    env.set_parallelism(4)
    env.from_collection(range(1, 9)).key_by(lambda x: x % 3).reduce(lambda a, b: a + b).print()
    env.execute()
    printed = per_key(line.split("> ") for line in capfd.readouterr().out.splitlines())
    third = [int(value) for value in printed.pop("3")]
    assert [value for value in third if value in (1, 5, 12)] == [1, 5, 12]
    assert [value for value in third if value in (3, 9)] == [3, 9]
    assert len(third) == 5
    assert printed == {"4": ["2", "7", "15"]}


def test_w_12_format_after_sum(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    counts = env.from_collection(["a b a"]).flat_map(str.split).map(lambda w: (w, 1)).key_by(0).sum(1)
    assert collect(counts.map(lambda t: f"{t[0]}:::{t[1]}")) == ["a:::1", "b:::1", "a:::2"]


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [(None, 1, "v"), ("a", 1, "a> v"), (None, 4, "3> v"), ("a", 4, "a:3> v")],
)
def test_w_85_print_prefix(
    env: StreamExecutionEnvironment,
    capfd: pytest.CaptureFixture[str],
    identifier: str | None,
    parallelism: int,
    line: str,
) -> None:
    third = env.from_elements("v").partition_custom(lambda key, count: 2 % count, lambda value: value)
    third.print(*([] if identifier is None else [identifier])).set_parallelism(parallelism)
    env.execute()
    assert capfd.readouterr().out == f"{line}\n"
