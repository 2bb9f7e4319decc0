"""The stream a program builds on. Every method adds a step to the graph; nothing runs before ``execute``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from penstock.api.argument_checks import check_function, key_function, location, partition_function, step_name
from penstock.api.collect import collect
from penstock.api.data_stream_sink import DataStreamSink, add_sink_step, sink_function_step, sink_step
from penstock.api.step_settings import StepSettings
from penstock.errors import ProgramError
from penstock.graph import partitioning as ways
from penstock.graph import steps
from penstock.graph.multi_input_steps import JoinKind
from penstock.graph.nodes import Chaining, Upstream
from penstock.vocabulary.functions.basic import Collector, FilterFunction, FlatMapFunction, KeySelector, MapFunction
from penstock.vocabulary.functions.batch import BATCH_FORMS, BatchForm, FilterBatchesFunction, MapBatchesFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import KeyedProcessFunction, ProcessFunction
from penstock.vocabulary.time.legacy_assigners import LegacyAssigner
from penstock.vocabulary.time.strategy import WatermarkStrategy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.api.collect import CloseableIterator
    from penstock.api.connected_streams import ConnectedStreams
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.api.job_client import JobClient
    from penstock.api.joined_streams import CoGroupedStreams, JoinedStreams
    from penstock.api.keyed_stream import KeyedStream
    from penstock.api.windowed_stream import AllWindowedStream
    from penstock.graph.nodes import Graph, Node
    from penstock.vocabulary.settings.execution import ExecutionConfig
    from penstock.vocabulary.state.descriptors import MapStateDescriptor

__all__ = ["DataStream", "SplitStream"]

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K")

_KEYED_ONLY = frozenset(
    {"count_window", "filter_with_state", "flat_map_with_state", "map_with_state", "max", "max_by", "min", "min_by"}
    | {"interval_join", "reduce", "sum", "time_window", "window"}
)
"""What a program may expect here but finds on a keyed stream only."""


class _KeyedStreamNeededError(ProgramError, AttributeError):
    """What a stream without keys answers; who only asks whether it has such a method is told that it has none."""


class DataStream(StepSettings, Generic[T]):
    """A stream of records."""

    def __init__(self, environment: StreamExecutionEnvironment, upstreams: tuple[Upstream, ...]) -> None:
        self._environment = environment
        self._upstreams = upstreams

    # -- steps that turn records into records

    def map(self, func: MapFunction[T, U] | Callable[[T], U], output_type: Any = None) -> DataStream[U]:
        """Turn each record into one result."""
        check_function(func, MapFunction, "map")
        return self._then(step_name("Map", func), steps.MapStep(function=func, key=self._key()), output_type)

    @overload
    def flat_map(
        self, func: FlatMapFunction[T, U] | Callable[[T], Iterable[U] | None], output_type: Any = None
    ) -> DataStream[U]: ...

    @overload
    def flat_map(self, func: Callable[[T, Collector[U]], object], output_type: Any = None) -> DataStream[U]: ...

    def flat_map(self, func: Any, output_type: Any = None) -> DataStream[Any]:
        """Turn each record into any number of results, returned, yielded or given to ``out.collect``."""
        check_function(func, FlatMapFunction, "flat_map")
        return self._then(step_name("Flat Map", func), steps.FlatMapStep(function=func, key=self._key()), output_type)

    def filter(self, func: FilterFunction[T] | Callable[[T], object]) -> DataStream[T]:
        """Keep the records for which the function is true."""
        check_function(func, FilterFunction, "filter")
        return self._then(step_name("Filter", func), steps.FilterStep(function=func, key=self._key()))

    def map_batches(self, func: Any, output_type: Any = None, *, form: BatchForm = "list") -> DataStream[Any]:
        """Turn records into results, all that are there in one call; one result per record, in the same order."""
        check_function(func, MapBatchesFunction, "map_batches")
        _check_form(form, "map_batches")
        return self._then(step_name("Map Batches", func), steps.MapBatchesStep(function=func, form=form), output_type)

    def filter_batches(self, func: Any, *, form: BatchForm = "list") -> DataStream[T]:
        """Keep the records for which the function, asked for all that are there in one call, answers true."""
        check_function(func, FilterBatchesFunction, "filter_batches")
        _check_form(form, "filter_batches")
        return self._then(step_name("Filter Batches", func), steps.FilterBatchesStep(function=func, form=form))

    def process(self, func: ProcessFunction[T, U], output_type: Any = None) -> DataStream[U]:
        """Put each record through a process function, which sees time and writes side outputs."""
        if isinstance(func, KeyedProcessFunction):
            message = (
                "A KeyedProcessFunction needs a keyed stream: call key_by() before process(), or use a ProcessFunction."
            )
            raise ProgramError(message, location())
        check_function(func, ProcessFunction, "process", allow_callable=False)
        return self._then(step_name("Process", func), steps.ProcessStep(function=func), output_type)

    def project(self, *field_indexes: int) -> DataStream[Any]:
        """Keep only some fields of tuples, in the order given."""
        if not field_indexes or any(not isinstance(index, int) or index < 0 for index in field_indexes):
            message = f"project() needs one or more field indexes, not {field_indexes!r}."
            raise ProgramError(message, location())
        return self._then("Projection", steps.MapStep(function=_Projection(field_indexes)))

    def assign_timestamps_and_watermarks(
        self, watermark_strategy: WatermarkStrategy | LegacyAssigner[Any]
    ) -> DataStream[T]:
        """Give each record its event time and derive watermarks."""
        if isinstance(watermark_strategy, LegacyAssigner):
            watermark_strategy = WatermarkStrategy.for_legacy_assigner(watermark_strategy)
        check_function(watermark_strategy, WatermarkStrategy, "assign_timestamps_and_watermarks", allow_callable=False)
        if watermark_strategy.alignment is not None:
            message = "Watermark alignment pauses sources: give the strategy to from_source() instead."
            raise ProgramError(message, location())
        return self._then("Timestamps/Watermarks", steps.TimestampStep(strategy=watermark_strategy))

    def assign_ascending_timestamps(self, extractor: Callable[[T], int]) -> DataStream[T]:
        """Give each record its event time, which never decreases; the watermark follows 1 ms behind."""
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, _: extractor(value)
        )
        return self.assign_timestamps_and_watermarks(strategy)

    # -- how records are spread over the subtasks of the next step

    def shuffle(self) -> DataStream[T]:
        """Send each record to a random subtask."""
        return self._partitioned(ways.Shuffle())

    def rebalance(self) -> DataStream[T]:
        """Send records to all subtasks in turn."""
        return self._partitioned(ways.Rebalance())

    def rescale(self) -> DataStream[T]:
        """Send records to some subtasks in turn: each sender has its own share of the receivers."""
        return self._partitioned(ways.Rescale())

    def forward(self) -> DataStream[T]:
        """Send the records of subtask i to subtask i."""
        return self._partitioned(ways.Forward())

    def global_(self) -> DataStream[T]:
        """Send all records to the first subtask."""
        return self._partitioned(ways.Global())

    @overload
    def broadcast(self) -> DataStream[T]: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor[Any, Any],
        *other_broadcast_state_descriptors: MapStateDescriptor[Any, Any],
    ) -> BroadcastStream[T]: ...

    def broadcast(self, broadcast_state_descriptor: Any = None, *other_broadcast_state_descriptors: Any) -> Any:
        """Send a copy of each record to every subtask; with descriptors, to fill broadcast state there."""
        from penstock.api.broadcast_stream import BroadcastStream

        copies = self._partitioned(ways.Broadcast())
        if broadcast_state_descriptor is None:
            if other_broadcast_state_descriptors:
                message = "broadcast() got None as its first descriptor."
                raise ProgramError(message, location())
            return copies
        return BroadcastStream(copies, (broadcast_state_descriptor, *other_broadcast_state_descriptors))

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream[T]:
        """Let the program choose the subtask: ``partitioner(key, number of subtasks)``."""
        return self._partitioned(ways.Custom(partition=partition_function(partitioner), key=key_function(key_selector)))

    def _partitioned(self, way: ways.Partitioning) -> DataStream[T]:
        return DataStream(self._environment, tuple(Upstream(up.node, way, up.tag) for up in self._upstreams))

    # -- two streams

    @overload
    def connect(self, ds: DataStream[U]) -> ConnectedStreams[T, U]: ...

    @overload
    def connect(self, ds: BroadcastStream[Any]) -> BroadcastConnectedStream[T]: ...

    def connect(self, ds: Any) -> Any:
        """Process this stream and another one, of any type, in one step; or this one with a broadcast stream."""
        from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from penstock.api.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        return ConnectedStreams(self, ds)

    def join(self, other_stream: DataStream[Any]) -> JoinedStreams[T, Any]:
        """Pair the records of two streams by key, in windows or by arrival; records without a partner are dropped."""
        return self._joined(other_stream, JoinKind.INNER)

    def left_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[T, Any]:
        """Pair the records of two streams by key; records of this stream without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.LEFT)

    def right_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[T, Any]:
        """Pair the records of two streams by key; records of the other one without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.RIGHT)

    def full_outer_join(self, other_stream: DataStream[Any]) -> JoinedStreams[T, Any]:
        """Pair the records of two streams by key; records of either one without a partner come out with ``None``."""
        return self._joined(other_stream, JoinKind.FULL)

    def co_group(self, other_stream: DataStream[Any]) -> CoGroupedStreams[T, Any]:
        """Hand all records of both streams that have the same key and window to one function."""
        from penstock.api.joined_streams import CoGroupedStreams

        return CoGroupedStreams(self, other_stream)

    def _joined(self, other_stream: DataStream[Any], kind: JoinKind) -> JoinedStreams[T, Any]:
        from penstock.api.joined_streams import JoinedStreams

        return JoinedStreams(self, other_stream, kind)

    # -- other streams

    @overload
    def key_by(self, key_selector: KeySelector[T, K] | Callable[[T], K], key_type: Any = None) -> KeyedStream[K, T]: ...

    @overload
    def key_by(self, key_selector: int | str, key_type: Any = None) -> KeyedStream[Any, T]: ...

    def key_by(self, key_selector: Any, key_type: Any = None) -> KeyedStream[Any, T]:
        """Divide the stream by key: a callable, a ``KeySelector``, a field index or a field name."""
        from penstock.api.keyed_stream import KeyedStream

        key = key_function(key_selector)
        upstreams = tuple(Upstream(up.node, ways.KeyGroups(key), up.tag) for up in self._upstreams)
        return KeyedStream(self._environment, upstreams, key, key_type)

    def union(self, *streams: DataStream[T]) -> DataStream[T]:
        """Merge streams; each keeps its own order."""
        merged = self._upstreams
        for stream in streams:
            if not isinstance(stream, DataStream):
                message = f"union() needs streams, not {stream!r:.80}."
                raise ProgramError(message, location())
            if stream._environment is not self._environment:
                message = "union() needs streams of one environment."
                raise ProgramError(message, location())
            merged += stream._upstreams
        return DataStream(self._environment, merged)

    def window_all(self, window_assigner: Any) -> AllWindowedStream[T]:
        """Put all records, whatever their key, into windows; runs with parallelism 1."""
        from penstock.api.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def get_side_output(self, output_tag: OutputTag[U]) -> DataStream[U]:
        """Return the stream of a side output of this step."""
        check_function(output_tag, OutputTag, "get_side_output", allow_callable=False)
        node = self._node("get_side_output")
        return DataStream(self._environment, (Upstream(node.id, None, output_tag.tag_id),))

    def split(self, selector: Any) -> SplitStream[T]:
        """Divide the stream by names; ``select`` picks branches. A record may go to several."""
        select = getattr(selector, "select", None)
        return SplitStream(self, select if callable(select) else check_function(selector, (), "split"))

    # -- ends

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each record on the driver's standard output, with Flink's prefix."""
        return self._sink("Print to Std. Out", steps.PrintStep(identifier=sink_identifier or ""))

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Hand each record to a ``SinkFunction``, a ``TwoPhaseCommitSinkFunction`` or a write-ahead sink."""
        return self._sink(*sink_function_step(sink_func, self._key()))

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Hand records to a ``Sink``: what it prepares is committed with the checkpoint it belongs to."""
        return self._sink(*sink_step(sink))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator[T] | list[T]:
        """Run the job and iterate over the records while they come; with a limit, return the first ones as a list."""

        def add_sink(step: steps.CollectStep) -> None:
            # One subtask, as in Flink: the program sees each sender's records in their order.
            self._sink("Collect", step).set_parallelism(1)

        def start(collection: str) -> tuple[JobClient, Iterator[T]]:
            return self._environment._start_collecting(job_execution_name, collection)

        return collect(add_sink, start, limit)

    # -- settings

    def start_new_chain(self) -> Self:
        """Do not chain this step to what comes before."""
        return self._set("start_new_chain", chaining=Chaining.HEAD)

    def set_buffer_timeout(self, timeout_millis: int) -> Self:
        """Set how long a record of this step may wait for its block to fill while the subtask is busy."""
        if timeout_millis < -1:
            message = f"The buffer timeout must be -1 (no limit) or more, not {timeout_millis}."
            raise ProgramError(message, location())
        return self._set("set_buffer_timeout", buffer_timeout=(1 << 31) if timeout_millis == -1 else timeout_millis)

    def force_non_parallel(self) -> Self:
        """Fix the parallelism of this step to 1."""
        return self._set("force_non_parallel", parallelism=1, is_parallelism_fixed=True)

    def get_name(self) -> str:
        """Return the name of this step."""
        return self._node("get_name").name

    def get_type(self) -> Any:
        """Return the type given for this step's records, ``None`` where none was given."""
        return self._node("get_type").output_type

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """Return the environment the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """Return the execution config of the environment."""
        return self._environment.get_config()

    # -- building

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in _KEYED_ONLY:
                message = f"{name}() needs a keyed stream: call key_by() before it."
                raise _KeyedStreamNeededError(message, location())
            message = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(message)

    @property
    def _graph(self) -> Graph:
        return self._environment.graph

    def _key(self) -> Any:
        """Return the key selector where the stream is keyed."""
        return None

    def _node(self, setting: str) -> Node:
        upstream = self._upstreams[0]
        if len(self._upstreams) != 1 or upstream.partitioning is not None or upstream.tag is not None:
            message = (
                f"{setting}() applies to a step, but this stream is only a view of other steps (a union, a"
                " partitioning, a side output or a keyed stream). Call it on the step itself."
            )
            raise ProgramError(message, location())
        return self._graph.nodes[upstream.node]

    def _settings_node(self, setting: str) -> int:
        return self._node(setting).id

    def _then(self, name: str, step: steps.Step, output_type: Any = None, **settings: Any) -> DataStream[Any]:
        node = self._graph.add(name, step, self._upstreams, location=location(), output_type=output_type, **settings)
        return DataStream(self._environment, (Upstream(node.id),))

    def _sink(self, name: str, step: steps.Step) -> DataStreamSink:
        return add_sink_step(self._graph, self._upstreams, name, step)


class _Projection:
    """Picks fields of a tuple."""

    def __init__(self, indexes: tuple[int, ...]) -> None:
        self._indexes = indexes

    def __call__(self, record: Any) -> tuple[Any, ...]:
        return tuple(record[index] for index in self._indexes)


def _check_form(form: str, call: str) -> None:
    if form not in BATCH_FORMS:
        message = f"{call}() has the forms {', '.join(map(repr, BATCH_FORMS))}, not {form!r}."
        raise ProgramError(message, location())


class SplitStream(Generic[T]):
    """A stream whose records carry names; the selector returns one name or several."""

    def __init__(self, stream: DataStream[T], selector: Callable[[T], str | Iterable[str]]) -> None:
        self._stream = stream
        self._selector = selector

    def select(self, *output_names: str) -> DataStream[T]:
        """Return the records that carry at least one of the names, each once."""
        if not output_names or any(not isinstance(name, str) for name in output_names):
            message = f"select() needs one or more names, not {output_names!r}."
            raise ProgramError(message, location())
        selected = self._stream.filter(_CarriesName(self._selector, frozenset(output_names)))
        return selected.name(f"Select: {', '.join(output_names)}")


class _CarriesName:
    def __init__(self, selector: Callable[[Any], str | Iterable[str]], names: frozenset[str]) -> None:
        self._selector = selector
        self._names = names

    def __call__(self, value: Any) -> bool:
        carried = self._selector(value)
        return carried in self._names if isinstance(carried, str) else not self._names.isdisjoint(carried)
