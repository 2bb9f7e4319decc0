"""What tasks and driver tell each other over the control channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.checkpoint.options import CheckpointOptions
    from penstock.checkpoint.subtask_state import SubtaskState
    from penstock.errors import PenstockError
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = [
    "AbortCheckpoint",
    "Acknowledged",
    "AddSplits",
    "AlignmentLimit",
    "AlignmentReport",
    "Busy",
    "Cancel",
    "Collected",
    "CompleteCheckpoint",
    "Declined",
    "Failed",
    "Finished",
    "Go",
    "Heartbeat",
    "Metrics",
    "Printed",
    "Register",
    "Release",
    "Running",
    "Stopped",
    "Stuck",
    "SubtaskFinished",
    "TaskKey",
    "TriggerCheckpoint",
]

TaskKey = tuple[int, int]
"""The stage and the index of a task."""


@dataclass(frozen=True)
class Register:
    """First word on every connection: who speaks."""

    task: TaskKey
    attempt: int
    purpose: str
    """``control``, or ``data`` for printed and collected records, which must not hold up control messages."""
    process: int = 0
    host: str = ""


@dataclass(frozen=True)
class Running:
    """All functions of the task are open."""


@dataclass(frozen=True)
class Finished:
    """The task has come to its end; these are the last values of its metrics."""

    metrics: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Failed:
    """The task failed; said before Spark notices."""

    error: PenstockError
    engine_traceback: str


@dataclass(frozen=True)
class Stopped:
    """All functions of the task are closed, because it failed or was told to stop; it waits until it is let go."""


@dataclass(frozen=True)
class Metrics:
    """What the task has done so far, and where its time stands."""

    values: dict[str, Any]


@dataclass(frozen=True)
class Printed:
    """Lines for standard output."""

    lines: list[str]


@dataclass(frozen=True)
class Collected:
    """Records for the program."""

    collection: str
    block: bytes
    """Encoded as between subtasks; whoever takes the records decodes them."""


@dataclass(frozen=True)
class Stuck:
    """The task was told to stop and has not ended in time; its process ends with this message."""

    stack: str
    """Where the task's thread sits."""


@dataclass(frozen=True)
class Busy:
    """What a task does that has not come back from a function of the program for a while."""

    millis: int
    stack: str
    """Where the task's thread sits."""


@dataclass(frozen=True)
class Heartbeat:
    """Says in both directions that a process runs; that of a task also what it is busy with."""

    busy: Busy | None = None


@dataclass(frozen=True)
class Cancel:
    """To a task: stop now."""

    interval: int = 30_000
    """The milliseconds between two interrupts."""
    timeout: int = 0
    """The milliseconds after which the task is ended with its process; 0 is never."""


@dataclass(frozen=True)
class Go:
    """To a task of a batch job: begin; no other attempt of the same task is at work."""

    attempt: int = 0
    """How often the task was begun before; Spark counts anew whenever it submits a stage again."""


@dataclass(frozen=True)
class AlignmentReport:
    """How far a source of a watermark alignment group has come; ``None``: it is idle or finished."""

    group: str
    member: str
    watermark: int | None
    drift: int


@dataclass(frozen=True)
class AlignmentLimit:
    """To a task: how far the sources of a group may read."""

    group: str
    limit: int


@dataclass(frozen=True)
class AddSplits:
    """To a task: a source of it reads more splits."""

    vertex: int
    splits: dict[int, SourceSplit]


@dataclass(frozen=True)
class TriggerCheckpoint:
    """To a task: begin a checkpoint in these of its subtasks."""

    checkpoint_id: int
    options: CheckpointOptions
    vertices: tuple[int, ...]


@dataclass(frozen=True)
class CompleteCheckpoint:
    """To a task: a checkpoint is complete, commit what belongs to it."""

    checkpoint_id: int


@dataclass(frozen=True)
class AbortCheckpoint:
    """To a task: a checkpoint was given up."""

    checkpoint_id: int


@dataclass(frozen=True)
class Release:
    """To a task: nothing is needed of it any more, it may end when it has finished."""


@dataclass(frozen=True)
class Acknowledged:
    """The snapshot of a subtask is durable."""

    subtask: tuple[int, int]
    checkpoint_id: int
    state: SubtaskState


@dataclass(frozen=True)
class Declined:
    """The snapshot of a subtask will not come."""

    subtask: tuple[int, int]
    checkpoint_id: int
    reason: str
    is_failure: bool


@dataclass(frozen=True)
class SubtaskFinished:
    """A subtask has processed all its input."""

    subtask: tuple[int, int]
