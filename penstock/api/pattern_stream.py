"""The matches of a pattern in a stream."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.connected_streams import check_same_environment
from penstock.api.data_stream import DataStream
from penstock.api.keyed_stream import KeyedStream
from penstock.api.pattern_set_stream import PatternSetStream
from penstock.errors import ProgramError
from penstock.graph.nodes import Upstream
from penstock.graph.partitioning import KeyGroups
from penstock.vocabulary.cep.pattern import Pattern, PatternWarning
from penstock.vocabulary.cep.pattern_functions import (
    EventComparator,
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
)
from penstock.vocabulary.functions.output_tag import OutputTag

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CEP", "PatternStream"]

T = TypeVar("T")


class CEP:
    """Looks for patterns in streams."""

    @staticmethod
    def pattern(stream: DataStream[T], pattern: Pattern[Any], comparator: Any = None) -> PatternStream[T]:
        """Return the matches of a pattern in a stream, per key if the stream is keyed.

        Args:
            stream: Where to look. Without keys all records are matched in one subtask.
            pattern: What to look for.
            comparator: An ``EventComparator`` or a function of two events that returns a number below, at or above 0:
                the order of events with equal timestamps. Without it they stay in the order of their arrival.
        """
        if not isinstance(stream, DataStream):
            message = f"CEP.pattern() needs a stream, not {stream!r:.80}."
            raise ProgramError(message, location())
        if not isinstance(pattern, Pattern):
            message = f"CEP.pattern() needs a Pattern, not {pattern!r:.80}."
            raise ProgramError(message, location())
        if comparator is not None:
            check_function(comparator, EventComparator, "CEP.pattern")
        return PatternStream(stream, pattern, _Settings(comparator=comparator))

    @staticmethod
    def patterns(stream: DataStream[T], rules: DataStream[Any], build: Callable[[Any], Any]) -> PatternSetStream[T]:
        """Return the matches of patterns that come, change and go while the job runs.

        Args:
            stream: Where to look. Without keys all records are matched in one subtask.
            rules: ``(name, rule)`` adds or replaces the pattern of that name, whose half matches are dropped;
                ``(name, None)`` removes it. In event time the watermark follows the slower of both streams.
            build: Makes a :class:`Pattern` of a rule, for example by ``Pattern.parse``.
        """
        check_same_environment("CEP.patterns", stream, rules)
        check_function(build, (), "CEP.patterns")
        return PatternSetStream(*_keyed(stream), rules, build)

    @staticmethod
    def explain(pattern: Pattern[Any], form: str = "text") -> str:
        """Return what a pattern does: its parts, its automaton and what to beware of, as text.

        Args:
            pattern: The pattern.
            form: ``text``; or the automaton alone, as ``svg`` or in the language of Graphviz, ``dot``.
        """
        from penstock.graph.cep.explanation import explain

        return explain(pattern, form)


@dataclass(frozen=True)
class _Settings:
    """What was said about the matching, but for the pattern."""

    comparator: Any = None
    is_event_time: bool = True
    late_tag: OutputTag[Any] | None = None
    max_runs: int | None = None
    dropped_tag: OutputTag[Any] | None = None


class PatternStream(Generic[T]):
    """The matches of a pattern; ``select``, ``flat_select`` or ``process`` say what becomes of them."""

    def __init__(self, stream: DataStream[T], pattern: Pattern[Any], settings: _Settings | None = None) -> None:
        self._stream = stream
        self._pattern = pattern
        self._settings = settings or _Settings()

    def explain(self, form: str = "text") -> str:
        """Return what the pattern does: as ``text``, or its automaton as ``svg`` or ``dot``."""
        from penstock.graph.cep.explanation import explain

        return explain(self._pattern, form)

    def in_processing_time(self) -> PatternStream[T]:
        """Match events as they come, by the clock; timestamps are not looked at."""
        return self._with(is_event_time=False)

    def in_event_time(self) -> PatternStream[T]:
        """Match events in the order of their timestamps, which is the default."""
        return self._with(is_event_time=True)

    def side_output_late_data(self, late_data_output_tag: OutputTag[Any]) -> PatternStream[T]:
        """Send events that are behind the watermark to a side output instead of dropping them."""
        check_function(late_data_output_tag, OutputTag, "side_output_late_data", allow_callable=False)
        return self._with(late_tag=late_data_output_tag)

    def max_runs_per_key(self, number: int, output_tag: OutputTag[Any] | None = None) -> PatternStream[T]:
        """Bound the number of half matches of a key; the oldest are dropped, and counted in ``numRunsDropped``.

        Args:
            number: How many half matches a key may have.
            output_tag: Where the events of those that are dropped go, if anywhere.
        """
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            message = f"max_runs_per_key() needs a positive number, not {number!r}."
            raise ProgramError(message, location())
        if output_tag is not None:
            check_function(output_tag, OutputTag, "max_runs_per_key", allow_callable=False)
        return self._with(max_runs=number, dropped_tag=output_tag)

    def select(self, *functions: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each match into one result: ``select(function)``, or with timeouts ``select(tag, timeout, function)``.

        What the timeout function returns for a half match whose time is over goes to the side output of the tag.
        """
        return self._selected("select", functions, PatternSelectFunction, PatternTimeoutFunction, output_type)

    def flat_select(self, *functions: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each match into any number of results: ``flat_select(function)`` or ``(tag, timeout, function)``."""
        return self._selected(
            "flat_select", functions, PatternFlatSelectFunction, PatternFlatTimeoutFunction, output_type
        )

    def process(self, pattern_process_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Put each match through a ``PatternProcessFunction``; if it handles timeouts, too, half matches as well."""
        check_function(pattern_process_function, PatternProcessFunction, "process", allow_callable=False)
        return self._then("process", pattern_process_function, None, None, output_type)

    def _selected(
        self,
        kind: Literal["select", "flat_select"],
        functions: tuple[Any, ...],
        wanted: type,
        wanted_timeout: type,
        output_type: Any,
    ) -> DataStream[Any]:
        is_plain = len(functions) == 2 and not isinstance(functions[0], OutputTag)
        if output_type is None and (is_plain or len(functions) == 4):  # the type may follow the functions
            *given, output_type = functions
            functions = tuple(given)
        if len(functions) == 1:
            check_function(functions[0], wanted, kind)
            return self._then(kind, functions[0], None, None, output_type)
        if len(functions) != 3:
            message = f"{kind}() takes a function, or a tag, a timeout function and a function; not {len(functions)}."
            raise ProgramError(message, location())
        tag, timeout_function, function = functions
        check_function(tag, OutputTag, kind, allow_callable=False)
        check_function(timeout_function, wanted_timeout, kind)
        check_function(function, wanted, kind)
        return self._then(kind, function, timeout_function, tag, output_type)

    def _with(self, **changes: Any) -> PatternStream[T]:
        return PatternStream(self._stream, self._pattern, replace(self._settings, **changes))

    def _then(
        self,
        kind: Literal["select", "flat_select", "process"],
        function: Any,
        timeout_function: Any,
        timeout_tag: OutputTag[Any] | None,
        output_type: Any,
    ) -> DataStream[Any]:
        # Most programs have no patterns, and need not wait for what compiles them.
        from penstock.graph.cep.compiler import compile_pattern
        from penstock.graph.cep.pattern_warnings import warnings_of
        from penstock.graph.cep.steps import PatternStep

        settings = self._settings
        automaton = compile_pattern(self._pattern)
        for text in warnings_of(self._pattern, has_limit=settings.max_runs is not None):
            warnings.warn(f"{text}\n  at {self._pattern.location}", PatternWarning, stacklevel=3)
        stream, key, fixed = _keyed(self._stream)
        step = PatternStep(
            key=key,
            automaton=automaton,
            function=function,
            kind=kind,
            timeout_function=timeout_function,
            timeout_tag=timeout_tag,
            late_tag=settings.late_tag,
            is_event_time=settings.is_event_time,
            comparator=settings.comparator,
            max_runs=settings.max_runs,
            dropped_tag=settings.dropped_tag,
        )
        return stream._then(step_name("Pattern", function), step, output_type, **fixed)


def _one_key(_: Any) -> int:
    return 0


def _keyed(stream: DataStream[Any]) -> tuple[DataStream[Any], Callable[[Any], Any], dict[str, Any]]:
    """Return the stream with its key, and settings of the step; without keys all records have the same one."""
    if isinstance(stream, KeyedStream):
        return stream, stream._key(), {}
    upstreams = tuple(Upstream(up.node, KeyGroups(_one_key), up.tag) for up in stream._upstreams)
    together: DataStream[Any] = DataStream(stream.get_execution_environment(), upstreams)
    return together, _one_key, {"parallelism": 1, "is_parallelism_fixed": True}
