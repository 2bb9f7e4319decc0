"""A job ready to run: what travels from the driver to every task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.graph.plan import Plan
    from penstock.graph.settings import JobSettings
    from penstock.vocabulary.execution_config import ExecutionConfig

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """The plan and everything that was set for it."""

    id: str
    plan: Plan
    settings: JobSettings
    execution_config: ExecutionConfig

    @property
    def name(self) -> str:
        """Return the name given to ``execute``."""
        return self.settings.name
