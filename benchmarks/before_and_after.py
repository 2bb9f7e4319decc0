"""Compares two versions of Penstock: the jobs of the suite in one process each, without Spark, by processor time.

    python -m benchmarks.before_and_after PATH-OF-THE-OTHER-CHECKOUT [--jobs ...] [--records N] [--rounds N]

One process per version stays alive, on the same core, and both run the same short job in turns. The machine's speed
changes for seconds at a time, so the two runs of a round see the same speed: the median of the rounds' ratios counts,
and its spread is printed. Jobs, functions and sizes are those of this checkout on both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.catalogue import JOBS

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parent.parent


def _serve(job: str, records: int) -> None:
    """Run a job once for every line that arrives, and answer with its processor seconds."""
    from benchmarks.program import Assignment
    from benchmarks.systems import penstock as system
    from penstock import StreamExecutionEnvironment
    from penstock.testing.local_run import run_locally

    StreamExecutionEnvironment.execute = run_locally  # type: ignore[assignment, method-assign]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for _ in sys.stdin:
        with tempfile.TemporaryDirectory() as ledger:
            start = time.process_time()
            system.run(Assignment(job, records, 1, ledger))
            print("seconds", time.process_time() - start, flush=True)


class _Side:
    """One version of Penstock, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Take the process that runs the job when it is asked to."""
        self._process = process

    def seconds(self) -> float:
        """Run the job once and return its processor seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("run\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("seconds "):
                return float(line.split()[1])
        raise SystemExit("the process that was measured ended: see above")


@contextmanager
def _side(root: Path, libraries: list[str], job: str, records: int) -> Iterator[_Side]:
    """Start a process with the version of Penstock below a directory, and end it."""
    command = [sys.executable, "-m", "benchmarks.before_and_after", "--one", job, "--records", str(records)]
    with tempfile.TemporaryDirectory() as place:
        Path(place, "penstock").symlink_to(root / "penstock")
        Path(place, "benchmarks").symlink_to(_ROOT / "benchmarks")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*libraries, place])}
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=place, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                yield _Side(process)
            finally:
                process.kill()


def _compare(sides: dict[str, tuple[Path, list[str]]], job: str, records: int, rounds: int) -> dict[str, float]:
    """Return nanoseconds per record of both versions, and the median and quartiles of how they compare, in percent."""
    with ExitStack() as stack:
        before, after = (stack.enter_context(_side(*side, job, records)) for side in sides.values())
        times: list[tuple[float, float]] = []
        for number in range(rounds + 2):
            if number % 2:
                second = after.seconds()
                first = before.seconds()
            else:
                first = before.seconds()
                second = after.seconds()
            times.append((first, second))
    # Two rounds are for caches and for the interpreter's own specialisation.
    times = times[2:]
    low, middle, high = statistics.quantiles([(after / before - 1) * 100 for before, after in times], n=4)
    return {
        "before_ns": round(min(before for before, _ in times) / records * 1e9),
        "after_ns": round(min(after for _, after in times) / records * 1e9),
        "median_percent": round(middle, 1),
        "low_percent": round(low, 1),
        "high_percent": round(high, 1),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("before", nargs="?", type=Path, help="the checkout to compare with")
    parser.add_argument("--jobs", default=",".join(job.name for job in JOBS if not job.is_latency))
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--before-path", default="", help="directories with libraries of the other version alone")
    parser.add_argument("--after-path", default="", help="directories with libraries of this version alone")
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        _serve(arguments.one, arguments.records)
        return
    if arguments.before is None:
        parser.error("name the checkout to compare with")
    sides = {
        "before": (arguments.before.resolve(), [each for each in arguments.before_path.split(os.pathsep) if each]),
        "after": (_ROOT, [each for each in arguments.after_path.split(os.pathsep) if each]),
    }
    figures = {}
    for job in arguments.jobs.split(","):
        figures[job] = one = _compare(sides, job, arguments.records, arguments.rounds)
        print(
            f"{job:16} {one['before_ns']:6} ns {one['after_ns']:6} ns {one['median_percent']:+6.1f} %"
            f"  (half of the rounds: {one['low_percent']:+.1f} to {one['high_percent']:+.1f})",
            flush=True,
        )
    if arguments.output:
        arguments.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
