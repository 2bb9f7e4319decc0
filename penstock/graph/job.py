"""A job ready to run: what travels from the driver to every task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.modes import RecoveryClaimMode
from penstock.vocabulary.state.backends import HashMapStateBackend, StateBackend

if TYPE_CHECKING:
    from penstock.graph.plan import Plan
    from penstock.graph.settings import JobSettings
    from penstock.vocabulary.settings.execution import ExecutionConfig

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """The plan and everything that was set for it."""

    id: str
    plan: Plan
    settings: JobSettings
    execution_config: ExecutionConfig
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    state_backend: StateBackend = field(default_factory=HashMapStateBackend)
    savepoint_directory: str | None = None
    restore_path: str | None = None
    """The checkpoint or savepoint that the job starts from."""
    allows_non_restored_state: bool = False
    renamed_classes: dict[str, str] = field(default_factory=dict)
    """By the old names, new ones of classes of the program whose objects are in what the job starts from."""
    claim_mode: RecoveryClaimMode = RecoveryClaimMode.NO_CLAIM
    """Whether the job owns, and deletes in the end, what it starts from."""
    guarantees: tuple[str, ...] = ()
    """What the job says at its start about what is seen of it after a failure."""

    notes: tuple[str, ...] = ()
    """What else it says at its start."""
    is_batch: bool = False
    """Whether its stages run one after the other, over input that has an end."""

    @property
    def name(self) -> str:
        """Return the name given to ``execute``."""
        return self.settings.name
