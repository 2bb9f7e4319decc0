"""The checkpoints and savepoints of a job that the driver remembers: what they cost, and what became of them."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.statestore.handles import StoredBytes

__all__ = ["Acknowledgement", "CheckpointFacts", "CheckpointHistory", "RestoredFacts"]

_SUMMARIZED = 1000


@dataclass(frozen=True)
class Acknowledgement:
    """What one subtask stored for a checkpoint."""

    timestamp: int
    state_size: int
    stored_size: int
    """The bytes that were written for this checkpoint; it shares the others with earlier ones."""


@dataclass
class CheckpointFacts:
    """One checkpoint or savepoint."""

    id: int
    options: CheckpointOptions
    subtasks: int
    """How many subtasks take part."""
    status: str = "IN_PROGRESS"
    acknowledged: dict[tuple[int, int], Acknowledgement] = field(default_factory=dict)
    ended: int | None = None
    path: str = ""
    failure: str | None = None
    is_discarded: bool = False

    @property
    def triggered(self) -> int:
        """Return when it began."""
        return self.options.timestamp

    @property
    def last_acknowledgement(self) -> int:
        """Return when the last subtask so far was done with it."""
        return max((each.timestamp for each in self.acknowledged.values()), default=-1)

    @property
    def duration(self) -> int:
        """Return the milliseconds from its trigger to its end, or to the last subtask so far."""
        end = self.last_acknowledgement if self.ended is None else self.ended
        return max(0, end - self.triggered) if end >= 0 else 0

    @property
    def state_size(self) -> int:
        """Return the bytes of the state that can be restored from it."""
        return sum(each.state_size for each in self.acknowledged.values())

    @property
    def stored_size(self) -> int:
        """Return the bytes that were written for it."""
        return sum(each.stored_size for each in self.acknowledged.values())


@dataclass(frozen=True)
class RestoredFacts:
    """A checkpoint or savepoint that the job was started from."""

    id: int
    timestamp: int
    path: str
    is_savepoint: bool


class CheckpointHistory:
    """Remembers the newest checkpoints; counts and sizes are about all of them."""

    def __init__(self, subtasks: int, kept: int = 10) -> None:
        self._subtasks = subtasks
        self._kept = kept
        self._lock = threading.RLock()
        self._all: dict[int, CheckpointFacts] = {}
        self._shared: dict[int, frozenset[str]] = {}
        self.total = 0
        self.completed = 0
        self.failed = 0
        self.restored = 0
        self.latest_restored: RestoredFacts | None = None
        self.latest_completed: CheckpointFacts | None = None
        self.latest_failed: CheckpointFacts | None = None
        self.latest_savepoint: CheckpointFacts | None = None
        self.figures: deque[tuple[int, int, int]] = deque(maxlen=_SUMMARIZED)
        """Of the completed ones: bytes of the state, bytes written, milliseconds."""

    def newest(self) -> list[CheckpointFacts]:
        """Return the remembered ones, the newest first."""
        with self._lock:
            return sorted(self._all.values(), key=lambda each: each.id, reverse=True)

    def get(self, checkpoint_id: int) -> CheckpointFacts | None:
        """Return a checkpoint, if it is remembered."""
        with self._lock:
            return self._all.get(checkpoint_id)

    @property
    def in_progress(self) -> int:
        """Return how many are under way."""
        with self._lock:
            return sum(each.status == "IN_PROGRESS" for each in self._all.values())

    # -- what the driver tells

    def begun(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Take note of a checkpoint; it may be told more than once."""
        with self._lock:
            if checkpoint_id not in self._all:
                self._all[checkpoint_id] = CheckpointFacts(checkpoint_id, options, self._subtasks)
                self.total += 1
                self._forget()

    def acknowledged(
        self, checkpoint_id: int, subtask: tuple[int, int], stored: Iterable[StoredBytes], now: int
    ) -> None:
        """Take note of what a subtask has stored."""
        with self._lock:
            facts = self._all.get(checkpoint_id)
            if facts is None or facts.status != "IN_PROGRESS":
                return
            earlier = self._shared.get(facts.options.reusable or -1, frozenset())
            size = new = 0
            names = set()
            for each in stored:
                size += each.size
                if each.is_shared and each.location is not None:
                    names.add(each.location)
                if each.location is None or each.location not in earlier:
                    new += each.size
            if names:
                self._shared[checkpoint_id] = self._shared.get(checkpoint_id, frozenset()) | names
            facts.acknowledged[subtask] = Acknowledgement(now, size, new)

    def done(self, checkpoint_id: int, path: str, now: int) -> None:
        """Take note that a checkpoint is complete."""
        with self._lock:
            facts = self._all.get(checkpoint_id)
            if facts is None:
                return
            facts.status, facts.path, facts.ended = "COMPLETED", path, now
            self.completed += 1
            self.figures.append((facts.state_size, facts.stored_size, facts.duration))
            if facts.options.kind.is_savepoint:
                self.latest_savepoint = facts
            else:
                self.latest_completed = facts

    def given_up(self, checkpoint_id: int, reason: str, now: int) -> None:
        """Take note that a checkpoint will not be complete."""
        with self._lock:
            facts = self._all.get(checkpoint_id)
            if facts is None or facts.status != "IN_PROGRESS":
                return
            facts.status, facts.failure, facts.ended = "FAILED", reason, now
            facts.is_discarded = True
            self.failed += 1
            self.latest_failed = facts
            self._shared.pop(checkpoint_id, None)

    def deleted(self, checkpoint_id: int, now: int) -> None:
        """Take note that the files of a checkpoint are removed, whether it was complete or not."""
        with self._lock:
            self.given_up(checkpoint_id, "the job failed before it was complete", now)
            self._shared.pop(checkpoint_id, None)
            if (facts := self._all.get(checkpoint_id)) is not None:
                facts.is_discarded = True

    def restored_from(self, checkpoint_id: int, path: str, now: int, *, is_savepoint: bool) -> None:
        """Take note that the job starts from a checkpoint or savepoint."""
        with self._lock:
            self.restored += 1
            self.latest_restored = RestoredFacts(checkpoint_id, now, path, is_savepoint)

    def _forget(self) -> None:
        ended = [number for number, each in sorted(self._all.items()) if each.status != "IN_PROGRESS"]
        for number in ended[: max(0, len(self._all) - self._kept)]:
            del self._all[number]
