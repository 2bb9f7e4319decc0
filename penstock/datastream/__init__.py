"""The DataStream API, under the names and at the place PyFlink gives it.

What a program is made of is imported at once; environment and streams are imported when they are first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penstock.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
    WindowFunction,
)
from penstock.vocabulary.functions.contexts import TimerService
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.settings.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.modes import (
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    RuntimeExecutionMode,
    TimeCharacteristic,
    TimeDomain,
)
from penstock.vocabulary.settings.slots import MemorySize, SlotSharingGroup
from penstock.vocabulary.state.backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from penstock.vocabulary.windows.assigners import MergingWindowAssigner, WindowAssigner
from penstock.vocabulary.windows.triggers import Trigger, TriggerResult
from penstock.vocabulary.windows.windows import CountWindow, GlobalWindow, TimeWindow, Window

if TYPE_CHECKING:
    from penstock.api.async_data_stream import AsyncDataStream
    from penstock.api.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from penstock.api.connected_streams import ConnectedStreams
    from penstock.api.data_stream import DataStream
    from penstock.api.data_stream_sink import DataStreamSink
    from penstock.api.environment import StreamExecutionEnvironment
    from penstock.api.keyed_stream import KeyedStream
    from penstock.api.windowed_stream import WindowedStream

__all__ = [
    "AggregateFunction",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "CheckpointConfig",
    "CheckpointStorage",
    "CheckpointingMode",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "CountWindow",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "EmbeddedRocksDBStateBackend",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterFunction",
    "FlatMapFunction",
    "GlobalWindow",
    "HashMapStateBackend",
    "JobManagerCheckpointStorage",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStream",
    "MapFunction",
    "MemorySize",
    "MergingWindowAssigner",
    "OutputTag",
    "Partitioner",
    "PredefinedOptions",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SinkFunction",
    "SlotSharingGroup",
    "SourceFunction",
    "StateBackend",
    "StreamExecutionEnvironment",
    "TimeCharacteristic",
    "TimeDomain",
    "TimeWindow",
    "TimerService",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
]

_MODULE_OF = {
    "AsyncDataStream": "penstock.api.async_data_stream",
    "BroadcastConnectedStream": "penstock.api.broadcast_stream",
    "BroadcastStream": "penstock.api.broadcast_stream",
    "ConnectedStreams": "penstock.api.connected_streams",
    "DataStream": "penstock.api.data_stream",
    "DataStreamSink": "penstock.api.data_stream_sink",
    "KeyedStream": "penstock.api.keyed_stream",
    "StreamExecutionEnvironment": "penstock.api.environment",
    "WindowedStream": "penstock.api.windowed_stream",
}


def __getattr__(name: str) -> Any:
    """Import a class of the fluent API when it is first asked for."""
    module = _MODULE_OF.get(name)
    if module is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List all names, imported yet or not."""
    return sorted({*globals(), *__all__})
