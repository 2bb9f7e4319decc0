"""The resident memory of all processes of a running job, as a table that grows while the job runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import JobStatus

GROWTH_MEGABYTES = 200
"""What a process may grow by between the first quarter of the run and its end."""


@dataclass(frozen=True)
class Sample:
    """The resident memory of the job's processes at one moment, in megabytes."""

    seconds: float
    driver: int
    jvm: int
    workers: tuple[int, ...]

    def row(self) -> str:
        """Returns the line of the table."""
        workers = "  ".join(f"{size:6d}" for size in self.workers)
        return f"{self.seconds:8.0f}  {self.driver:6d}  {self.jvm:6d}  {workers}"


def watch(client: Any, interval: float) -> Iterator[Sample]:
    """Prints and yields a sample every so many seconds until the job of a client ends."""
    started = time.monotonic()
    while client.get_job_status().result() is JobStatus.CREATED:
        time.sleep(0.1)
    workers = sorted(process for _, process in client._handle.processes().values())
    daemon = _parent_of(workers[0])
    jvm = _parent_of(daemon)
    print(
        f"{'seconds':>8}  {'driver':>6}  {'JVM':>6}  " + "  ".join(f"{pid:>6}" for pid in workers) + "  (MB resident)"
    )
    while client.get_job_status().result() is JobStatus.RUNNING:
        sizes = tuple(_resident(worker) for worker in workers)
        sample = Sample(time.monotonic() - started, _resident("self"), _resident(jvm), sizes)
        print(sample.row(), flush=True)
        yield sample
        _sleep_while_running(client, interval)


def growth(samples: list[Sample]) -> int:
    """Returns the largest growth of a process between the first quarter of the samples and the highest later one."""
    start = samples[len(samples) // 4]
    later = samples[len(samples) // 4 :]
    series = [
        [start.driver, *(sample.driver for sample in later)],
        [start.jvm, *(sample.jvm for sample in later)],
        *([size, *(sample.workers[index] for sample in later)] for index, size in enumerate(start.workers)),
    ]
    return max(max(sizes) - sizes[0] for sizes in series)


def verdict(samples: list[Sample]) -> tuple[bool, str]:
    """Returns whether memory stayed flat, and the sentence that says so."""
    grown = growth(samples)
    is_flat = grown <= GROWTH_MEGABYTES
    return is_flat, f"growth after the first quarter: {grown} MB ({'flat' if is_flat else 'NOT FLAT'})"


def _sleep_while_running(client: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and client.get_job_status().result() is JobStatus.RUNNING:
        time.sleep(0.1)


def _resident(process: int | str) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return 0  # it has just ended
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)


def _parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
