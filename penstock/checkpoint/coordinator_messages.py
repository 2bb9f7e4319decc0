"""What the checkpoint coordinator is told to do and tells others to do."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.vocabulary.settings.modes import CheckpointingMode

if TYPE_CHECKING:
    from penstock.checkpoint.options import CheckpointOptions
    from penstock.vocabulary.settings.checkpoints import CheckpointConfig

__all__ = [
    "Abort",
    "Action",
    "CoordinatorSettings",
    "Delete",
    "Discard",
    "FailJob",
    "FinishJob",
    "NotifyComplete",
    "Recover",
    "SavepointDone",
    "SavepointFailed",
    "StoreMetadata",
    "TaskId",
    "Trigger",
]

TaskId: TypeAlias = Hashable
"""A subtask: its vertex and its index."""


@dataclass(frozen=True)
class CoordinatorSettings:
    """When checkpoints are taken, in milliseconds; an ``interval`` of ``None`` means only on request."""

    interval: int | None
    timeout: int = 600_000
    min_pause: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    retained: int = 1
    is_exactly_once: bool = True
    is_unaligned: bool = False
    aligned_timeout: int = 0
    after_tasks_finish: bool = True
    """Whether checkpoints are taken when some tasks have processed all their input."""

    @staticmethod
    def of(config: CheckpointConfig) -> CoordinatorSettings:
        """Return the settings of a job."""
        return CoordinatorSettings(
            interval=config.get_checkpoint_interval() if config.is_checkpointing_enabled() else None,
            timeout=config.get_checkpoint_timeout(),
            min_pause=config.get_min_pause_between_checkpoints(),
            max_concurrent=config.get_max_concurrent_checkpoints(),
            tolerable_failures=config.get_tolerable_checkpoint_failure_number(),
            retained=config.get_num_retained_checkpoints(),
            is_exactly_once=config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE,
            is_unaligned=config.is_unaligned_checkpoints_enabled(),
            aligned_timeout=config.get_aligned_checkpoint_timeout().to_millis(),
            after_tasks_finish=config.is_checkpointing_after_tasks_finish(),
        )


@dataclass(frozen=True)
class Trigger:
    """Tell these tasks to begin a checkpoint; the others learn of it by the barriers."""

    checkpoint_id: int
    options: CheckpointOptions
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True)
class StoreMetadata:
    """Publish the metadata of a checkpoint, then answer with ``stored`` or ``store_failed``."""

    checkpoint_id: int
    options: CheckpointOptions
    states: Mapping[TaskId, Any]
    """What each task acknowledged."""
    finished: frozenset[TaskId]
    """The tasks that had processed all their input; their state is their last one."""


@dataclass(frozen=True)
class NotifyComplete:
    """Tell all tasks that a checkpoint is complete: sinks commit what belongs to it."""

    checkpoint_id: int


@dataclass(frozen=True)
class Abort:
    """Tell all tasks that a checkpoint is given up; channels that wait for it go on, sources that stopped read on."""

    checkpoint_id: int
    reason: str


@dataclass(frozen=True)
class Delete:
    """Delete all files of a checkpoint that is given up or no longer retained, except those that others share."""

    checkpoint_id: int


@dataclass(frozen=True)
class Discard:
    """Delete what a task stored for a checkpoint that nobody waits for any more."""

    checkpoint_id: int
    state: Any


@dataclass(frozen=True)
class SavepointDone:
    """Tell whoever asked that the savepoint is there."""

    request: Hashable
    checkpoint_id: int
    is_stop: bool = False
    """Whether the job ends now, which is what they wait for."""


@dataclass(frozen=True)
class SavepointFailed:
    """Tell whoever asked that there will be no savepoint."""

    request: Hashable
    reason: str


@dataclass(frozen=True)
class Recover:
    """Start the job again, if the restart strategy allows it, from this checkpoint.

    ``None`` means from where the job was started in the first place.
    """

    checkpoint_id: int | None


@dataclass(frozen=True)
class FailJob:
    """Let the job fail, as if a task had failed."""

    reason: str


@dataclass(frozen=True)
class FinishJob:
    """Let the tasks end: all input is processed, and what belongs to it is committed or about to be."""


Action: TypeAlias = (
    Trigger
    | StoreMetadata
    | NotifyComplete
    | Abort
    | Delete
    | Discard
    | SavepointDone
    | SavepointFailed
    | Recover
    | FailJob
    | FinishJob
)
