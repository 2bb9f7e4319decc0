"""The time comes from the injected clock, so that tests can set it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.architecture.source_tree import source_files

CLOCK = "penstock/foundation/clock.py"
TIME = {
    "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "sleep", "time",
    "time_ns",
}  # fmt: skip
DATETIME = {"now", "today", "utcnow"}


def test_only_the_clock_asks_the_system_for_the_time() -> None:
    found = [
        f"{file.place}:{line} {what}"
        for file in source_files()
        if file.place != CLOCK
        for line, what in system_time_uses(file.tree)
    ]
    assert found == [], f"inject a clock of {CLOCK} instead"


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(1)",
        "import time as t\nx = t.monotonic",
        "from time import perf_counter",
        "from datetime import datetime\ndatetime.now()",
        "import datetime as d\nd.datetime.now(d.UTC)",
        "import datetime\ndatetime.date.today()",
    ],
)
def test_the_check_sees_every_spelling(text: str) -> None:
    assert len(list(system_time_uses(ast.parse(text)))) == 1


def test_the_check_leaves_other_names_alone() -> None:
    text = (
        "import time\nfrom datetime import datetime\ntime.gmtime(0)\nself.clock.time()\ndatetime.fromtimestamp(0, tz)"
    )
    assert list(system_time_uses(ast.parse(text))) == []


def system_time_uses(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Where a module reads the system's time or sleeps, as line and name."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name: a.name for a in node.names if a.name in {"time", "datetime"}}
        elif isinstance(node, ast.ImportFrom) and node.module == "datetime":
            modules |= {a.asname or a.name: f"datetime.{a.name}" for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from ((node.lineno, f"time.{a.name}") for a in node.names if a.name in TIME)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            first, dot, rest = ast.unparse(node.value).partition(".")
            owner = modules.get(first, "") + dot + rest
            if (owner == "time" and node.attr in TIME) or (
                owner in {"datetime.datetime", "datetime.date"} and node.attr in DATETIME
            ):
                yield node.lineno, f"{owner}.{node.attr}"


MAY_COMPARE_TIMES = {
    "penstock/runtime/time/processing_time.py": "compares the two clocks",
    "penstock/connectors/files/source/source.py": "compares with what the file system says",
    "penstock/connectors/two_phase_commit.py": "the beginning of a transaction outlives the process",
    "penstock/connectors/mysql/polling_readers.py": "the time of the next read outlives the process",
    "penstock/testing/local_run.py": "its clock is one that tests move",
    "penstock/operations/registry.py": "heartbeats of other processes are dated by the time of day",
    "penstock/operations/rest/diagnosis_answers.py": "says how far a watermark is behind the time of day",
    "penstock/operations/rest/job_answers.py": "durations that are shown lie between times that are shown",
    "penstock/operations/rest/vertex_answers.py": "durations that are shown lie between times that are shown",
}


def test_durations_are_measured_by_the_clock_that_only_counts() -> None:
    """The time of day may be set back: what is computed from two readings of it is no duration."""
    found = [
        f"{file.place}:{line}"
        for file in source_files()
        if file.place not in MAY_COMPARE_TIMES
        for line in differences_of_times(file.tree)
    ]
    assert found == [], "measure durations by Clock.elapsed()"


def test_the_check_sees_differences() -> None:
    text = "a = clock.now() - start\nif self._clock.now() >= due: pass\nb = later - context.now()\nc = clock.now() + 5"
    assert list(differences_of_times(ast.parse(text))) == [1, 2, 3]


def differences_of_times(tree: ast.Module) -> Iterator[int]:
    """Where a module subtracts, or compares with, what ``now()`` of something has returned."""

    def is_reading(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "now"

    for node in ast.walk(tree):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Sub)
            and (map_any(is_reading, node.left, node.right))
        ) or (isinstance(node, ast.Compare) and map_any(is_reading, node.left, *node.comparators)):
            yield node.lineno


def map_any(is_so: Callable[[ast.AST], bool], *nodes: ast.AST) -> bool:
    return any(map(is_so, nodes))


def test_the_clock_is_where_this_says() -> None:
    assert CLOCK in {file.place for file in source_files()}
