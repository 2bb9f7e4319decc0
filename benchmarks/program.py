"""The frame of a system's program: reads its assignment, warms up, measures once, writes JSON."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import ledger, workload
from benchmarks.nexmark import CLOCK_JOB


@dataclass(frozen=True)
class Assignment:
    """One measurement a program is asked for."""

    job: str
    records: int
    parallelism: int
    ledger: str
    variant: str = ""
    """The system's mode, such as process or thread; empty where there is only one."""

    seconds: int = 0
    """How long a latency job is measured."""

    settle: int = 0
    """How long a latency job runs before it is measured."""

    @property
    def units(self) -> int:
        """Numbers the source emits: lines for the word count, records for the others."""
        return self.records // workload.WORDS_PER_LINE if self.job == "words" else self.records

    @property
    def is_latency(self) -> bool:
        """Whether the job measures delays instead of throughput."""
        return self.job in workload.EXCHANGES


@dataclass(frozen=True)
class Outcome:
    """What a program says about itself beside the ledger."""

    settings: dict[str, str]
    versions: dict[str, str]


def main(run: Callable[[Assignment], Outcome]) -> None:
    """Runs one assignment given on the command line and writes the result to the file named there."""
    parser = argparse.ArgumentParser(description="Runs one benchmark job on one system.")
    parser.add_argument("--job", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=0, help="records of an unmeasured run before the measured one")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--variant", default="")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--settle", type=int, default=5)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as scratch:
        assignment = Assignment(
            job=options.job,
            records=options.records,
            parallelism=options.parallelism,
            ledger=str(_folder(scratch, "measured")),
            variant=options.variant,
            seconds=options.seconds,
            settle=options.settle,
        )
        if options.warmup and not assignment.is_latency:
            run(replace(assignment, records=options.warmup, ledger=str(_folder(scratch, "warm-up"))))
        outcome = run(assignment)
        reading = ledger.read(assignment.ledger)
    Path(options.output).write_text(json.dumps(_result(assignment, outcome, reading)))


def _folder(scratch: str, name: str) -> Path:
    path = Path(scratch, name)
    path.mkdir()
    return path


def _result(assignment: Assignment, outcome: Outcome, reading: ledger.Reading) -> dict[str, object]:
    result: dict[str, object] = {
        "records": assignment.records,
        "settings": outcome.settings,
        "versions": outcome.versions,
    }
    if assignment.is_latency:
        result["checks"] = {"results": len(reading.delays_ms)}
        shares = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
        result["latency_ms"] = {name: ledger.percentile(reading.delays_ms, share) for name, share in shares.items()}
    else:
        result["seconds"] = reading.seconds
        result["span_ns"] = reading.span_ns
        # How many windows of the clock there are is a matter of speed.
        results = {} if assignment.job == CLOCK_JOB else {"results": reading.results}
        result["checks"] = results | {"sum": reading.total}
    return result
