"""A slow sink slows the source down; what waits between them does not grow."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from penstock import JobStatus, SinkFunction, StreamExecutionEnvironment
from tests.spark.jobs import run_of, wait_until
from tests.spark.processes import children_of

RECORDS = 600_000
SIZE = 1_000
"""Bytes of a record: altogether far more than the job may hold."""
GROWTH = 250
"""Megabytes that a process may grow by after the job has got going; without back-pressure it would be 600."""


class SlowSink(SinkFunction):
    """Counts, with a pause every thousand records."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        self.path = Path(self.directory) / f"{runtime_context.get_index_of_this_subtask()}"
        self.count = self.total = 0

    def invoke(self, value: Any, context: Any) -> None:
        self.count += 1
        self.total += value[0]
        if self.count % 1_000 == 0:
            time.sleep(0.02)

    def close(self) -> None:
        self.path.write_text(f"{self.count} {self.total}")


def resident_megabytes(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_stays_flat_in_front_of_a_slow_sink(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    payload = "x" * SIZE
    records = env.from_sequence(1, RECORDS).set_parallelism(1).map(lambda n: (n, payload + str(n))).set_parallelism(1)
    records.rebalance().add_sink(SlowSink(str(tmp_path)))
    client = env.execute_async("slow")
    run = run_of(client)
    wait_until(lambda: client.get_job_status().result() is not JobStatus.CREATED, "the job runs")
    workers = [process for _, process in run.processes().values()]
    watched = [*workers, *parents_of(workers)]
    time.sleep(2)
    before = {process: resident_megabytes(process) for process in watched}
    highest = dict(before)
    while client.get_job_status().result() is JobStatus.RUNNING:
        for process in watched:
            highest[process] = max(highest[process], resident_megabytes(process))
        time.sleep(0.1)
    client.get_job_execution_result().result(0)
    growth = {process: highest[process] - before[process] for process in watched}
    assert max(growth.values()) < GROWTH, growth
    counts = [tuple(map(int, path.read_text().split())) for path in tmp_path.iterdir()]
    assert sum(count for count, _ in counts) == RECORDS
    assert sum(total for _, total in counts) == RECORDS * (RECORDS + 1) // 2


def parents_of(workers: list[int]) -> list[int]:
    """Returns the JVM behind the workers: the parent of their parent."""
    daemon = parent_of(workers[0])
    assert workers[0] in children_of(daemon)
    return [parent_of(daemon)]


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
