"""Flink's DataStream model for Python, on Apache Spark's pipelined shuffle.

Everything public is here and, under PyFlink's module names, in the facade. Names are imported when they are first asked
for, so that ``import penstock`` costs little and starts nothing.

=============  ====================================================================  ==================================
``errors``     the exceptions, all of them                                           depends on nothing
``vocabulary`` what a program is made of: functions, state descriptors, time,        errors
               windows, types, options
``graph``      the program as nodes; checks, chains, stages, explanation             vocabulary
``connectors`` sources and sinks, and what a program implements to write its own     vocabulary
``api``        environment and streams: each call adds a node to the graph           vocabulary, graph, connectors
``statestore`` where keyed state lives                                               vocabulary
``checkpoint`` when a checkpoint is complete, and what it looks like on disk         vocabulary
``runtime``    how one subtask behaves, in plain Python                              vocabulary, graph, connectors,
                                                                                     statestore, checkpoint
``execution``  who runs subtasks; the only place that knows Spark                    all above; loaded by ``execute()``
``testing``    runs a whole job in one process with a clock that tests set           all but ``execution``
``common``,    the facade: PyFlink's module tree, by re-export only                  imported by nobody but this module
``datastream``,
``metrics``
=============  ====================================================================  ==================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.common import *
    from penstock.common.eventtime import *
    from penstock.common.serialization import *
    from penstock.common.serializer import *
    from penstock.common.time import *
    from penstock.common.typeinfo import *
    from penstock.datastream import *
    from penstock.datastream.async_retry_predicates import *
    from penstock.datastream.async_retry_strategies import *
    from penstock.datastream.connectors.base import *
    from penstock.datastream.connectors.number_seq import *
    from penstock.datastream.data_stream import *
    from penstock.datastream.functions import *
    from penstock.datastream.interval_join import *
    from penstock.datastream.joined_streams import *
    from penstock.datastream.split_stream import *
    from penstock.datastream.state import *
    from penstock.datastream.state_backend import *
    from penstock.datastream.window import *
    from penstock.errors import *
    from penstock.metrics import *
    from penstock.metrics.metricbase import *

__version__ = "0.1.0"

__all__ = [
    "NO_TIMESTAMP",
    "AggregateFunction",
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AllWindowFunction",
    "AllWindowedStream",
    "AppendingState",
    "AscendingTimestampExtractor",
    "AscendingTimestampsWatermarks",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper",
    "AssignerWithPunctuatedWatermarks",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "BoundedOutOfOrdernessTimestampExtractor",
    "BoundedOutOfOrdernessWatermarks",
    "Boundedness",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastState",
    "BroadcastStream",
    "BulkWriter",
    "BulkWriterFactory",
    "ByteArraySchema",
    "CheckpointCommitter",
    "CheckpointConfig",
    "CheckpointError",
    "CheckpointListener",
    "CheckpointStorage",
    "CheckpointedFunction",
    "CheckpointingMode",
    "CloseableIterator",
    "ClusterError",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoGroupedStreams",
    "CoMapFunction",
    "CoProcessFunction",
    "Collector",
    "Committer",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "ConnectedStreams",
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CorruptCheckpointError",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "CountWindowSerializer",
    "Counter",
    "CustomCheckpointStorage",
    "CustomStateBackend",
    "DataStream",
    "DataStreamSink",
    "DateTypeInfo",
    "Delivery",
    "DeliveryGuarantee",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DeserializationSchema",
    "Distribution",
    "Duration",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EmbeddedRocksDBStateBackend",
    "Encoder",
    "EndOfStreamTrigger",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "ExecutionConfig",
    "ExponentialBackoffDelayRetryStrategy",
    "ExternalSystemError",
    "ExternalTypeInfo",
    "ExternalizedCheckpointRetention",
    "FileSystemCheckpointStorage",
    "FilterBatchesFunction",
    "FilterFunction",
    "FixedDelayRetryStrategy",
    "FlatJoinFunction",
    "FlatMapFunction",
    "FsStateBackend",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "FunctionWrapper",
    "Gauge",
    "GenericWriteAheadSink",
    "GlobalCommitter",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "GlobalWindows",
    "HashMapStateBackend",
    "InputDependencyConstraint",
    "Instant",
    "InstantTypeInfo",
    "IntervalJoin",
    "IntervalJoined",
    "JobCancelledError",
    "JobClient",
    "JobExecutionResult",
    "JobFailedError",
    "JobID",
    "JobManagerCheckpointStorage",
    "JobStatus",
    "JoinFunction",
    "JoinedStreams",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "KeyedStream",
    "ListState",
    "ListStateDescriptor",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MalformedRecord",
    "MalformedRecordError",
    "MapBatchesFunction",
    "MapFunction",
    "MapState",
    "MapStateDescriptor",
    "MapTypeInfo",
    "MemorySize",
    "MemoryStateBackend",
    "MergingState",
    "MergingWindowAssigner",
    "Meter",
    "Metric",
    "MetricGroup",
    "Min",
    "MissingTimestampError",
    "NeverTrigger",
    "NoRetryStrategy",
    "NoWatermarksGenerator",
    "NotEnoughSlotsError",
    "NullByteKeySelector",
    "NumberSequenceSource",
    "ObjectArrayTypeInfo",
    "OperatorStateStore",
    "OutputTag",
    "ParallelSourceFunction",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "PenstockError",
    "PickledBytesTypeInfo",
    "PredefinedOptions",
    "PrimitiveArrayTypeInfo",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "ProgramError",
    "PurgingTrigger",
    "ReadOnlyBroadcastState",
    "ReaderContext",
    "RecordTimestampAssigner",
    "ReduceFunction",
    "ReduceFunctionWrapper",
    "ReducingState",
    "ReducingStateDescriptor",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "RetryPredicate",
    "RichAggregateFunction",
    "RichCoFlatMapFunction",
    "RichCoGroupFunction",
    "RichCoMapFunction",
    "RichFilterFunction",
    "RichFlatJoinFunction",
    "RichFlatMapFunction",
    "RichFunction",
    "RichJoinFunction",
    "RichMapFunction",
    "RichParallelSourceFunction",
    "RichReduceFunction",
    "RichSinkFunction",
    "RichSourceFunction",
    "RocksDBStateBackend",
    "Row",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "RowKind",
    "RowTypeInfo",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "SerializationError",
    "SerializationSchema",
    "SessionWindowTimeGapExtractor",
    "SimpleStringSchema",
    "Sink",
    "SinkContext",
    "SinkFunction",
    "SinkWriter",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "SlotSharingGroup",
    "Source",
    "SourceContext",
    "SourceFunction",
    "SourceSplit",
    "SplitReader",
    "SplitStream",
    "SqlTimeTypeInfo",
    "State",
    "StateAccessError",
    "StateBackend",
    "StateDescriptor",
    "StateRestoreError",
    "StateTtlConfig",
    "StreamExecutionEnvironment",
    "TaggedUnion",
    "Time",
    "TimeCharacteristic",
    "TimeDomain",
    "TimeEvictor",
    "TimeTypeInfo",
    "TimeUnit",
    "TimeWindow",
    "TimeWindowSerializer",
    "TimerService",
    "TimestampAssigner",
    "TimestampTypeInfo",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "TupleTypeInfo",
    "TwoPhaseCommitSinkFunction",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "UserFunctionError",
    "ValueState",
    "ValueStateDescriptor",
    "VoidNamespaceSerializer",
    "VoidTypeInfo",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
    "Window",
    "WindowAssigner",
    "WindowFunction",
    "WindowedStream",
    "WorkerLostError",
    "WriterContext",
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]

# Where a name is looked for, in this order; small packages that most programs need come first.
_HOMES = (
    "penstock.common",
    "penstock.datastream",
    "penstock.metrics",
    "penstock.errors",
    "penstock.common.eventtime",
    "penstock.common.serialization",
    "penstock.common.serializer",
    "penstock.common.time",
    "penstock.common.typeinfo",
    "penstock.datastream.async_retry_predicates",
    "penstock.datastream.async_retry_strategies",
    "penstock.datastream.connectors.base",
    "penstock.datastream.connectors.number_seq",
    "penstock.datastream.data_stream",
    "penstock.datastream.functions",
    "penstock.datastream.interval_join",
    "penstock.datastream.joined_streams",
    "penstock.datastream.split_stream",
    "penstock.datastream.state",
    "penstock.datastream.state_backend",
    "penstock.datastream.window",
    "penstock.metrics.metricbase",
)


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first asked for."""
    if name in __all__:
        for home in _HOMES:
            module = import_module(home)
            if name in module.__all__:
                value = getattr(module, name)
                globals()[name] = value
                return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """Lists all public names, imported yet or not."""
    return sorted({*globals(), *__all__})
