"""Compares two versions of Penstock: the jobs of the suite in one process each, without Spark, by processor time.

    python -m benchmarks.before_and_after PATH-OF-THE-OTHER-CHECKOUT [--jobs ...] [--records N] [--repeats N]

Both take turns, and the least processor time of each counts: what else the machine is doing adds to it and never takes
away. Jobs, functions and sizes are those of this checkout on both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.catalogue import JOBS

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parent.parent


def _measure(job: str, records: int) -> float:
    """Return the processor seconds of one job, in this process, after a smaller one that is not counted."""
    from benchmarks.program import Assignment
    from benchmarks.systems import penstock as system
    from penstock import StreamExecutionEnvironment
    from penstock.testing.local_run import run_locally

    StreamExecutionEnvironment.execute = run_locally  # type: ignore[assignment, method-assign]
    seconds = 0.0
    for size in (records // 10, records):
        with tempfile.TemporaryDirectory() as ledger:
            start = time.process_time()
            system.run(Assignment(job, size, 1, ledger))
            seconds = time.process_time() - start
    return seconds


def _run(root: Path, libraries: list[str], job: str, records: int) -> float:
    """Return the processor seconds of one job with the version of Penstock below a directory."""
    command = [sys.executable, "-m", "benchmarks.before_and_after", "--one", job, "--records", str(records)]
    with tempfile.TemporaryDirectory() as place:
        Path(place, "penstock").symlink_to(root / "penstock")
        Path(place, "benchmarks").symlink_to(_ROOT / "benchmarks")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*libraries, place])}
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("before", nargs="?", type=Path, help="the checkout to compare with")
    parser.add_argument("--jobs", default=",".join(job.name for job in JOBS if not job.is_latency))
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--before-path", default="", help="directories with libraries of the other version alone")
    parser.add_argument("--after-path", default="", help="directories with libraries of this version alone")
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(_measure(arguments.one, arguments.records))
        return
    if arguments.before is None:
        parser.error("name the checkout to compare with")
    sides = {
        "before": (arguments.before.resolve(), [each for each in arguments.before_path.split(os.pathsep) if each]),
        "after": (_ROOT, [each for each in arguments.after_path.split(os.pathsep) if each]),
    }
    figures = {}
    for job in arguments.jobs.split(","):
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(arguments.repeats):
            for side, (root, libraries) in sides.items():
                best[side] = min(best[side], _run(root, libraries, job, arguments.records))
        figures[job] = {side: round(seconds / arguments.records * 1e9) for side, seconds in best.items()}
        change = best["after"] / best["before"] - 1
        print(f"{job:16} {figures[job]['before']:6} ns {figures[job]['after']:6} ns {change:+7.1%}", flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
