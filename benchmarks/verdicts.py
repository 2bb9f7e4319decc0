"""What must hold: how many times the records per second of each other system penstock should make, job by job."""

from __future__ import annotations

import statistics

from benchmarks.report import SUBJECT, rates, ratio
from benchmarks.suite import Measurement

BARS = {"handwritten": 0.5, "pyflink": 15.0, "spark": 10.0, "bytewax": 1.5}
"""The least ratio to the better mode of each system."""


def ratios(measurements: list[Measurement]) -> dict[str, dict[str, float]]:
    """Returns, per throughput job, the ratio to the better mode of each system that was measured."""
    found: dict[str, dict[str, float]] = {}
    for job in dict.fromkeys(each.job for each in measurements):
        mine = [each for each in measurements if each.job == job and each.samples and "seconds" in each.samples[0]]
        subject = next((each for each in mine if each.system == SUBJECT), None)
        if subject is None:
            continue
        found[job] = {}
        for family in BARS:
            modes = [each for each in mine if each.family == family]
            if modes:
                best = max(modes, key=lambda each: statistics.median(rates(each)))
                found[job][family] = round(ratio(subject, best), 3)
    return found


def missed(measurements: list[Measurement]) -> list[tuple[str, str, float]]:
    """Returns the job, the system and the ratio wherever a bar is not reached."""
    return [
        (job, family, value)
        for job, by_family in ratios(measurements).items()
        for family, value in by_family.items()
        if value < BARS[family]
    ]


def table(measurements: list[Measurement]) -> str:
    """Renders one line per job; a star marks a bar that is not reached."""
    rows = [("what must hold", *(f"{bar:g} x {family}" for family, bar in BARS.items()))]
    for job, by_family in ratios(measurements).items():
        cells = []
        for family, bar in BARS.items():
            value = by_family.get(family)
            cells.append("-" if value is None else f"{value:.3g}{'*' if value < bar else ' '}")
        rows.append((job, *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0]), *(map(str.rjust, row[1:], widths[1:]))]) for row in rows]
    return "\n".join([*lines, f"{len(missed(measurements))} bars (*) are not reached"])
