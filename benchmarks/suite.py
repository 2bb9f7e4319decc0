"""Runs jobs on systems, each measurement in a process of its own, and collects what they report."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks import environments, expected
from benchmarks.catalogue import Job, System
from benchmarks.workload import LATENCY_RATE

_ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Plan:
    """What one invocation measures and how."""

    jobs: list[Job]
    systems: list[System]
    repeats: int
    parallelism: int
    records: int | None = None
    quick: bool = False
    timeout: int = 900
    rival_repeats: int | None = None
    """Repeats of systems other than the limit and penstock, whose distance is too large to need many."""

    def repeats_of(self, system: System) -> int:
        """Returns how often a system is measured."""
        is_rival = system.family not in ("handwritten", "penstock")
        return self.rival_repeats if is_rival and self.rival_repeats is not None else self.repeats

    @property
    def seconds(self) -> int:
        """How long a latency job is measured."""
        return 5 if self.quick else 20

    @property
    def settle(self) -> int:
        """How long a latency job runs before it is measured: longer than a first micro-batch takes."""
        return 10


@dataclass
class Measurement:
    """All repeats of one job on one system."""

    job: str
    system: str
    family: str
    records: int
    samples: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def measure(
    plan: Plan,
    tell: Callable[[str], None],
    keep: Callable[[list[Measurement]], None] = lambda _: None,
    known: Sequence[Measurement] = (),
) -> list[Measurement]:
    """Runs the whole plan: job by job, within a job repeat by repeat, so that a ratio's two sides run close in time.

    ``keep`` gets everything so far after each sample; what is ``known`` from an interrupted run is not run again.
    """
    measurements = list(known)
    found = {(each.job, each.system): each for each in known}
    for job in plan.jobs:
        for system in _able(plan, job):
            if (job.name, system.name) not in found:
                fresh = Measurement(job.name, system.name, system.family, _records(plan, job, system))
                found[job.name, system.name] = fresh
                measurements.append(fresh)
        for repeat in range(max(plan.repeats, plan.rival_repeats or 0)):
            for system in _able(plan, job):
                measurement = found[job.name, system.name]
                if repeat >= plan.repeats_of(system) or len(measurement.samples) + len(measurement.errors) > repeat:
                    continue
                tell(f"{job.name}: {system.name} ({repeat + 1} of {plan.repeats_of(system)}) ...")
                _add_sample(plan, job, system, measurement)
                keep(measurements)
    return measurements


def _able(plan: Plan, job: Job) -> Iterator[System]:
    return (system for system in plan.systems if job.name in system.jobs)


def _records(plan: Plan, job: Job, system: System) -> int:
    if job.is_latency:
        return 0
    return system.records(job, plan.records, quick=plan.quick, parallelism=plan.parallelism)


def _add_sample(plan: Plan, job: Job, system: System, measurement: Measurement) -> None:
    try:
        sample = run_program(plan, job, system, measurement.records)
    except (MeasurementFailedError, environments.EnvironmentFailedError) as failure:
        measurement.errors.append(str(failure))
        return
    if job.is_latency:
        should = {"results": LATENCY_RATE * plan.seconds}
    else:
        should = _expected(job.name, measurement.records, plan.parallelism)
    if sample["checks"] != should and not (job.is_latency and system.newest_only):
        measurement.errors.append(f"wrong results: {sample['checks']} instead of {should}")
        return
    measurement.samples.append(sample)


@cache
def _expected(job: str, records: int, parallelism: int) -> expected.Checks:
    return expected.checks(job, records, parallelism)


class MeasurementFailedError(Exception):
    """A system's program did not deliver; the message ends with the last lines it printed."""


def run_program(plan: Plan, job: Job, system: System, records: int) -> dict[str, Any]:
    """Runs one job once in a process of its own and returns what it reports."""
    python = environments.interpreter(system.environment)
    step = 10 * plan.parallelism
    with tempfile.TemporaryDirectory(prefix="benchmark-") as scratch:
        output, log = Path(scratch, "result.json"), Path(scratch, "log.txt")
        command = [
            *(str(python), "-m", f"benchmarks.systems.{system.module}"),
            *("--job", job.name, "--records", str(records), "--warmup", str(max(step, records // 20 // step * step))),
            *("--parallelism", str(plan.parallelism), "--variant", system.variant),
            *("--seconds", str(plan.seconds), "--settle", str(plan.settle), "--output", str(output)),
        ]
        with log.open("w") as stream:
            code = _call(command, stream, plan.timeout)
        if code or not output.exists():
            reason = f"no result within {plan.timeout} s" if code is None else f"exit code {code}"
            raise MeasurementFailedError(f"{reason}; it printed:\n{telling_lines(log.read_text(errors='replace'))}")
        sample: dict[str, Any] = json.loads(output.read_text())
    return sample


def telling_lines(log: str) -> str:
    """Picks the lines that say why a program failed: the causes in a Java trace, the end of any other log."""
    lines = [line for line in log.strip().splitlines() if not line.lstrip().startswith(("at ", "..."))]
    causes = [line for line in lines if line.startswith("Caused by")]
    return _without_places("\n".join(causes or lines[-12:]))


def _without_places(text: str) -> str:
    """Takes the machine's own folders out of what goes into the kept history."""
    places = {str(_ROOT): ".", sys.prefix: "<environment>", sys.base_prefix: "<python>", str(Path.home()): "~"}
    for place, sign in places.items():
        text = text.replace(place, sign)
    return text


def _call(command: list[str], log: Any, timeout: int) -> int | None:
    """Runs a program in a process group of its own, so that whatever it started ends with it."""
    # PyFlink's thread mode asks the first python on the path where its packages are.
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    variables = os.environ | {"PATH": path, "PYTHONPATH": str(_ROOT), "PYTHONHASHSEED": "0"}
    process = subprocess.Popen(
        command, cwd=_ROOT, env=variables, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
