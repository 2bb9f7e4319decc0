"""The processes above a worker, the one it was forked from and the executor, where they have been stopped."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.execution.spark.control.heartbeats import HeartbeatSettings

__all__ = ["StandingProcesses", "ancestors", "is_stopped"]

_STOPPED = "T"


class StandingProcesses:
    """Finds ancestors that have been stopped for the timeout; a task whose executor stands still goes nowhere.

    Args:
        settings: The timeout.
        processes: Whom to look at.
    """

    def __init__(self, settings: HeartbeatSettings, processes: list[int]) -> None:
        self._settings = settings
        self._processes = processes
        self._since: dict[int, int] = {}

    def look(self, now: int) -> list[int]:
        """Return those that stand still for too long; ``now`` are milliseconds of a clock that never goes back."""
        found = []
        for process in self._processes:
            if not is_stopped(process):
                self._since.pop(process, None)
            elif now - self._since.setdefault(process, now) > self._settings.timeout:
                found.append(process)
        return found


def ancestors(*, most: int = 2) -> list[int]:
    """Return the parent of this process and its parent: in a worker, the fork server and the executor."""
    found: list[int] = []
    process = os.getppid()
    while process > 1 and len(found) < most:
        found.append(process)
        fields = _fields(process)
        process = int(fields[1]) if len(fields) > 1 else 0
    return found


def is_stopped(process: int) -> bool:
    """Tell whether a process has been stopped by a signal."""
    return _fields(process)[:1] == [_STOPPED]


def _fields(process: int) -> list[str]:
    """Return what the system says of a process behind its name: its state, its parent, and so on."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []  # gone, or a system without such files
    return text.rpartition(")")[2].split()
