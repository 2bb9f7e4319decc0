"""The command: ``python -m benchmarks`` measures, prints a table and keeps the numbers."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import plots, report, verdicts
from benchmarks.catalogue import JOBS, SYSTEMS, UnknownNameError, choose_jobs, choose_systems
from benchmarks.suite import Plan, measure

_HISTORY = Path(__file__).parent / "history"


def main(arguments: list[str] | None = None) -> int:
    """Runs the benchmark as the command line says and returns the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.must_hold:
        _fill_in(options)
    try:
        plan = Plan(
            jobs=choose_jobs(options.jobs),
            systems=choose_systems(options.systems),
            repeats=options.repeats or (1 if options.quick else 3),
            parallelism=options.parallelism,
            records=options.records,
            quick=options.quick,
            timeout=options.timeout,
            rival_repeats=options.rival_repeats,
        )
    except UnknownNameError as mistake:
        parser.error(str(mistake))
    path = options.resume or options.output or _HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-{report.commit()}.json"
    measurements = measure(
        plan,
        lambda line: print(line, file=sys.stderr, flush=True),
        lambda so_far: report.write(path, report.document(plan, so_far)),
        report.read(options.resume) if options.resume else (),
    )
    print(", ".join(f"{name} {value}" for name, value in report.machine().items()))
    print(f"parallelism {plan.parallelism}, {plan.repeats} repeats, commit {report.commit()}\n")
    print(report.table(measurements), "\n")
    print(verdicts.table(measurements), "\n")
    print(report.settings(measurements))
    if any(each.errors for each in measurements):
        print("\nFailures\n\n" + report.failures(measurements))
    report.write(path, report.document(plan, measurements) | {"bars": verdicts.ratios(measurements)})
    print(f"\nwritten: {path}")
    if plots.can_draw():
        for picture in plots.draw(measurements, path.with_suffix("")):
            print(f"written: {picture}")
    return 1 if any(each.errors for each in measurements) else 0


def _fill_in(options: argparse.Namespace) -> None:
    """Chooses what is needed to judge every bar, and no more, where the command line has not chosen."""
    options.jobs = options.jobs or ",".join(job.name for job in JOBS if not job.is_latency)
    options.systems = options.systems or "handwritten,penstock,pyflink-thread,bytewax-threads,spark-tws"
    options.repeats = options.repeats or 2
    options.rival_repeats = options.rival_repeats or 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures the same jobs on several systems, side by side, and checks that their results are equal.",
        epilog="jobs: "
        + "; ".join(f"{job.name} ({job.title})" for job in JOBS)
        + ". systems: "
        + ", ".join(system.name for system in SYSTEMS),
    )
    parser.add_argument("--jobs", help="comma-separated; all if left out")
    parser.add_argument("--systems", help="comma-separated; pyflink, bytewax and spark stand for all their modes")
    parser.add_argument(
        "--must-hold",
        action="store_true",
        help="every throughput job on the better mode of each system, half an hour",
    )
    parser.add_argument("--records", type=int, help="records per throughput job; slow systems get fewer, see the table")
    parser.add_argument("--repeats", type=int, help="measurements of each job on each system (3; 1 with --quick)")
    parser.add_argument("--rival-repeats", type=int, help="the same for all systems but handwritten and penstock")
    parser.add_argument("--parallelism", type=int, default=2, help="sources and keyed subtasks (2)")
    parser.add_argument("--quick", action="store_true", help="small sizes and short latency runs, to see that it works")
    parser.add_argument(
        "--timeout", type=int, default=900, help="seconds after which one measurement is given up (900)"
    )
    parser.add_argument("--output", type=Path, help="JSON file; benchmarks/history/<date>-<commit>.json if left out")
    parser.add_argument("--resume", type=Path, help="JSON file of an interrupted run: what is in it is not run again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
