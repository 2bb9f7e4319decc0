"""How every system is timed: stamps left in a directory by the processes that see the first and the last record.

A source side process writes when it saw its first record; a sink writes how many results it saw, their sum and
when the last one passed. The clock is the machine's monotonic clock, which all processes share, so the time
between the earliest entry and the latest exit excludes start-up and shut-down in every system alike.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from array import array
from dataclasses import dataclass
from pathlib import Path

_SECOND = 1_000_000_000


def _write(directory: str, kind: str, entry: dict[str, object]) -> None:
    name = f"{kind}-{os.getpid()}-{uuid.uuid4().hex}"
    Path(directory, name + ".tmp").write_text(json.dumps(entry))
    Path(directory, name + ".tmp").rename(Path(directory, name + ".json"))


def stamp_entry(directory: str) -> None:
    """Notes that a first record enters a source side process now."""
    now = time.monotonic_ns()
    _write(directory, "entry", {"at": now})


class Tally:
    """The counting sink of one process: how many results, their sum, and when the last one passed."""

    __slots__ = ("_directory", "_mask", "count", "last", "total")

    def __init__(self, directory: str, *, every: int = 256) -> None:
        """Reads the clock once per ``every`` results (a power of two): 1 where results are rare."""
        self._directory = directory
        self._mask = every - 1
        self.count = 0
        self.total = 0
        self.last = 0

    def add(self, value: int) -> None:
        """Counts one result."""
        self.count += 1
        self.total += value
        if not self.count & self._mask:
            self.last = time.monotonic_ns()

    def add_many(self, values: list[int]) -> None:
        """Counts a batch of results."""
        self.count += len(values)
        self.total += sum(values)
        self.last = time.monotonic_ns()

    def add_at(self, value: int, at: int) -> None:
        """Counts one result whose last record came at a given time, where results wait for the clock."""
        self.count += 1
        self.total += value
        if at > self.last:
            self.last = at

    def close(self) -> None:
        """Writes the tally down; a sink that saw nothing leaves no trace."""
        if self.count:
            last = self.last or time.monotonic_ns()
            _write(self._directory, "exit", {"count": self.count, "sum": self.total, "last": last})
        self.count = self.total = self.last = 0


class Delays:
    """The sink of one process of a latency job: how old each record was when it arrived."""

    __slots__ = ("_delays", "_directory")

    def __init__(self, directory: str) -> None:
        """Starts with no delays."""
        self._directory = directory
        self._delays = array("q")

    def add(self, created: int) -> None:
        """Notes the age of a record created at this monotonic time in nanoseconds; zero is a warm-up record."""
        if created:
            self._delays.append(time.monotonic_ns() - created)

    def close(self) -> None:
        """Writes the delays down."""
        if self._delays:
            _write(self._directory, "delays", {"ns": list(self._delays)})
        self._delays = array("q")


@dataclass(frozen=True)
class Reading:
    """What the ledger of one run says."""

    seconds: float
    results: int
    total: int
    delays_ms: tuple[float, ...]
    span_ns: tuple[int, int] = (0, 0)
    """When the first record came in and when the last result went out, by the machine's monotonic clock."""


def read(directory: str) -> Reading:
    """Adds up what the processes of one run left behind."""
    entries = [json.loads(path.read_text()) for path in sorted(Path(directory).glob("entry-*.json"))]
    exits = [json.loads(path.read_text()) for path in sorted(Path(directory).glob("exit-*.json"))]
    delays = [json.loads(path.read_text()) for path in sorted(Path(directory).glob("delays-*.json"))]
    started = min((entry["at"] for entry in entries), default=0)
    ended = max((entry["last"] for entry in exits), default=started)
    return Reading(
        seconds=(ended - started) / _SECOND,
        results=sum(entry["count"] for entry in exits),
        total=sum(entry["sum"] for entry in exits),
        delays_ms=tuple(sorted(delay / 1e6 for entry in delays for delay in entry["ns"])),
        span_ns=(started, ended),
    )


def percentile(ordered: tuple[float, ...], share: float) -> float:
    """Returns the smallest value that at least this share of the ordered values do not exceed."""
    if not ordered:
        message = "a percentile needs at least one value: the run left no delays in its ledger"
        raise ValueError(message)
    rank = max(1, -(-int(share * 1_000_000) * len(ordered) // 1_000_000))
    return ordered[rank - 1]
