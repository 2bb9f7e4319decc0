"""The step that matches patterns which come, change and go while the job runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.graph.multi_input_steps import TwoInputStep

if TYPE_CHECKING:
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["PatternSetStep"]


@dataclass(frozen=True, kw_only=True)
class PatternSetStep(TwoInputStep):
    """Matches the records of each key against patterns that the second input, which is broadcast, adds and removes."""

    function: Any
    """Takes the name of a pattern and a match, returns a result."""
    build: Any
    """Makes a pattern of what the second input says."""
    late_tag: OutputTag[Any] | None = None
    refused_tag: OutputTag[Any] | None = None
    """Where what is no pattern goes; without it the job fails."""
    is_event_time: bool = True
    max_runs: int | None = None

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return both functions."""
        return self.function, self.build
