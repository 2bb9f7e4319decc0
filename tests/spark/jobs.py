"""What several tests do with a job."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from penstock.api.data_stream import DataStream
from penstock.execution.spark.driver.job_run import JobRun

__all__ = ["Slowly", "collect", "per_key", "run_of", "wait_until"]


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


class Slowly:
    """A function that takes its time, and tells when it has taken twenty records: its source could send millions."""

    def __init__(self, seconds: float, directory: Path) -> None:
        self._seconds = seconds
        self._told = directory / "twenty records"
        self._taken = 0

    def __call__(self, _: Any) -> None:
        time.sleep(self._seconds)
        self._taken += 1
        if self._taken == 20:
            self._told.touch()

    def wait_for_back_pressure(self) -> None:
        """Waits until whoever sends to this function is held back by it."""
        wait_until(self._told.exists, "the slow function has taken twenty records")
