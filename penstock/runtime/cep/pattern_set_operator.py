"""The operator of patterns that come, change and go while the job runs.

The second input says ``(name, rule)``: a rule is made into a pattern, ``None`` removes the pattern of that name. All
subtasks hear it. Each pattern has half matches and timers of its own, under its name; they are dropped with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.foundation.failure_context import NO_RECORD, note_function, note_record
from penstock.graph.cep.compiler import compile_pattern
from penstock.graph.cep.steps import PatternStep
from penstock.runtime.cep.engine import PatternEngine
from penstock.runtime.cep.operator import PatternOperator
from penstock.vocabulary.cep.pattern import Pattern
from penstock.vocabulary.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.graph.cep.steps import PatternSetStep
    from penstock.runtime.cep.half_matches import HalfMatch
    from penstock.runtime.cep.waiting_events import Due
    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["PatternSetOperator"]


class PatternSetOperator(PatternOperator):
    """Matches the records of each key against all patterns that there are."""

    def __init__(self, step: PatternSetStep) -> None:
        super().__init__(step)  # type: ignore[arg-type] # what both steps have in common is all that is asked
        self._set = step
        self.engines: dict[str, PatternEngine] = {}

    def _open_engines(self) -> None:
        self._rules: Any = self.context.operator_state.get_broadcast_state(MapStateDescriptor("patterns"))
        for name, rule in sorted(self._rules.items()):
            self._add(name, rule)
        self.context.metrics.gauge("numPatterns", lambda: len(self.engines))

    def _all_engines(self) -> Iterable[PatternEngine]:
        return self.engines.values()

    def close(self) -> None:
        """Close the functions."""
        for engine in self.engines.values():
            engine.close()

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Add, replace or remove patterns."""
        value = NO_RECORD
        try:
            for value in values:
                name, rule = value
                if name in self.engines:
                    self.engines.pop(name).forget_all()
                    self._rules.remove(name)
                if rule is None:
                    continue
                if self._set.refused_tag is None:
                    self._add(name, rule)
                else:
                    try:
                        self._add(name, rule)
                    except ProgramError as error:
                        refused = (name, rule, str(error))
                        self.output.side(self._set.refused_tag.tag_id)([refused], None)
                        continue
                self._rules.put(name, rule)
        except BaseException as error:
            note_record(error, value)
            raise

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Put half matches and waiting events into the state."""
        for engine in self.engines.values():
            engine.runs.store()
        self.waiting.store()

    def snapshot(self, checkpoint_id: int) -> Any:
        """Return nothing: the rules are in the broadcast state."""
        return None

    def half_matches(self, key: Any) -> list[HalfMatch]:
        """Return the half matches of a key in all patterns."""
        return [half for engine in self.engines.values() for half in engine.half_matches(key)]

    def why_no_match(self, key: Any) -> str:
        """Return a text that says how far each pattern is for a key."""
        return "\n".join(f"pattern {name!r}, {engine.why_no_match(key)}" for name, engine in self.engines.items())

    def _add(self, name: str, rule: Any) -> None:
        pattern = self._set.build(rule)
        if not isinstance(pattern, Pattern):
            message = f"The rule {rule!r:.200} of pattern {name!r} was made into {pattern!r:.80}, not into a Pattern."
            raise ProgramError(message)
        function = self._set.function
        step = PatternStep(
            key=self._set.key,
            automaton=compile_pattern(pattern),
            function=lambda match: function(name, match),
            kind="select",
            is_event_time=self._set.is_event_time,
            max_runs=self._set.max_runs,
        )
        self.engines[name] = PatternEngine(step, self.context, self.output, self.timers, namespace=name)

    def _process_now(self, values: Values) -> None:
        now = self.context.clock.now()
        for key, value in zip(self._keys_of(values), values, strict=True):
            self._match_all({key: [(now, key, value)]}, now)

    def _match_all(self, due: Due, now: int) -> None:
        for engine in self.engines.values():
            try:
                engine.match_all(due, now)
            except BaseException as error:
                note_function(error, engine.step.function)
                raise
            engine.flush()
