"""Drives the writers and committers of a file sink as the engine does, with a clock that tests set."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import cloudpickle

from penstock.vocabulary.sinks.protocol import Sink, WriterContext


class FileSinkRun:
    """The subtasks of one sink, their checkpoints and their restarts, in one thread."""

    begun: ClassVar[list[FileSinkRun]] = []

    def __init__(
        self,
        sink: Sink[Any],
        parallelism: int = 1,
        now: int = 0,
        storage: Callable[[], tuple[Any, str]] | None = None,
    ) -> None:
        self._storage = storage
        self.sink = sink
        self.parallelism = parallelism
        self.now = now
        self.attempt = 0
        self.checkpoints: dict[int, bytes] = {}
        self.begun.append(self)
        self._start(None)

    def context(self, subtask: int) -> WriterContext:
        def schedule(time: int, call: Callable[[int], None]) -> None:
            self._timers.append((time, call))

        return WriterContext(
            subtask=subtask,
            parallelism=self.parallelism,
            attempt=self.attempt,
            job_name="job",
            operator_id="sink",
            now=lambda: self.now,
            schedule=schedule,
            metrics=None,  # type: ignore[arg-type]  # the sink counts nothing itself
        )

    def write(self, *elements: Any, subtask: int = 0, timestamps: list[int] | None = None) -> None:
        self.writers[subtask].write_run(list(elements), timestamps)

    def advance_to(self, now: int) -> None:
        while due := sorted((timer for timer in self._timers if timer[0] <= now), key=lambda timer: timer[0]):
            timer = due[0]
            self._timers.remove(timer)
            self.now = timer[0]
            timer[1](self.now)
        self.now = now

    def snapshot(self, *, end_of_input: bool = False) -> int:
        """The first phase: what a complete checkpoint holds is on stable storage, nothing is committed yet."""
        for subtask, writer in enumerate(self.writers):
            writer.flush(end_of_input=end_of_input)
            self._uncommitted[subtask] += writer.prepare_commit()
        number = max(self.checkpoints, default=0) + 1
        content = [
            (self._uncommitted[subtask], writer.snapshot_state(number)) for subtask, writer in enumerate(self.writers)
        ]
        self.checkpoints[number] = pickle.dumps(content)
        return number

    def commit(self) -> None:
        """The second phase."""
        for subtask in range(self.parallelism):
            self._uncommitted[subtask] = self.committers[subtask].commit(self._uncommitted[subtask])

    def checkpoint(self, *, end_of_input: bool = False) -> int:
        number = self.snapshot(end_of_input=end_of_input)
        self.commit()
        return number

    def finish(self) -> None:
        self.checkpoint(end_of_input=True)
        self.crash()

    def crash(self) -> None:
        for writer in self.writers:
            writer.close()

    def restart(self, checkpoint: int | None = None, parallelism: int | None = None) -> None:
        """Crash and go on from a checkpoint, the latest unless told otherwise."""
        self.crash()
        self.attempt += 1
        self.parallelism = parallelism or self.parallelism
        latest = max(self.checkpoints, default=None)
        number = checkpoint or latest
        self._start(None if number is None else pickle.loads(self.checkpoints[number]))

    def _start(self, restored: list[tuple[list[Any], list[Any]]] | None) -> None:
        self._timers: list[tuple[int, Callable[[int], None]]] = []
        self._uncommitted: list[list[Any]] = [[] for _ in range(self.parallelism)]
        self.writers = []
        self.committers = []
        sink = cloudpickle.loads(cloudpickle.dumps(self.sink))
        if self._storage is not None:
            sink.open_storage = self._storage
        for subtask in range(self.parallelism):
            context = self.context(subtask)
            committer = sink.create_committer(context)
            assert committer is not None
            self.committers.append(committer)
            if restored is None:
                self.writers.append(sink.create_writer(context))
                continue
            mine = [each for old, (each, _) in enumerate(restored) if old % self.parallelism == subtask]
            self._uncommitted[subtask] = committer.recover([part for parts in mine for part in parts])
            states = [state for _, its_states in restored for state in its_states]
            self.writers.append(sink.restore_writer(context, states))


def names(directory: Path) -> list[str]:
    """All files below a directory, without the ids of unfinished ones."""
    found = (path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    return sorted(name.partition(".inprogress.")[0] + ".inprogress" * (".inprogress." in name) for name in found)


def finished(directory: Path) -> dict[str, str]:
    """The content of all files that a reader sees."""
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
