"""Back-pressure over a long run: a fast source, a deliberately slow sink, and the memory of every process.

``python -m benchmarks.soak --records 50000000`` prints a table while the job runs and says at the end whether every
record arrived and whether memory stayed flat.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import JobStatus, SinkFunction, StreamExecutionEnvironment

GROWTH_MEGABYTES = 200
"""What a process may grow by between the first quarter of the run and its end."""


class SlowSink(SinkFunction):
    """Adds numbers up and pauses after every few thousand of them."""

    def __init__(self, directory: str, pause_every: int) -> None:
        self.directory = directory
        self.pause_every = pause_every

    def open(self, runtime_context: Any) -> None:
        self.path = Path(self.directory) / str(runtime_context.get_index_of_this_subtask())
        self.count = self.total = 0

    def invoke(self, value: tuple[int, str], context: Any) -> None:
        self.count += 1
        self.total += value[0]
        if self.count % self.pause_every == 0:
            time.sleep(0.01)

    def close(self) -> None:
        self.path.write_text(f"{self.count} {self.total}")


@dataclass(frozen=True)
class Sample:
    """The resident memory of the job's processes at one moment, in megabytes."""

    seconds: float
    driver: int
    jvm: int
    workers: tuple[int, ...]

    def row(self) -> str:
        workers = "  ".join(f"{size:6d}" for size in self.workers)
        return f"{self.seconds:8.0f}  {self.driver:6d}  {self.jvm:6d}  {workers}"


def main(arguments: list[str] | None = None) -> int:
    """Runs the job as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--records", type=int, default=50_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--pause-every", type=int, default=2_000, help="records a sink takes between pauses of 10 ms")
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between rows of the table")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        samples = list(_run(options, directory))
        counts = [tuple(map(int, path.read_text().split())) for path in Path(directory).iterdir()]
    arrived = sum(count for count, _ in counts)
    is_complete = arrived == options.records and sum(total for _, total in counts) == _sum_to(options.records)
    growth = _growth(samples)
    print(f"records sent {options.records}, arrived {arrived}: {'nothing lost' if is_complete else 'NOT THE SAME'}")
    print(f"growth after the first quarter: {growth} MB ({'flat' if growth <= GROWTH_MEGABYTES else 'NOT FLAT'})")
    return 0 if is_complete and growth <= GROWTH_MEGABYTES else 1


def _run(options: argparse.Namespace, directory: str) -> Iterator[Sample]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(options.parallelism)
    numbers = env.from_sequence(1, options.records).map(lambda n: (n, "a reading of some length"))
    numbers.rebalance().add_sink(SlowSink(directory, options.pause_every))
    started = time.monotonic()
    client = env.execute_async("soak")
    while client.get_job_status().result() is JobStatus.CREATED:
        time.sleep(0.1)
    workers = sorted(process for _, process in client._handle.processes().values())  # type: ignore[attr-defined]
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
        _sleep_while_running(client, options.interval)
    client.get_job_execution_result().result()
    env.close()


def _sleep_while_running(client: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and client.get_job_status().result() is JobStatus.RUNNING:
        time.sleep(0.1)


def _growth(samples: list[Sample]) -> int:
    """Returns the largest growth of a process between the first quarter of the samples and the highest later one."""
    start = samples[len(samples) // 4]
    later = samples[len(samples) // 4 :]
    series = [
        [start.driver, *(sample.driver for sample in later)],
        [start.jvm, *(sample.jvm for sample in later)],
        *([size, *(sample.workers[index] for sample in later)] for index, size in enumerate(start.workers)),
    ]
    return max(max(sizes) - sizes[0] for sizes in series)


def _sum_to(count: int) -> int:
    return count * (count + 1) // 2


def _resident(process: int | str) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return 0  # it has just ended
    return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS:")), 0)


def _parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main())
