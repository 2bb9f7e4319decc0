"""The memory of a job's processes together: of the driver, its JVM and all workers."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Footprint:
    """What a tree of processes takes, in megabytes; memory that several share is counted once."""

    total: float
    parts: dict[str, float]
    """By kind of process."""


def footprint(root: int | None = None) -> Footprint:
    """Measures this process and everything that it has started."""
    parts: dict[str, float] = {}
    for process in _tree(os.getpid() if root is None else root):
        size = _proportional(process)
        kind = _kind(process, root)
        parts[kind] = parts.get(kind, 0.0) + size
    return Footprint(sum(parts.values()), parts)


class Watch:
    """Measures again and again in a thread of its own and remembers the largest footprint."""

    def __init__(self, interval: float = 0.5) -> None:
        self.largest = Footprint(0.0, {})
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            found = footprint()
            if found.total > self.largest.total:
                self.largest = found


def _tree(root: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        parents.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for process in found:
        found.extend(parents.get(process, ()))
    return found


def _kind(process: int, root: int | None) -> str:
    if process == (os.getpid() if root is None else root):
        return "driver"
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return "ended"
    return "JVM" if command.endswith(b"java") else "workers"


def _proportional(process: int) -> float:
    """Returns the memory of a process, its share of what it has in common with others (PSS)."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)
