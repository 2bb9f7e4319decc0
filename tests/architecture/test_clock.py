"""The time comes from the injected clock, so that tests can set it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

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


def test_the_clock_is_where_this_says() -> None:
    assert CLOCK in {file.place for file in source_files()}
