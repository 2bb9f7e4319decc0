"""Draws the measurements as PNG files, where matplotlib is installed."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.suite import Measurement

_COLUMNS = 6
"""Panels beside each other."""


def can_draw() -> bool:
    """Says whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(measurements: list[Measurement], stem: Path) -> list[Path]:
    """Draws throughput and latency beside the JSON file and returns the files made."""
    import matplotlib as mpl  # type: ignore[import-not-found, unused-ignore]

    mpl.use("Agg")
    throughput = [each for each in measurements if each.samples and "seconds" in each.samples[0]]
    latency = [each for each in measurements if each.samples and "latency_ms" in each.samples[0]]
    made = []
    if throughput:
        made.append(_bars(throughput, stem.with_name(stem.name + "-throughput.png"), _speed, "records per second"))
    if latency:
        made.append(_bars(latency, stem.with_name(stem.name + "-latency.png"), _median_delay, "ms, p50 and p99"))
    return made


def _speed(measurement: Measurement) -> tuple[float, float]:
    speed = statistics.median(report.rates(measurement))
    return speed, speed


def _median_delay(measurement: Measurement) -> tuple[float, float]:
    return report.delay(measurement, "p50"), report.delay(measurement, "p99")


def _bars(measurements: list[Measurement], path: Path, value: Any, label: str) -> Path:
    """One panel per job, one bar per system, a thin line up to the second value."""
    from matplotlib import pyplot as plt  # type: ignore[import-not-found, unused-ignore]

    jobs = list(dict.fromkeys(each.job for each in measurements))
    columns = min(_COLUMNS, len(jobs))
    rows = -(-len(jobs) // columns)
    size = (3.2 * columns, 3.6 * rows)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for panel in panels.flat[len(jobs) :]:
        panel.set_axis_off()
    for panel, job in zip(panels.flat, jobs, strict=False):
        mine = [each for each in measurements if each.job == job]
        lows, highs = zip(*(value(each) for each in mine), strict=True)
        panel.bar(
            range(len(mine)),
            lows,
            color=["tab:orange" if each.system == report.SUBJECT else "tab:blue" for each in mine],
        )
        panel.vlines(range(len(mine)), lows, highs, colors="black")
        panel.set_xticks(range(len(mine)), [each.system for each in mine], rotation=70)
        panel.set_yscale("log")
        panel.set_title(job)
    for row in panels:
        row[0].set_ylabel(label)
    figure.savefig(path, dpi=100)
    plt.close(figure)
    return path
