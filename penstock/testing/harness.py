"""A bench for one operator or function: push records, watermarks and time; look at what comes out and what is kept."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any, Self, Unpack

from penstock.api.argument_checks import key_function
from penstock.api.async_data_stream import AsyncDataStream
from penstock.api.environment import StreamExecutionEnvironment
from penstock.api.pattern_stream import CEP
from penstock.errors import ProgramError
from penstock.graph import steps
from penstock.runtime.cep.operator import PatternOperator
from penstock.runtime.task.build import build_operator
from penstock.testing.driven_operator import DrivenOperator
from penstock.vocabulary.cep.pattern import PatternWarning
from penstock.vocabulary.cep.pattern_functions import PatternProcessFunction
from penstock.vocabulary.functions.async_retry import AsyncRetryStrategy
from penstock.vocabulary.functions.basic import (
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ReduceFunction,
)
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.time.durations import TimeLength, to_millis

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.data_stream import DataStream
    from penstock.runtime.cep.half_matches import HalfMatch
    from penstock.testing.harness_options import HarnessOptions
    from penstock.vocabulary.cep.pattern import Pattern
    from penstock.vocabulary.functions.asynchronous import AsyncFunction
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.state.descriptors import MapStateDescriptor

__all__ = ["OperatorHarness"]

_HOUR = 3_600_000
_METHODS: dict[type, str] = {
    MapFunction: "map",
    FlatMapFunction: "flat_map",
    FilterFunction: "filter",
    ReduceFunction: "reduce",
    KeyedProcessFunction: "process",
    ProcessFunction: "process",
}
"""The method of a stream that takes each kind of function."""


class OperatorHarness(DrivenOperator):
    """Runs one operator with its real context, state and timers under a clock that moves only when it is told to.

    What is not simulated: the network and its encoding of records, other operators of the job, and real waiting. There
    is one subtask; several harnesses, each with its number, stand for several. An exception of a function comes out as
    is. Every way to make a harness takes the keyword arguments of
    :class:`~penstock.testing.harness_options.HarnessOptions`.

    Example:
        >>> from penstock.vocabulary.windows.assigners import TumblingEventTimeWindows
        >>> harness = OperatorHarness.for_window(TumblingEventTimeWindows.of(5000), reduce=lambda a, b: a + b)
        >>> harness.push(1, 1000)
        >>> harness.push(2, 4000)
        >>> harness.push_watermark(4999)
        >>> harness.outputs
        [(3, 4999)]
    """

    @classmethod
    def for_step(cls, step: steps.Step, *, name: str = "step", **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for a step of a job, with the operator that would run it."""
        return cls(build_operator(step), is_keyed=step.has_keyed_state, name=name, step=step, **options)

    @classmethod
    def for_stream(cls, build: Callable[..., object], **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for the one step that a function of a stream, or of two streams, adds to them.

        Example:
            >>> harness = OperatorHarness.for_stream(lambda words: words.key_by(len).map(str.upper))
            >>> harness.push("hello")
            >>> harness.values
            ['HELLO']
        """
        environment = StreamExecutionEnvironment(Configuration())
        inputs = [environment.from_collection([0]) for _ in inspect.signature(build).parameters]
        build(*inputs)
        added = [node for node in environment.graph.nodes.values() if not node.is_source]
        if len(added) != 1:
            names = ", ".join(node.name for node in added) or "none"
            message = (
                f"for_stream() takes one step, but {len(added)} were added: {names}. To test several together, run them"
                " with LocalRun.of()."
            )
            raise ProgramError(message)
        return cls.for_step(added[0].step, name=added[0].name, **options)

    @classmethod
    def for_function(cls, function: Any, *, key: Any = None, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for a map, flat-map, filter, reduce or process function, keyed if a key is given."""
        method = next((method for kind, method in _METHODS.items() if isinstance(function, kind)), None)
        if method is None:
            names = ", ".join(kind.__name__ for kind in _METHODS)
            message = (
                f"for_function() takes one of {names}, not a {type(function).__name__}; other steps: for_stream() and"
                " its siblings."
            )
            raise ProgramError(message)
        if key is None and isinstance(function, (ReduceFunction, KeyedProcessFunction)):
            message = f"A {type(function).__name__} works on a keyed stream: give the harness a key."
            raise ProgramError(message)
        return cls.for_stream(lambda stream: getattr(_keyed(stream, key), method)(function), **options)

    @classmethod
    def for_process(
        cls,
        function: ProcessFunction[Any, Any] | KeyedProcessFunction[Any, Any, Any],
        *,
        key: Any = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for a process function; a ``KeyedProcessFunction`` needs a key."""
        return cls.for_function(function, key=key, **options)

    @classmethod
    def for_map(cls, function: Any, *, key: Any = None, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for ``map``, with a ``MapFunction`` or a callable."""
        return cls.for_stream(lambda stream: _keyed(stream, key).map(function), **options)

    @classmethod
    def for_flat_map(cls, function: Any, *, key: Any = None, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for ``flat_map``, with a ``FlatMapFunction`` or a callable."""
        return cls.for_stream(lambda stream: _keyed(stream, key).flat_map(function), **options)

    @classmethod
    def for_filter(cls, function: Any, *, key: Any = None, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for ``filter``, with a ``FilterFunction`` or a callable."""
        return cls.for_stream(lambda stream: _keyed(stream, key).filter(function), **options)

    @classmethod
    def for_reduce(cls, function: Any, *, key: Any, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for ``reduce``, with a ``ReduceFunction`` or a callable."""
        return cls.for_stream(lambda stream: stream.key_by(key).reduce(function), **options)

    @classmethod
    def for_connected(
        cls, function: Any, *, first_key: Any = None, second_key: Any = None, **options: Unpack[HarnessOptions]
    ) -> Self:
        """Make a harness for a function of two connected streams: a co-map, co-flat-map or co-process function."""
        is_map, is_flat_map = isinstance(function, CoMapFunction), isinstance(function, CoFlatMapFunction)
        method = "map" if is_map else "flat_map" if is_flat_map else "process"

        def build(first: DataStream[Any], second: DataStream[Any]) -> object:
            connected = _keyed(first, first_key).connect(_keyed(second, second_key))
            return getattr(connected, method)(function)

        return cls.for_stream(build, **options)

    @classmethod
    def for_broadcast(
        cls,
        function: Any,
        *descriptors: MapStateDescriptor[Any, Any],
        key: Any = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for a broadcast process function; ``push_second`` gives it records of the broadcast side."""
        return cls.for_stream(
            lambda stream, rules: _keyed(stream, key).connect(rules.broadcast(*descriptors)).process(function),
            **options,
        )

    @classmethod
    def for_async(
        cls,
        function: AsyncFunction[Any, Any],
        *,
        timeout: TimeLength = _HOUR,
        capacity: int = 100,
        is_ordered: bool = True,
        retry_strategy: AsyncRetryStrategy[Any] | None = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for an asynchronous function; ``settle`` waits for its answers."""
        strategy = AsyncRetryStrategy.no_restart() if retry_strategy is None else retry_strategy
        wait = AsyncDataStream.ordered_wait_with_retry if is_ordered else AsyncDataStream.unordered_wait_with_retry
        return cls.for_stream(lambda stream: wait(stream, function, timeout, strategy, capacity), **options)

    @classmethod
    def for_interval_join(
        cls,
        function: Any,
        *,
        first_key: Any,
        second_key: Any,
        lower: TimeLength,
        upper: TimeLength,
        left_late_tag: OutputTag[Any] | None = None,
        right_late_tag: OutputTag[Any] | None = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for an interval join; the bounds belong to it. Outer ones: ``for_stream``."""

        def build(first: DataStream[Any], second: DataStream[Any]) -> object:
            join = first.key_by(first_key).interval_join(second.key_by(second_key)).between(lower, upper)
            join = join if left_late_tag is None else join.side_output_left_late_data(left_late_tag)
            join = join if right_late_tag is None else join.side_output_right_late_data(right_late_tag)
            return join.process(function)

        return cls.for_stream(build, **options)

    @classmethod
    def for_window_join(
        cls, assigner: Any, function: Any, *, first_key: Any, second_key: Any, **options: Unpack[HarnessOptions]
    ) -> Self:
        """Make a harness for a join in windows, or a co-group if it is a ``CoGroupFunction``.

        With a trigger, an evictor, lateness, as an outer join, or without windows: ``for_stream``.
        """

        def build(first: DataStream[Any], second: DataStream[Any]) -> object:
            pair: Any = first.co_group(second) if isinstance(function, CoGroupFunction) else first.join(second)
            return pair.where(first_key).equal_to(second_key).window(assigner).apply(function)

        return cls.for_stream(build, **options)

    @classmethod
    def for_pattern(
        cls,
        pattern: Pattern[Any],
        function: Any = None,
        *,
        key: Any = None,
        comparator: Any = None,
        is_event_time: bool = True,
        late_tag: OutputTag[Any] | None = None,
        max_runs: int | None = None,
        dropped_tag: OutputTag[Any] | None = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for a pattern, with a ``PatternProcessFunction`` or a select function; without, matches come.

        With timeouts by ``select``: ``for_stream``.
        """

        def build(stream: DataStream[Any]) -> object:
            found = CEP.pattern(_keyed(stream, key), pattern, comparator)
            found = found if is_event_time else found.in_processing_time()
            found = found if late_tag is None else found.side_output_late_data(late_tag)
            found = found if max_runs is None else found.max_runs_per_key(max_runs, dropped_tag)
            with warnings.catch_warnings():
                # In a test nothing grows without end.
                warnings.simplefilter("ignore", PatternWarning)
                if isinstance(function, PatternProcessFunction):
                    return found.process(function)
                return found.select(_itself if function is None else function)

        return cls.for_stream(build, **options)

    def runs(self, key: Any = 0) -> list[HalfMatch]:
        """Return the half matches that a pattern has for a key, the oldest first; without keys there is one, 0."""
        return self._pattern_operator().half_matches(key)

    def why_no_match(self, key: Any = 0) -> str:
        """Return how far a pattern is for a key: what it waits for, and what the last event lacked."""
        return self._pattern_operator().why_no_match(key)

    def _pattern_operator(self) -> PatternOperator:
        if not isinstance(self.operator, PatternOperator):
            message = "Only a harness for a pattern has half matches: make it with OperatorHarness.for_pattern()."
            raise ProgramError(message)
        return self.operator

    @classmethod
    def for_sink(cls, sink: Any, **options: Unpack[HarnessOptions]) -> Self:
        """Make a harness for a sink; ``snapshot`` and ``notify_complete`` make it prepare and commit."""
        return cls.for_stream(lambda stream: stream.add_sink(sink), **options)

    @classmethod
    def for_window(
        cls,
        assigner: Any,
        *,
        key: Any = None,
        trigger: Any = None,
        evictor: Any = None,
        allowed_lateness: TimeLength = 0,
        late_tag: OutputTag[Any] | None = None,
        reduce: Any = None,
        aggregate: Any = None,
        function: Any = None,
        **options: Unpack[HarnessOptions],
    ) -> Self:
        """Make a harness for windows: keyed ones if a key is given, else windows over everything."""
        if reduce is not None and aggregate is not None:
            message = "Give the windows either reduce or aggregate, not both."
            raise ProgramError(message)
        step = steps.WindowStep(
            key=_one_key if key is None else key_function(key),
            is_keyed=key is not None,
            assigner=assigner,
            trigger=trigger,
            evictor=evictor,
            allowed_lateness=to_millis(allowed_lateness),
            late_tag=late_tag,
            reducer=reduce if aggregate is None else aggregate,
            function=function,
        )
        return cls.for_step(step, name=type(assigner).__name__, **options)


def _keyed(stream: DataStream[Any], key: Any) -> DataStream[Any]:
    return stream if key is None else stream.key_by(key)


def _itself(value: Any) -> Any:
    return value


def _one_key(_: Any) -> int:
    return 0
