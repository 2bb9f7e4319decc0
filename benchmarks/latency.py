"""The command: ``python -m benchmarks.latency`` measures how old records are when they arrive, and an idle job's cost.

Records are due at fixed times and their age counts from then, so a system that stalls cannot hide it.
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
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import plots, report
from benchmarks.processors import processor_times
from benchmarks.suite import telling_lines

_ROOT = Path(__file__).parent.parent
_HISTORY = Path(__file__).parent / "history"
RATES = (1_000, 10_000, 50_000)
EXCHANGES = (1, 2, 3)
PERCENTILES = ("p50", "p99", "p99.9", "max")


@dataclass
class Run:
    """One setting and what was measured with it."""

    rate: int
    exchanges: int
    checkpoint_millis: int
    samples: list[dict[str, float]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """Names the setting."""
        checkpoints = f", checkpoint every {self.checkpoint_millis} ms" if self.checkpoint_millis else ""
        return f"{self.rate:,}/s, {self.exchanges} exchange{'s' if self.exchanges > 1 else ''}{checkpoints}"

    def median(self, name: str) -> float:
        """Returns the median of a percentile over the repeats."""
        return statistics.median(sample[name] for sample in self.samples)


def settings(*, quick: bool) -> list[Run]:
    """Returns what is measured: every rate through every number of exchanges, and checkpoints through one."""
    plain = [Run(rate, exchanges, 0) for rate in RATES for exchanges in EXCHANGES]
    checkpointed = [Run(rate, 1, 1_000) for rate in RATES]
    return [plain[0], checkpointed[0]] if quick else [*plain, *checkpointed]


def measure(runs: list[Run], *, repeats: int, settle: float, seconds: float, keep: Callable[[], None]) -> None:
    """Runs every setting, repeat by repeat, so that settings are compared close in time."""
    for _ in range(repeats):
        for run in runs:
            print(f"{run.title} ...", file=sys.stderr, flush=True)
            options = ["--rate", str(run.rate), "--exchanges", str(run.exchanges)]
            options += ["--checkpoint-millis", str(run.checkpoint_millis)]
            try:
                sample = _program([*options, "--settle", str(settle), "--seconds", str(seconds)])
            except RuntimeError as failure:
                run.errors.append(str(failure))
            else:
                wanted = run.rate * seconds
                if not wanted * 0.98 <= sample["records"] <= wanted * 1.02:
                    run.errors.append(f"{sample['records']} records arrived instead of {wanted:,.0f}")
                else:
                    run.samples.append(sample)
            keep()


def idle_cpu(*, settle: float, seconds: float) -> dict[str, float]:
    """Returns the percent of one core that the processes of a job without records use, by kind of process."""
    options = ["--rate", "0", "--settle", "0", "--seconds", str(settle + seconds + 5)]
    with tempfile.TemporaryDirectory(prefix="idle-") as scratch:
        process = _start(options, Path(scratch, "result.json"), Path(scratch, "log.txt"))
        _wait_for_workers(process)
        time.sleep(settle)
        before, began = processor_times(process.pid), time.monotonic()
        time.sleep(seconds)
        after, elapsed = processor_times(process.pid), time.monotonic() - began
        process.wait()
    used = {kind: sum(after[pid][1] - before[pid][1] for pid in after if pid in before and after[pid][0] == kind)
            for kind in ("driver", "JVM", "workers")}  # fmt: skip
    return {kind: round(100 * spent / elapsed, 2) for kind, spent in used.items()}


def _wait_for_workers(process: subprocess.Popen[bytes]) -> None:
    """Waits until the job's tasks run: a daemon and four workers behind the JVM."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if sum(kind == "workers" for kind, _ in processor_times(process.pid).values()) >= 5:
            return
        time.sleep(0.2)
    message = "the idle job did not start within two minutes"
    raise RuntimeError(message)


def _program(options: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="latency-") as scratch:
        output, log = Path(scratch, "result.json"), Path(scratch, "log.txt")
        code = _start(options, output, log).wait()
        if code or not output.exists():
            raise RuntimeError(f"exit code {code}; it printed:\n{telling_lines(log.read_text(errors='replace'))}")
        result: dict[str, float] = json.loads(output.read_text())
    return result


