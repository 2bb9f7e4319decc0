"""Puts matches and timed-out half matches through the program's functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import StateAccessError
from penstock.runtime.calls.functions import resolve_function
from penstock.runtime.calls.record_calls import gather_all
from penstock.runtime.calls.results import PendingResults
from penstock.runtime.cep.runs import events_of
from penstock.runtime.interpreter_tricks.handover import protect_run
from penstock.runtime.operators.process import with_collector
from penstock.runtime.task.context import FunctionContext, prepare_function
from penstock.statestore.copying import as_it_is, copied
from penstock.vocabulary.cep.pattern_functions import (
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

    from penstock.graph.cep.steps import PatternStep
    from penstock.runtime.cep.runs import Cell
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["MatchOutput", "open_in_pattern"]


class _PatternFunctionContext(FunctionContext):
    """The runtime context of conditions and pattern functions: it has no state, which belongs to the matching."""

    def get_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: there is no state here."""
        raise self._refused()

    def get_list_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: there is no state here."""
        raise self._refused()

    def get_map_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: there is no state here."""
        raise self._refused()

    def get_reducing_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: there is no state here."""
        raise self._refused()

    def get_aggregating_state(self, state_descriptor: Any) -> NoReturn:
        """Refuse: there is no state here."""
        raise self._refused()

    def _refused(self) -> StateAccessError:
        message = (
            f"State was asked for in step {self._info.name!r}, but conditions and pattern functions have none. Keep"
            " state in a process function behind the pattern."
        )
        return StateAccessError(message)


def open_in_pattern(function: Any, context: OperatorContext) -> None:
    """Open a condition or a pattern function, if it has a life cycle."""
    if isinstance(function, Function):
        prepare_function(function, context)
        restricted = _PatternFunctionContext(context)
        function.set_runtime_context(restricted)
        function.open(restricted)
        for nested in getattr(function, "nested", ()):
            open_in_pattern(nested, context)


class _MatchContext(PatternProcessFunction.Context):
    """What a process function sees; one object, renewed for each match."""

    def __init__(self, clock: Callable[[], int], results: PendingResults, *, is_event_time: bool) -> None:
        self._clock = clock
        self._results = results
        self._is_event_time = is_event_time
        self.time = 0

    def timestamp(self) -> int:
        """Return the time of the match."""
        return self.time

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._clock()

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output, behind what was emitted before it."""
        self._results.emit_aside(output_tag, value, self.time if self._is_event_time else None)


class MatchOutput:
    """Gathers the results of matches until they are flushed."""

    def __init__(self, step: PatternStep, context: OperatorContext, output: Output) -> None:
        self._output = output
        self._is_event_time = step.is_event_time
        self._protects = not context.execution_config.is_object_reuse_enabled()
        # The function may change the events, which other matches share.
        self._given: Callable[[Any], Any] = copied if self._protects else as_it_is
        self._results = PendingResults(output, protects=self._protects)
        self._results.begin(has_timestamps=step.is_event_time)
        self._context = _MatchContext(context.clock.now, self._results, is_event_time=step.is_event_time)
        self._call, self._is_one = self._match_call(step)
        self._timeout_call = self._resolved_timeout(step)
        self._timed_out_tag = step.timeout_tag
        self._timed_out_is_one = step.kind == "select" and not isinstance(
            step.timeout_function, PatternFlatTimeoutFunction
        )

    @property
    def handles_timeouts(self) -> bool:
        """Tell whether anybody wants to see half matches whose time is over."""
        return self._timeout_call is not None

    def matches(self, cells: Iterable[Cell], time: int) -> None:
        """Take matches that come out at a time."""
        call, results = self._call, self._results
        self._context.time = time
        for cell in cells:
            made = call(self._given(events_of(cell)))
            if self._is_one:
                made = (made,)
            if made is not None:
                gather_all(made, time, results.values, results.times, protects=self._protects)

    def timed_out(self, cells: Iterable[tuple[Cell, int]]) -> None:
        """Take half matches whose time is over."""
        call, tag = self._timeout_call, self._timed_out_tag
        if call is None:
            return
        for cell, time in cells:
            self._context.time = time
            made = call(self._given(events_of(cell)), time)
            if tag is None:
                gather_all(made or (), time, self._results.values, self._results.times, protects=self._protects)
                continue
            values = [made] if self._timed_out_is_one else list(made or ())
            if values:
                if self._protects:
                    protect_run(values)
                self._output.side(tag.tag_id)(values, [time] * len(values) if self._is_event_time else None)

    def flush(self) -> None:
        """Emit what was gathered."""
        self._results.emit()

    def _match_call(self, step: PatternStep) -> tuple[Callable[[Any], Any], bool]:
        function, context = step.function, self._context
        if step.kind == "select":
            return resolve_function(function, None, "select"), True
        if step.kind == "flat_select":
            return with_collector(resolve_function(function, None, "flat_select"), 1, self._results), False
        process = with_collector(function.process_match, 2, self._results)
        return lambda match: process(match, context), False

    def _resolved_timeout(self, step: PatternStep) -> Callable[[Any, int], Any] | None:
        if step.timeout_function is not None:
            call = resolve_function(step.timeout_function, None, "timeout")
            return call if step.kind == "select" else with_collector(call, 2)
        function, context = step.function, self._context
        if step.kind == "process" and isinstance(function, TimedOutPartialMatchHandler):
            handle = function.process_timed_out_match
            return lambda match, _: handle(match, context)
        return None
