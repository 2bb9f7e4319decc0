"""Faults inside the steps of the checkpoint protocol, planned by a test and struck in whatever process comes by first.

A plan is a directory. A fault is a file in it that names a point and what happens there; whoever passes the point takes
the file away, which only one can do, and suffers. The product knows nothing of this: ``install`` wraps its methods.
"""

from __future__ import annotations

import errno
import functools
import os
import signal
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.checkpoint.snapshot_storage import FileTarget
from penstock.checkpoint.storage import CheckpointStore
from penstock.execution.spark.worker.checkpoint_link import WorkerLink
from penstock.runtime.checkpoint.restoring import RestoredSubtask
from penstock.runtime.checkpoint.subtask_snapshots import SubtaskSnapshots

__all__ = ["DRIVER_POINTS", "WORKER_POINTS", "FaultPlan", "install"]

WORKER_POINTS = {
    "before the snapshot": (SubtaskSnapshots, "take", "before"),
    "after the snapshot": (SubtaskSnapshots, "take", "after"),
    "while state is stored": (FileTarget, "_output", "before"),
    "before the acknowledgement": (WorkerLink, "acknowledge", "before"),
    "after the acknowledgement": (WorkerLink, "acknowledge", "after"),
    "before the completion is heard": (SubtaskSnapshots, "completed", "before"),
    "after the completion is heard": (SubtaskSnapshots, "completed", "after"),
    "before the last state": (SubtaskSnapshots, "take_last", "before"),
    "before the end is reported": (WorkerLink, "finished", "before"),
    "before the restore": (RestoredSubtask, "open_chain", "before"),
    "after the restore": (RestoredSubtask, "open_chain", "after"),
}
DRIVER_POINTS = {
    "before the publication": (CheckpointStore, "publish", "before"),
    "after the publication": (CheckpointStore, "publish", "after"),
    "before a deletion": (CheckpointStore, "delete", "before"),
}


@dataclass(frozen=True)
class FaultPlan:
    """The faults that are to happen and those that have happened."""

    directory: Path

    def add(self, point: str, mode: str) -> Path:
        """Plans a fault: ``kill`` the process, ``raise`` an error, or run out of disk space (``full``)."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / f"{point}@{uuid.uuid4().hex}.planned"
        path.write_text(mode, encoding="utf-8")
        return path

    def withdraw(self, planned: Path) -> bool:
        """Takes a fault back; tells whether it had happened already."""
        try:
            planned.rename(planned.with_suffix(".withdrawn"))
        except FileNotFoundError:
            return True
        return False

    def struck(self) -> Counter[str]:
        """Counts what has happened, by point and kind."""
        found: Counter[str] = Counter()
        for path in self.directory.glob("*.struck"):
            found[f"{path.name.partition('@')[0]}: {path.read_text(encoding='utf-8')}"] += 1
        return found

    def strike(self, point: str) -> None:
        """Lets a fault of a point happen, if there is one."""
        for path in self.directory.glob(f"{point}@*.planned"):
            mode = _take(path)
            if mode == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            elif mode == "full":
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            elif mode is not None:
                raise RuntimeError(f"a fault {point}")


def _take(path: Path) -> str | None:
    try:
        mode = path.read_text(encoding="utf-8")
        path.rename(path.with_suffix(".struck"))
    except FileNotFoundError:
        return None
    return mode


_plan: FaultPlan | None = None
_wrapped: set[tuple[type, str, str]] = set()


def install(plan: FaultPlan, points: dict[str, tuple[type, str, str]]) -> None:
    """Makes this process suffer the faults of a plan from now on."""
    global _plan
    _plan = plan
    for point, place in points.items():
        if place not in _wrapped:
            _wrapped.add(place)
            _wrap(point, *place)


def _wrap(point: str, owner: type, name: str, when: str) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @functools.wraps(original)
    def striking(*arguments: Any, **named: Any) -> Any:
        if when == "before" and _plan is not None:
            _plan.strike(point)
        result = original(*arguments, **named)
        if when == "after" and _plan is not None:
            _plan.strike(point)
        return result

    setattr(owner, name, striking)
