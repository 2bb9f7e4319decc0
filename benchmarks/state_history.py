"""Keeps what the benchmarks of state learned, and says whether a bar was held."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import report

_HISTORY = Path(__file__).parent / "history"


@dataclass(frozen=True)
class Bar:
    """A measured number, its spread, and how large it may be."""

    name: str
    measured: float
    lowest: float
    highest: float
    most: float | None = None
    """The largest value that is good enough; ``None`` if the number is for information."""

    @classmethod
    def of(cls, name: str, values: list[float], most: float | None = None) -> Bar:
        """Describes repeated measurements by their median and the middle eighty percent."""
        ordered = sorted(values)
        cut = len(ordered) // 10
        return cls(name, statistics.median(ordered), ordered[cut], ordered[-1 - cut], most)

    @property
    def holds(self) -> bool:
        """Tells whether the number is good enough."""
        return self.most is None or self.measured <= self.most

    def row(self) -> str:
        """Returns the line of the table."""
        verdict = "" if self.most is None else f"  at most {self.most:g}: {'held' if self.holds else 'MISSED'}"
        return f"{self.name:<58} {self.measured:8.2f}  ({self.lowest:.2f} to {self.highest:.2f}){verdict}"


def keep(benchmark: str, bars: list[Bar], settings: dict[str, Any], details: Any, output: Path | None = None) -> int:
    """Prints the bars, writes everything as JSON and returns the exit code."""
    for bar in bars:
        print(bar.row())
    path = output or _HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-{benchmark}.json"
    content = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": report.commit(),
        "machine": report.machine(),
        "benchmark": benchmark,
        "settings": settings,
        "bars": [vars(bar) | {"holds": bar.holds} for bar in bars],
        "details": details,
    }
    report.write(path, content)
    print(f"written: {path}")
    return 0 if all(bar.holds for bar in bars) else 1
