"""A clock on the wall that a test sets while a job runs, in all its processes; the machine's own is left alone.

The product knows nothing of this: whoever unpickles a ``SteppedClock``, or calls ``follow``, reads the machine's time
with what a file says added to it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from penstock.foundation.clock import SystemClock

__all__ = ["SteppedClock", "follow"]

_LOOK_SECONDS = 0.02
_machine_time = SystemClock.now


class SteppedClock:
    """The file; a job that holds this object in one of its functions follows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0

    def step(self, millis: int) -> None:
        """Sets the clock."""
        self.offset += millis
        new = self.path.with_suffix(".new")
        new.write_text(str(self.offset), encoding="utf-8")
        new.rename(self.path)

    def __reduce__(self) -> tuple[Callable[[Path], SteppedClock], tuple[Path]]:
        return _in_worker, (self.path,)


def _in_worker(path: Path) -> SteppedClock:
    follow(path)
    return SteppedClock(path)


def follow(path: Path) -> None:
    """Makes this process read the time with the offset of a file."""
    looked = [0.0]
    offset = [0]

    def now(clock: SystemClock) -> int:
        if time.monotonic() - looked[0] > _LOOK_SECONDS:
            looked[0] = time.monotonic()
            with contextlib.suppress(FileNotFoundError):
                offset[0] = int(path.read_text(encoding="utf-8"))
        return _machine_time(clock) + offset[0]

    SystemClock.now = now  # type: ignore[method-assign]


def unfollow() -> None:
    """Makes this process read the machine's time again."""
    SystemClock.now = _machine_time  # type: ignore[method-assign]
