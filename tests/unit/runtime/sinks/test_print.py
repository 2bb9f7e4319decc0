"""What print() puts in front of a record (PAR-18)."""

from __future__ import annotations

import pytest

from penstock.runtime.sinks.functions import PrintOperator, print_prefix
from penstock.runtime.task.services import TaskServices
from tests.unit.local_jobs import environment, run_locally
from tests.unit.runtime.operators.operator_bench import Bench


@pytest.mark.parametrize(
    ("identifier", "subtask", "parallelism", "line"),
    [
        ("", 0, 1, "v"),
        ("a", 0, 1, "a> v"),
        ("", 2, 4, "3> v"),
        ("a", 2, 4, "a:3> v"),
    ],
)
def test_w_85_print_prefix(identifier: str, subtask: int, parallelism: int, line: str) -> None:
    assert print_prefix(identifier, subtask, parallelism) + "v" == line
    printed: list[str] = []
    operator = PrintOperator(identifier)
    Bench(operator, index=subtask, parallelism=parallelism, services=TaskServices(print_lines=printed.extend))
    operator.process(["v"], None)
    assert printed == [line]


def test_w_85_through_the_api() -> None:
    env = environment(2)
    env.from_collection(["x"]).print("tag").set_parallelism(1)
    env.from_collection(["y"]).global_().print()
    assert sorted(run_locally(env).printed) == ["1> y", "tag> x"]


def test_a_run_is_handed_over_at_once() -> None:
    """Lines of one run are not torn apart by those of other subtasks."""
    runs: list[list[str]] = []
    operator = PrintOperator("")
    Bench(operator, services=TaskServices(print_lines=runs.append))
    operator.process([1, None, ("a", 2)], None)
    assert runs == [["1", "None", "('a', 2)"]]
