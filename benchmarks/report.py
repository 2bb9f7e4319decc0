"""Turns measurements into a table, comparisons and JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.catalogue import JOBS
from benchmarks.suite import Measurement, Plan

LIMIT = "handwritten"
SUBJECT = "penstock"
_TITLES = {job.name: job.title for job in JOBS}
_PERCENTILES = ("p50", "p99", "p99.9", "max")


def rates(measurement: Measurement) -> list[float]:
    """Returns records per second of each repeat."""
    return [sample["records"] / sample["seconds"] for sample in measurement.samples]


def delay(measurement: Measurement, name: str) -> float:
    """Returns the median over the repeats of one latency percentile in milliseconds."""
    return statistics.median(float(sample["latency_ms"][name]) for sample in measurement.samples)


def spread(values: list[float]) -> float:
    """Returns how far the extremes lie apart, as a share of the median."""
    return (max(values) - min(values)) / statistics.median(values)


def _shown_spread(values: list[float]) -> str:
    return f"{spread(values):.0%}" if len(values) > 1 else "-"


def ratio(one: Measurement, other: Measurement) -> float:
    """Returns the median over the repeats of one's rate to the other's, each pair measured close in time."""
    pairs = zip(rates(one), rates(other), strict=False)
    return statistics.median(mine / theirs for mine, theirs in pairs)


def table(measurements: list[Measurement]) -> str:
    """Renders one block of lines per job."""
    blocks = []
    for job in dict.fromkeys(measurement.job for measurement in measurements):
        mine = [measurement for measurement in measurements if measurement.job == job]
        latency = any("latency_ms" in sample for each in mine for sample in each.samples)
        lines = _latency_lines(mine) if latency else _throughput_lines(mine)
        blocks.append("\n".join([f"{job}: {_TITLES.get(job, job)}", *lines, *comparisons(mine)]))
    return "\n\n".join(blocks)


def _throughput_lines(measurements: list[Measurement]) -> list[str]:
    limit = _find(measurements, LIMIT)
    rows: list[tuple[str, ...]] = [("system", "records", "records/s", "spread", "of hand-written", "results")]
    for each in measurements:
        row: tuple[str, ...] = (each.system, f"{each.records:,}")
        if each.samples:
            speeds = rates(each)
            share = f"{ratio(each, limit):.3f}" if limit else "-"
            verdict = "equal" if not each.errors else f"{len(each.errors)} failed"
            row += (f"{statistics.median(speeds):,.0f}", _shown_spread(speeds), share, verdict)
        else:
            row += ("-", "-", "-", _first_line(each))
        rows.append(row)
    return _aligned(rows)


def _latency_lines(measurements: list[Measurement]) -> list[str]:
    rows: list[tuple[str, ...]] = [("system", *(f"{name} ms" for name in _PERCENTILES), "spread of p50", "records")]
    for each in measurements:
        if each.samples:
            middles = [sample["latency_ms"]["p50"] for sample in each.samples]
            delays = tuple(f"{delay(each, name):,.2f}" for name in _PERCENTILES)
            rows.append((each.system, *delays, _shown_spread(middles), f"{each.samples[0]['checks']['results']:,}"))
        else:
            rows.append((each.system, *("-" for _ in _PERCENTILES), "-", _first_line(each)))
    return _aligned(rows)


def comparisons(measurements: list[Measurement]) -> list[str]:
    """Says how penstock compares with the better mode of each other system."""
    subject = _find(measurements, SUBJECT)
    if subject is None:
        return []
    lines = []
    for family in dict.fromkeys(each.family for each in measurements if each.family != subject.family):
        rivals = [each for each in measurements if each.family == family and each.samples]
        if not rivals:
            continue
        if "latency_ms" in subject.samples[0]:
            best = min(rivals, key=lambda each: delay(each, "p50"))
            share = delay(subject, "p50") / delay(best, "p50")
            lines.append(f"  {SUBJECT}'s p50 is {share:.3g} of {best.system}'s")
        else:
            best = max(rivals, key=lambda each: statistics.median(rates(each)))
            lines.append(f"  {SUBJECT} makes {ratio(subject, best):.3g} x the records per second of {best.system}")
    return lines


def failures(measurements: list[Measurement]) -> str:
    """Lists what went wrong, with the last lines each program printed."""
    return "\n\n".join(f"{each.job} on {each.system}: {error}" for each in measurements for error in each.errors)


def settings(measurements: list[Measurement]) -> str:
    """Lists the versions and settings every system ran with."""
    lines = []
    for each in measurements:
        if each.samples:
            sample = each.samples[0]
            pairs = [f"{name} {value}" for name, value in (sample["versions"] | sample["settings"]).items()]
            lines.append(f"{each.system}: {', '.join(pairs)}")
    return "\n".join(dict.fromkeys(lines))


def document(plan: Plan, measurements: list[Measurement]) -> dict[str, Any]:
    """Returns everything one invocation learned, ready for JSON."""
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "plan": {
            "repeats": plan.repeats,
            "rival repeats": plan.repeats if plan.rival_repeats is None else plan.rival_repeats,
            "parallelism": plan.parallelism,
            "records": plan.records,
            "quick": plan.quick,
            "latency seconds": plan.seconds,
            "latency settling seconds": plan.settle,
        },
        "measurements": [vars(each) for each in measurements],
    }


def write(path: Path, content: dict[str, Any]) -> None:
    """Writes the document as JSON, making its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".tmp")
    written.write_text(json.dumps(content, indent=1) + "\n")
    written.replace(path)  # a run that is interrupted leaves the last whole document


def read(path: Path) -> list[Measurement]:
    """Reads the measurements of an earlier run."""
    return [Measurement(**each) for each in json.loads(path.read_text())["measurements"]]


def machine() -> dict[str, str]:
    """Describes the machine as far as it matters for speed."""
    model = next((line.split(":")[1].strip() for line in _cpu_lines() if line.startswith("model name")), "unknown")
    return {
        "cpu": model,
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def _cpu_lines() -> list[str]:
    described = Path("/proc/cpuinfo")
    return described.read_text().splitlines() if described.exists() else []


def commit() -> str:
    """Returns the short commit, marked when tracked files differ from it."""
    folder = Path(__file__).parent
    asked = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "no-commit"


def _find(measurements: list[Measurement], system: str) -> Measurement | None:
    return next((each for each in measurements if each.system == system and each.samples), None)


def _first_line(measurement: Measurement) -> str:
    return measurement.errors[0].splitlines()[0] if measurement.errors else "not run"


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    """Pads columns: the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
