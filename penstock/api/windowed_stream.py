"""Windows over a stream: what goes in, when it fires, what is kept out, what comes out."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from penstock.api.argument_checks import check_function, location
from penstock.api.data_stream import DataStream
from penstock.api.window_settings import WindowSettings
from penstock.errors import ProgramError
from penstock.graph import steps
from penstock.graph.nodes import Upstream
from penstock.graph.partitioning import KeyGroups
from penstock.vocabulary.functions.basic import AggregateFunction, ReduceFunction
from penstock.vocabulary.functions.fields import FieldReducer
from penstock.vocabulary.functions.windowed import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.vocabulary.settings.modes import TimeCharacteristic
from penstock.vocabulary.time.durations import Time, to_millis
from penstock.vocabulary.windows.assigners import (
    GlobalWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from penstock.vocabulary.windows.evictors import CountEvictor
from penstock.vocabulary.windows.triggers import CountTrigger, PurgingTrigger

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.api.keyed_stream import KeyedStream
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["AllWindowedStream", "WindowedStream", "count_window", "time_window"]

K = TypeVar("K")
T = TypeVar("T")
U = TypeVar("U")


class _Windows(WindowSettings, Generic[T]):
    """What keyed windows and windows over everything have in common."""

    _process_function: type
    _window_function: type

    def __init__(
        self, stream: DataStream[T], window_assigner: Any, key: Callable[[Any], Any], *, is_keyed: bool
    ) -> None:
        super().__init__(window_assigner)
        self._stream = stream
        self._key = key
        self._is_keyed = is_keyed

    @overload
    def reduce(
        self,
        reduce_function: ReduceFunction[T] | Callable[[T, T], T],
        window_function: None = None,
        output_type: Any = None,
    ) -> DataStream[T]: ...

    @overload
    def reduce(
        self, reduce_function: ReduceFunction[T] | Callable[[T, T], T], window_function: Any, output_type: Any = None
    ) -> DataStream[Any]: ...

    def reduce(self, reduce_function: Any, window_function: Any = None, output_type: Any = None) -> DataStream[Any]:
        """Keep one value per window, combined as elements arrive."""
        check_function(reduce_function, ReduceFunction, "reduce")
        return self._result("Reduce", reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: Any = None,
        output_type: Any = None,
    ) -> DataStream[Any]:
        """Keep one accumulator per window, to which elements are added as they arrive."""
        check_function(aggregate_function, AggregateFunction, "aggregate", allow_callable=False)
        return self._result("Aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Keep all elements and hand them to a window function when the window fires."""
        check_function(window_function, self._window_function, "apply")
        return self._result("Apply", None, window_function, output_type)

    def process(self, process_window_function: Any, output_type: Any = None) -> DataStream[Any]:
        """Keep all elements and hand them to a process window function when the window fires."""
        check_function(process_window_function, self._process_function, "process", allow_callable=False)
        return self._result("Process", None, process_window_function, output_type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Emit the sum of a field per window."""
        return self._by_field("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Emit the smallest value of a field per window; the other fields are those of the first element."""
        return self._by_field("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Emit the largest value of a field per window; the other fields are those of the first element."""
        return self._by_field("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Emit the element with the smallest field per window."""
        return self._by_field("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Emit the element with the largest field per window."""
        return self._by_field("max_by", position_to_max_by)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> Any:
        """Return the type given for the input's records, ``None`` where none was given."""
        nodes = self._stream._environment.graph.nodes
        return nodes[self._stream._upstreams[0].node].output_type

    def _by_field(self, kind: Literal["sum", "min", "max", "min_by", "max_by"], position: int | str) -> DataStream[T]:
        return self._result(kind.replace("_", " ").title(), FieldReducer(kind, position, location()), None, None)

    def _result(self, kind: str, reducer: Any, function: Any, output_type: Any) -> DataStream[Any]:
        if function is not None and reducer is not None:
            check_function(
                function, (self._process_function, self._window_function), kind.lower(), allow_callable=False
            )
        step = steps.WindowStep(
            key=self._key,
            **self._window_settings(self._stream.get_execution_environment()),
            reducer=reducer,
            function=function,
            is_keyed=self._is_keyed,
        )
        name = f"{type(self._assigner).__name__} {kind}"
        settings: dict[str, Any] = {} if self._is_keyed else {"parallelism": 1, "is_parallelism_fixed": True}
        return self._stream._then(name, step, output_type, **settings)


class WindowedStream(_Windows[T], Generic[K, T]):
    """The windows of a keyed stream, each key with its own."""

    _process_function = ProcessWindowFunction
    _window_function = WindowFunction

    def __init__(self, keyed_stream: KeyedStream[K, T], window_assigner: Any) -> None:
        super().__init__(keyed_stream, window_assigner, keyed_stream._key(), is_keyed=True)


def _one_key(_: Any) -> int:
    return 0


class AllWindowedStream(_Windows[T]):
    """The windows of a stream without keys; they run in one subtask."""

    _process_function = ProcessAllWindowFunction
    _window_function = AllWindowFunction

    def __init__(self, data_stream: DataStream[T], window_assigner: Any) -> None:
        upstreams = tuple(Upstream(up.node, KeyGroups(_one_key), up.tag) for up in data_stream._upstreams)
        stream: DataStream[T] = DataStream(data_stream.get_execution_environment(), upstreams)
        super().__init__(stream, window_assigner, _one_key, is_keyed=False)


def count_window(stream: KeyedStream[K, T], size: int, slide: int) -> WindowedStream[K, T]:
    """Return count windows as in Java: a sliding one fires after every ``slide`` records with up to ``size``."""
    if not isinstance(size, int) or size < 1 or not isinstance(slide, int) or slide < 0:
        message = f"count_window() needs a positive size and slide, not {size!r} and {slide!r}."
        raise ProgramError(message, location())
    windows: WindowedStream[K, T] = WindowedStream(stream, GlobalWindows.create())
    if slide == 0:
        return windows.trigger(PurgingTrigger.of(CountTrigger.of(size)))
    return windows.evictor(CountEvictor.of(size)).trigger(CountTrigger.of(slide))


def _has_watermarks(stream: DataStream[Any]) -> bool:
    """Tell whether a step that the stream comes from makes watermarks."""
    nodes = stream.get_execution_environment().graph.nodes
    waiting = [upstream.node for upstream in stream._upstreams]
    seen: set[int] = set()
    while waiting:
        node = nodes[waiting.pop()]
        strategy = getattr(node.step, "strategy", None)
        if strategy is not None and strategy.makes_watermarks:
            return True
        seen.add(node.id)
        waiting += [upstream.node for upstream in node.upstreams if upstream.node not in seen]
    return False


def time_window(stream: KeyedStream[K, T], size: TimeLength, slide: TimeLength | None) -> WindowedStream[K, T]:
    """Return time windows of the kind that the environment's time characteristic asks for."""
    environment = stream.get_execution_environment()
    is_processing = environment.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime
    if is_processing and _has_watermarks(stream):
        warnings.warn(
            f"time_window() makes windows of the clock here ({location()}), although the stream has watermarks: the"
            " time characteristic is ProcessingTime. For windows of event time call"
            " env.set_stream_time_characteristic(TimeCharacteristic.EventTime) before it, or write"
            " window(TumblingEventTimeWindows.of(...)); for windows of the clock write"
            " window(TumblingProcessingTimeWindows.of(...)).",
            stacklevel=3,
        )
    length = Time.milliseconds(to_millis(size))
    assigner: WindowAssigner[Any, Any]
    if slide is None:
        assigner = (TumblingProcessingTimeWindows if is_processing else TumblingEventTimeWindows).of(length)
    else:
        step = Time.milliseconds(to_millis(slide))
        assigner = (SlidingProcessingTimeWindows if is_processing else SlidingEventTimeWindows).of(length, step)
    return WindowedStream(stream, assigner)