def _start(options: list[str], output: Path, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.systems.penstock_latency", *options, "--output", str(output)]
    variables = os.environ | {"PYTHONPATH": str(_ROOT)}
    with log.open("w") as stream:
        return subprocess.Popen(command, cwd=_ROOT, env=variables, stdout=stream, stderr=subprocess.STDOUT)


def table(runs: list[Run]) -> str:
    """Renders a line per setting."""
    lines = [f"{'milliseconds from when a record was due':48}" + "".join(f"{name:>9}" for name in PERCENTILES)]
    for run in runs:
        if run.samples:
            lines.append(f"{run.title:48}" + "".join(f"{run.median(name):9.2f}" for name in PERCENTILES))
        else:
            lines.append(f"{run.title:48}{run.errors[0].splitlines()[0] if run.errors else 'not run'}")
    return "\n".join([*lines, *verdicts(runs)])


def verdicts(runs: list[Run]) -> list[str]:
    """Says whether what must hold about latency does."""
    found = {(run.rate, run.exchanges, run.checkpoint_millis): run for run in runs if run.samples}
    lines = []
    plain = found.get((10_000, 1, 0))
    if plain is not None:
        share = plain.median("p99") / plain.median("p50")
        lines.append(f"p99 at 10,000/s through one exchange is {share:.2f} x its p50 (must be 5): {share <= 5}")
    for rate in RATES:
        without, with_them = found.get((rate, 1, 0)), found.get((rate, 1, 1_000))
        if without is not None and with_them is not None:
            rise = with_them.median("p99") / without.median("p99")
            lines.append(f"checkpoints every second raise p99 at {rate:,}/s {rise:.2f} x (must be 2): {rise <= 2}")
    return lines


def draw(runs: list[Run], path: Path) -> Path:
    """Draws the percentiles of every setting."""
    from matplotlib import pyplot as plt  # type: ignore[import-not-found, unused-ignore]

    shown = [run for run in runs if run.samples]
    figure, panel = plt.subplots(figsize=(9, 0.5 * len(shown) + 1.5), layout="constrained")
    for name, sign in zip(PERCENTILES, "o^sx", strict=True):
        panel.plot([run.median(name) for run in shown], range(len(shown)), sign, label=name)
    panel.set_yticks(range(len(shown)), [run.title for run in shown])
    panel.invert_yaxis()
    panel.set_xscale("log")
    panel.set_xlabel("milliseconds from when a record was due")
    panel.legend()
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path


def main(arguments: list[str] | None = None) -> int:
    """Measures what the command line asks for and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two settings only, to see that it works")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--settle", type=float, default=5, help="seconds that are not measured (5)")
    parser.add_argument("--seconds", type=float, default=10, help="seconds that are measured (10)")
    parser.add_argument("--output", type=Path, help="JSON file; benchmarks/history/<date>-<commit>-latency.json")
    options = parser.parse_args(arguments)
    path = options.output or _HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-{report.commit()}-latency.json"
    runs = settings(quick=options.quick)
    idle: dict[str, float] = {}

    def document() -> dict[str, Any]:
        made = datetime.now(UTC).isoformat(timespec="seconds")
        kept = [asdict(run) for run in runs]
        return {"made": made, "commit": report.commit(), "machine": report.machine(), "runs": kept,
                "idle cpu percent": idle, "verdicts": verdicts(runs)}  # fmt: skip

    measure(
        runs,
        repeats=options.repeats,
        settle=options.settle,
        seconds=options.seconds,
        keep=lambda: report.write(path, document()),
    )
    idle.update(idle_cpu(settle=options.settle, seconds=options.seconds))
    report.write(path, document())
    print(", ".join(f"{name} {value}" for name, value in report.machine().items()))
    print(table(runs))
    shown = ", ".join(f"{kind} {share} %" for kind, share in idle.items())
    print(f"an idle job with two sources and two keyed subtasks uses {sum(idle.values()):.1f} % of one core: {shown}")
    print(f"written: {path}")
    if plots.can_draw() and any(run.samples for run in runs):
        print(f"written: {draw(runs, path.with_suffix('.png'))}")
    return 1 if any(run.errors for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
