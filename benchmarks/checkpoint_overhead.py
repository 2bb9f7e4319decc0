"""What checkpoints every second cost a keyed job on Spark with 100 MB of heap state.

``python -m benchmarks.checkpoint_overhead`` runs the same job with and without checkpoints, in turns and in one Spark
session. A job fills its state first; then records per second are counted for some seconds. The share of throughput
that is lost is formed within each pair of runs. For each checkpoint and subtask it also shows for how long no record
was processed, which contains the synchronous part, and how long the checkpoint took in all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import state_history
from benchmarks.state_job import CheckpointTimes, CountWithPayload, JobLog, KeyOfNumber, wait
from penstock import NumberSequenceSource, StreamExecutionEnvironment, WatermarkStrategy

BAR = 10.0
"""The share of throughput, in percent, that checkpoints may cost."""
_SECOND = 1_000_000_000
_NEVER = 1 << 60
_BYTES_BESIDE_PAYLOAD = 15
"""What a key, a count and their places in a snapshot take, so that the size of the state can be asked for."""


@dataclass(frozen=True)
class Run:
    """One run of the job."""

    records_per_second: float
    checkpoint_bytes: int
    checkpoints: list[CheckpointTimes]


@dataclass(frozen=True)
class Plan:
    """What is run."""

    keys: int
    payload: int
    parallelism: int
    interval: int
    seconds: float


def run(plan: Plan, *, has_checkpoints: bool) -> Run:
    """Runs the job once."""
    with tempfile.TemporaryDirectory() as place:
        log, checkpoints = Path(place) / "log", Path(place) / "checkpoints"
        log.mkdir()
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(plan.parallelism)
        if has_checkpoints:
            env.enable_checkpointing(plan.interval)
            env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{checkpoints}")
        source = NumberSequenceSource(0, _NEVER)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        keyed = numbers.map(KeyOfNumber(plan.keys)).key_by(lambda key: key)
        keyed.process(CountWithPayload(str(log), plan.payload)).print()
        client = env.execute_async("checkpoint overhead")
        job = JobLog(log)
        try:
            while job.records() < 3 * plan.keys:
                wait(client, 0.2)
            wait(client, 2 * plan.interval / 1000 if has_checkpoints else 0)
            start = time.monotonic_ns()
            wait(client, plan.seconds)
            end = time.monotonic_ns()
            size = _largest_checkpoint(checkpoints)
            wait(client, 0.5)
        finally:
            client.cancel().result()
        return Run(job.rate(start, end), size, job.checkpoints(start, end))


def _largest_checkpoint(directory: Path) -> int:
    sizes: dict[Path, int] = {}
    for path in directory.glob("*/chk-*/*"):
        try:
            sizes[path.parent] = sizes.get(path.parent, 0) + path.stat().st_size
        except FileNotFoundError:
            continue  # an older checkpoint is being removed
    return max(sizes.values(), default=0)


def main(arguments: list[str] | None = None) -> int:
    """Runs the pairs as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checkpoint_overhead", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--interval", type=int, default=1000, help="milliseconds")
    parser.add_argument("--seconds", type=float, default=10.0, help="measured per run")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    payload = options.megabytes * 1_000_000 // options.keys - _BYTES_BESIDE_PAYLOAD
    plan = Plan(options.keys, payload, options.parallelism, options.interval, options.seconds)
    run(plan, has_checkpoints=True)  # starts Spark and warms it up
    without: list[Run] = []
    with_them: list[Run] = []
    for _ in range(options.pairs):
        without.append(run(plan, has_checkpoints=False))
        with_them.append(run(plan, has_checkpoints=True))
        one, other = without[-1], with_them[-1]
        print(
            f"{one.records_per_second:10,.0f} records/s without, {other.records_per_second:10,.0f} with;"
            f" {other.checkpoint_bytes / 1e6:.0f} MB per checkpoint",
            flush=True,
        )
    lost = [
        100 * (1 - other.records_per_second / one.records_per_second)
        for one, other in zip(without, with_them, strict=True)
    ]
    times = [each for one in with_them for each in one.checkpoints]
    stopped = [each.stopped for each in times]
    bars = [
        state_history.Bar.of("throughput lost to checkpoints, percent", lost, BAR),
        state_history.Bar.of("no record processed per checkpoint, ms", stopped),
        state_history.Bar("the longest of them, ms", max(stopped), min(stopped), max(stopped)),
        state_history.Bar.of("a checkpoint in all, ms", [each.total for each in times]),
    ]
    details = {"without": [asdict(each) for each in without], "with": [asdict(each) for each in with_them]}
    return state_history.keep("checkpoint-overhead", bars, asdict(plan), details, options.output)


if __name__ == "__main__":
    sys.exit(main())
