"""Tells on the terminal how far a long batch job has come: stage, tasks, records."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.execution.spark.batch.attempt import BatchAttempt
    from penstock.graph.job import Job

__all__ = ["Progress", "progress_line"]

_FIRST_SECONDS = 3.0
"""A job that ends sooner says nothing."""
_SECONDS = 1.0
_SECONDS_IN_FILES = 10.0


def progress_line(job: Job, attempt: BatchAttempt) -> str:
    """Return where a job is."""
    stages = job.plan.stages
    finished = dict.fromkeys(range(len(stages)), 0)
    for stage, _ in list(attempt.finished):
        finished[stage] += 1
    at = next((stage for stage in stages if finished[stage.index] < stage.parallelism), stages[-1])
    records = sum(
        max(report["records_in"], report["records_out"])
        for (stage, _), values in list(attempt.metrics.items())
        if stage == at.index
        for report in values.get("subtasks", {}).values()
    )
    again = sum(attempt.begun.values()) - len(attempt.begun)
    repeated = f", {again} tasks run again" if again else ""
    return (
        f"stage {at.index + 1} of {len(stages)}, {finished[at.index]} of {at.parallelism} tasks,"
        f" {records:,} records{repeated}"
    )


class Progress:
    """Writes a line to standard error every now and then: over the last one on a terminal, below it elsewhere."""

    def __init__(self, job: Job, attempt: Callable[[], BatchAttempt | None]) -> None:
        self._job = job
        self._attempt = attempt
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="penstock progress", daemon=True)

    def start(self) -> None:
        """Start telling."""
        self._thread.start()

    def end(self) -> None:
        """Say no more."""
        self._ended.set()
        self._thread.join()

    def _tell(self) -> None:
        is_terminal = sys.stderr.isatty()
        has_told = False
        wait = _FIRST_SECONDS
        while not self._ended.wait(wait):
            wait = _SECONDS if is_terminal else _SECONDS_IN_FILES
            attempt = self._attempt()
            if attempt is None:
                continue
            line = f"penstock: job {self._job.name!r}: {progress_line(self._job, attempt)}"
            sys.stderr.write(f"\r\x1b[K{line}" if is_terminal else f"{line}\n")
            sys.stderr.flush()
            has_told = True
        if has_told and is_terminal:
            sys.stderr.write("\n")
            sys.stderr.flush()
