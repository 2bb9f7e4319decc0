"""The matches of patterns that another stream adds, replaces and removes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.api.argument_checks import check_function, location
from penstock.api.connected_streams import add_two_input_step
from penstock.errors import ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.data_stream import DataStream

__all__ = ["PatternSetStream"]

T = TypeVar("T")


class PatternSetStream(Generic[T]):
    """The matches of changing patterns; ``select`` says what becomes of them."""

    def __init__(
        self,
        stream: DataStream[T],
        key: Callable[[Any], Any],
        fixed: dict[str, Any],
        rules: DataStream[Any],
        build: Callable[[Any], Any],
    ) -> None:
        self._stream = stream
        self._key = key
        self._fixed = fixed
        self._rules = rules
        self._build = build
        self._settings: dict[str, Any] = {}

    def in_processing_time(self) -> PatternSetStream[T]:
        """Match events as they come, by the clock; timestamps are not looked at."""
        return self._with(is_event_time=False)

    def in_event_time(self) -> PatternSetStream[T]:
        """Match events in the order of their timestamps, which is the default."""
        return self._with(is_event_time=True)

    def side_output_late_data(self, late_data_output_tag: OutputTag[Any]) -> PatternSetStream[T]:
        """Send events that are behind the watermark to a side output instead of dropping them."""
        check_function(late_data_output_tag, OutputTag, "side_output_late_data", allow_callable=False)
        return self._with(late_tag=late_data_output_tag)

    def side_output_refused_rules(self, output_tag: OutputTag[Any]) -> PatternSetStream[T]:
        """Send rules that are no patterns to a side output, as ``(name, rule, why)``, instead of failing the job."""
        check_function(output_tag, OutputTag, "side_output_refused_rules", allow_callable=False)
        return self._with(refused_tag=output_tag)

    def max_runs_per_key(self, number: int) -> PatternSetStream[T]:
        """Bound the number of half matches of a key in each pattern; the oldest are dropped and counted."""
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            message = f"max_runs_per_key() needs a positive number, not {number!r}."
            raise ProgramError(message, location())
        return self._with(max_runs=number)

    def select(self, function: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each match into one result: ``function(name of the pattern, match)``."""
        from penstock.graph.cep.steps import PatternSetStep

        check_function(function, (), "select")
        step = PatternSetStep(key=self._key, function=function, build=self._build, **self._settings)
        stream = add_two_input_step(self._stream, self._rules.broadcast(), "Patterns", step, output_type)
        if self._fixed:
            stream._set("patterns", **self._fixed)
        return stream

    def _with(self, **changes: Any) -> PatternSetStream[T]:
        stream = PatternSetStream(self._stream, self._key, self._fixed, self._rules, self._build)
        stream._settings = {**self._settings, **changes}
        return stream
