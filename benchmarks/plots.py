"""Draws the measurements as PNG files, where matplotlib is installed."""

from __future__ import annotations

import importlib.util
import statistics
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.suite import Measurement


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
    figure, panels = plt.subplots(1, len(jobs), figsize=(4 * len(jobs), 4), squeeze=False, layout="constrained")
    for panel, job in zip(panels[0], jobs, strict=True):
        mine = [each for each in measurements if each.job == job]
        lows, highs = zip(*(value(each) for each in mine), strict=True)
        panel.bar(range(len(mine)), lows)
        panel.vlines(range(len(mine)), lows, highs, colors="black")
        panel.set_xticks(range(len(mine)), [each.system for each in mine], rotation=70)
        panel.set_yscale("log")
        panel.set_title(job)
    panels[0][0].set_ylabel(label)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
