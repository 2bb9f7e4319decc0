"""What several tests do with a job."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.data_stream import DataStream
from penstock.execution.spark.driver.job_run import JobRun

__all__ = ["collect", "per_key", "run_of", "wait_for_back_pressure", "wait_until"]


def collect(stream: DataStream[Any], name: str = "test") -> list[Any]:
    """Runs the job and returns the records of a stream in the order they arrived."""
    records: Any = stream.execute_and_collect(name)
    with records:
        return list(records)


def per_key(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Groups pairs by their first field and keeps the order of the second: all that several subtasks promise."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return dict(found)


def run_of(client: Any) -> JobRun:
    """Returns what a job client asks."""
    run: JobRun = client._handle
    return run


def wait_until(condition: Callable[[], object], what: str, seconds: float = 60) -> None:
    """Waits for something that happens soon; the limit only keeps a broken build from hanging."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still waiting after {seconds} s: {what}"
        time.sleep(0.02)


def wait_for_back_pressure(client: Any) -> None:
    """Waits until a thousand records wait between two steps: a source sends faster than they are taken."""

    def is_held_back() -> bool:
        reports = run_of(client).metrics().values()
        taken = sum(report["records_in"] for report in reports if report["channels"])
        return sum(report["records_out"] for report in reports) - taken > 1000

    wait_until(is_held_back, "the source is held back")
