"""The step that matches a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from penstock.graph.multi_input_steps import TwoInputStep
from penstock.graph.steps import Step

if TYPE_CHECKING:
    from penstock.graph.cep.automaton import Automaton
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["PatternSetStep", "PatternStep"]


@dataclass(frozen=True, kw_only=True)
class PatternStep(Step):
    """Matches the records of each key against a pattern and puts the matches through a function."""

    automaton: Automaton
    function: Any
    kind: Literal["select", "flat_select", "process"]
    timeout_function: Any = None
    """What half matches go through whose time is over; their results go to ``timeout_tag``."""
    timeout_tag: OutputTag[Any] | None = None
    late_tag: OutputTag[Any] | None = None
    is_event_time: bool = True
    comparator: Any = None
    max_runs: int | None = None
    """How many half matches a key may have; the oldest are dropped."""
    dropped_tag: OutputTag[Any] | None = None

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the functions that see matches, and the conditions."""
        given = [self.function, self.timeout_function, self.comparator]
        return tuple(each for each in given if each is not None) + tuple(
            atom.condition for atom in self.automaton.atoms
        )


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
