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
from pathlib import Path
from typing import Any

from benchmarks import memory
from penstock import SinkFunction, StreamExecutionEnvironment


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
    is_flat, sentence = memory.verdict(samples)
    print(f"records sent {options.records}, arrived {arrived}: {'nothing lost' if is_complete else 'NOT THE SAME'}")
    print(sentence)
    return 0 if is_complete and is_flat else 1


def _run(options: argparse.Namespace, directory: str) -> Iterator[memory.Sample]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(options.parallelism)
    numbers = env.from_sequence(1, options.records).map(lambda n: (n, "a reading of some length"))
    numbers.rebalance().add_sink(SlowSink(directory, options.pause_every))
    client = env.execute_async("soak")
    yield from memory.watch(client, options.interval)
    client.get_job_execution_result().result()
    env.close()


def _sum_to(count: int) -> int:
    return count * (count + 1) // 2


if __name__ == "__main__":
    sys.exit(main())
