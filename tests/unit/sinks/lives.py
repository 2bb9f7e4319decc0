"""Runs a job in this process through failures: each time it goes on from its last complete checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from penstock import ReaderContext, Source, SourceSplit, SplitReader, StreamExecutionEnvironment
from penstock.testing.local_checkpoints import LocalCheckpoint
from penstock.testing.local_run import LocalRun


class OneByOne(Source[Any]):
    """Emits elements one at a time, so that a step of a run is a record; from its position again, or not."""

    def __init__(self, elements: Sequence[Any], *, is_replayable: bool = True) -> None:
        self._elements = list(elements)
        self.is_replayable = is_replayable
        self._emitted = _emitted(id(self)) if not is_replayable else None

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit("all")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Any]:
        if self._emitted is not None:
            position = _EMITTED[self._emitted]
        return _Reader(self._elements, position or 0, self._emitted)


_EMITTED: dict[int, int] = {}
"""How far the sources have come that cannot go back."""


def _emitted(number: int) -> int:
    _EMITTED[number] = 0
    return number


class _Reader(SplitReader[Any]):
    def __init__(self, elements: list[Any], start: int, emitted: int | None) -> None:
        self._elements = elements
        self._next = start
        self._emitted = emitted

    def read(self, limit: int) -> tuple[list[Any], None] | None:
        values = self._elements[self._next : self._next + 1]
        self._next += 1
        if self._emitted is not None:
            _EMITTED[self._emitted] = self._next
        return (values, None) if values else None

    def position(self) -> int:
        return self._next


class CrashError(Exception):
    """What a test makes a job die of."""

    def __init__(self) -> None:
        super().__init__("a CrashError of the test")


class KillError(BaseException):
    """The end of the whole process, as far as the job can tell: nobody catches it and goes on."""


def live(
    build: Callable[[], StreamExecutionEnvironment],
    *,
    steps_per_checkpoint: int = 3,
    most_lives: int = 50,
    on_life: Callable[[int], None] = lambda number: None,
) -> int:
    """Run a job to its end, with a checkpoint every few steps, however often it fails; return its number of lives."""
    last: LocalCheckpoint | None = None
    for number in range(most_lives):
        on_life(number)
        run = LocalRun.of(build(), restore=last)
        try:
            steps = 0
            while not run.is_finished:
                run.step()
                steps += 1
                if steps % steps_per_checkpoint == 0 and not run.is_finished:
                    run.checkpoint()
            run.run()
        except (Exception, KillError) as error:
            if not isinstance(error, KillError) and "CrashError" not in f"{error}":
                raise
            last = run.checkpoints.complete[-1] if run.checkpoints.complete else last
            with contextlib.suppress(Exception):
                run.close()
        else:
            return number + 1
    message = f"The job has not come to its end in {most_lives} lives."
    raise AssertionError(message)
