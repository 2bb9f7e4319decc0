"""The stream divided by key: rolling aggregations, keyed process functions, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NoReturn, TypeVar, overload

from penstock.api.argument_checks import check_function, location, step_name
from penstock.api.data_stream import DataStream
from penstock.errors import ProgramError
from penstock.graph import steps
from penstock.vocabulary.functions.basic import KeySelector, ReduceFunction
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.api.interval_join import IntervalJoin
    from penstock.api.windowed_stream import WindowedStream
    from penstock.graph import partitioning as ways
    from penstock.graph.nodes import Upstream
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["KeyedStream"]

K = TypeVar("K")
T = TypeVar("T")
U = TypeVar("U")
K2 = TypeVar("K2")


class KeyedStream(DataStream[T], Generic[K, T]):
    """A stream whose records of equal key meet in one subtask, with state of their own."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        upstreams: tuple[Upstream, ...],
        key: Callable[[T], K],
        key_type: Any = None,
    ) -> None:
        super().__init__(environment, upstreams)
        self._key_selector = key
        self._key_type = key_type

    def _key(self) -> Callable[[T], K]:
        return self._key_selector

    @overload
    def key_by(
        self, key_selector: KeySelector[T, K2] | Callable[[T], K2], key_type: Any = None
    ) -> KeyedStream[K2, T]: ...

    @overload
    def key_by(self, key_selector: int | str, key_type: Any = None) -> KeyedStream[Any, T]: ...

    def key_by(self, key_selector: Any, key_type: Any = None) -> KeyedStream[Any, T]:
        """Divide the stream by another key."""
        return DataStream.key_by(self, key_selector, key_type)

    def reduce(self, func: ReduceFunction[T] | Callable[[T, T], T]) -> DataStream[T]:
        """Combine each record with the result so far of its key; emits on every record."""
        check_function(func, ReduceFunction, "reduce")
        return self._then(step_name("Reduce", func), steps.ReduceStep(function=func, key=self._key()))

    def sum(self, position_to_sum: int | str = 0) -> DataStream[T]:
        """Emit the rolling sum of a field per key."""
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream[T]:
        """Emit the rolling minimum of a field per key; the other fields stay those of the key's first record."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream[T]:
        """Emit the rolling maximum of a field per key; the other fields stay those of the key's first record."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream[T]:
        """Emit, per key, the record with the smallest field so far."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream[T]:
        """Emit, per key, the record with the largest field so far."""
        return self._rolling("max_by", position_to_max_by)

    def _rolling(self, kind: Literal["sum", "min", "max", "min_by", "max_by"], position: int | str) -> DataStream[T]:
        if isinstance(position, bool) or not isinstance(position, (int, str)):
            message = f"{kind}() needs a field index or a field name, not {position!r}."
            raise ProgramError(message, location())
        step = steps.RollingStep(kind=kind, position=position, location=location(), key=self._key())
        return self._then(kind.replace("_", " ").title(), step)

    def map_with_state(self, func: Callable[[T, Any], tuple[U, Any]]) -> DataStream[U]:
        """Map with one state value per key: ``func(record, state or None)`` returns the result and the new state."""
        return self._stateful("map", func)

    def flat_map_with_state(self, func: Callable[[T, Any], tuple[Iterable[U], Any]]) -> DataStream[U]:
        """Flat-map with one state value per key: ``func`` returns an iterable of results and the new state."""
        return self._stateful("flat_map", func)

    def filter_with_state(self, func: Callable[[T, Any], tuple[bool, Any]]) -> DataStream[T]:
        """Filter with one state value per key: ``func`` returns whether to keep the record and the new state."""
        return self._stateful("filter", func)

    def _stateful(self, kind: Literal["map", "flat_map", "filter"], func: Any) -> DataStream[Any]:
        check_function(func, (), f"{kind}_with_state")
        step = steps.StatefulStep(kind=kind, function=func, key=self._key())
        return self._then(f"{kind.replace('_', ' ').title()} With State", step)

    def process(
        self, func: KeyedProcessFunction[K, T, U] | ProcessFunction[T, U], output_type: Any = None
    ) -> DataStream[U]:
        """Put each record through a process function with keyed state and timers."""
        check_function(func, (KeyedProcessFunction, ProcessFunction), "process", allow_callable=False)
        return self._then(
            step_name("KeyedProcess", func), steps.ProcessStep(function=func, key=self._key()), output_type
        )

    def window(self, window_assigner: Any) -> WindowedStream[K, T]:
        """Put the records of each key into windows."""
        from penstock.api.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[K, T]:
        """Make a window of every ``size`` records of a key or, with a slide, of the last ``size`` every ``slide``."""
        from penstock.api.windowed_stream import count_window

        return count_window(self, size, slide)

    def time_window(self, size: TimeLength, slide: TimeLength | None = None) -> WindowedStream[K, T]:
        """Make tumbling or sliding windows in the time that the environment's time characteristic says."""
        from penstock.api.windowed_stream import time_window

        return time_window(self, size, slide)

    def interval_join(self, other_stream: KeyedStream[K, Any]) -> IntervalJoin[T, Any, K]:
        """Pair the records of two keyed streams by the distance of their timestamps."""
        from penstock.api.interval_join import IntervalJoin

        return IntervalJoin(self, other_stream)

    def _partitioned(self, way: ways.Partitioning) -> NoReturn:
        message = "Cannot override partitioning for KeyedStream. A keyed stream is spread by its key."
        raise ProgramError(message, location())
