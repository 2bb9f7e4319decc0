"""Flink's DataStream model for Python, on Apache Spark's pipelined shuffle.

Everything public is here and, under PyFlink's module names, in the facade. Names are imported when they are first asked
for, so that ``import penstock`` costs little and starts nothing.

The layers, each above those it may import (the tree is in CONTRIBUTING.md):

=============  =========================================================================================================
``cep``,       the facade: Flink's and PyFlink's module tree, by re-export only; imported by nobody but this module
``common``,
``datastream``,
``metrics``
``testing``    runs a whole job in one process with a clock that tests set
``api``        environment and streams: each call adds a node to the graph
``savepoints`` reads, compares and edits savepoints
``execution``  who runs subtasks; the only place that knows Spark; loaded by ``execute()``
``connectors`` sources and sinks
``runtime``    how one subtask behaves, in plain Python; knows no connector
``checkpoint`` when a checkpoint is complete, and what it looks like on disk
``statestore`` where state lives
``graph``      the program as nodes; checks, chains, stages, explanation
``vocabulary`` what a program is made of: functions, state descriptors, time, windows, types, options, protocols
``foundation`` clock, keys, file systems, the accelerator
``errors``     the exceptions, all of them
=============  =========================================================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.cep import *
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
    from penstock.datastream.connectors.datagen import *
    from penstock.datastream.connectors.file_system import *
    from penstock.datastream.connectors.jdbc import *
    from penstock.datastream.connectors.kafka import *
    from penstock.datastream.connectors.mysql import *
    from penstock.datastream.connectors.number_seq import *
    from penstock.datastream.connectors.redis import *
    from penstock.datastream.connectors.socket import *
    from penstock.datastream.data_stream import *
    from penstock.datastream.formats.avro import *
    from penstock.datastream.formats.csv import *
    from penstock.datastream.formats.json import *
    from penstock.datastream.formats.orc import *
    from penstock.datastream.formats.parquet import *
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
    "CEP", "NO_TIMESTAMP", "AfterMatchSkipStrategy", "AggregateFunction", "AggregatingState",
    "AggregatingStateDescriptor", "AllWindowFunction", "AllWindowedStream", "AppendingState",
    "AscendingTimestampExtractor", "AscendingTimestampsWatermarks", "AssignerWithPeriodicWatermarks",
    "AssignerWithPeriodicWatermarksWrapper", "AssignerWithPunctuatedWatermarks", "AsyncDataStream", "AsyncFunction",
    "AsyncFunctionDescriptor", "AsyncRetryPredicate", "AsyncRetryStrategy", "AvroBulkWriters", "AvroFormat",
    "AvroParquetWriters", "AvroSchema", "BaseBroadcastProcessFunction", "BasePathBucketAssigner", "BasicArrayTypeInfo",
    "BasicType", "BasicTypeInfo", "BooleanConditions", "BoundedOutOfOrdernessTimestampExtractor",
    "BoundedOutOfOrdernessWatermarks", "Boundedness", "BroadcastConnectedStream", "BroadcastProcessFunction",
    "BroadcastState", "BroadcastStream", "BucketAssigner", "BucketContext", "BulkFormat", "BulkReader", "BulkWriter",
    "BulkWriterFactory", "ByteArraySchema", "CheckpointCommitter", "CheckpointConfig", "CheckpointError",
    "CheckpointListener", "CheckpointRollingPolicy", "CheckpointStorage", "CheckpointStorageError",
    "CheckpointedFunction", "CheckpointingMode", "CloseableIterator", "ClusterError", "CoFlatMapFunction",
    "CoGroupFunction", "CoGroupedStreams", "CoMapFunction", "CoProcessFunction", "Collector", "Committer",
    "CompletableFuture", "CompressWriterFactory", "ConcatFileCompactor", "ConfigOption", "ConfigOptions",
    "Configuration", "ConnectedStreams", "ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger",
    "CorruptCheckpointError", "CountEvictor", "CountSlidingWindowAssigner", "CountTrigger",
    "CountTumblingWindowAssigner", "CountWindow", "CountWindowSerializer", "Counter", "CsvBulkWriters", "CsvColumn",
    "CsvEncoder", "CsvFormat", "CsvReaderFormat", "CsvRowDeserializationSchema", "CsvRowSerializationSchema",
    "CsvSchema", "CsvSchemaBuilder", "CustomCheckpointStorage", "CustomStateBackend", "DataGeneratorSource",
    "DataStream", "DataStreamSink", "DateTimeBucketAssigner", "DateTypeInfo", "DefaultRollingPolicy",
    "DefaultRollingPolicyBuilder", "Delivery", "DeliveryGuarantee", "DeltaEvictor", "DeltaFunction", "DeltaTrigger",
    "DeserializationSchema", "Distribution", "DriverPausedError", "Duration", "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows", "EmbeddedRocksDBStateBackend", "Encoder", "EndOfStreamTrigger",
    "EventComparator", "EventTimeSessionWindows", "EventTimeTrigger", "Evictor", "ExecutionConfig",
    "ExponentialBackoffDelayRetryStrategy", "ExternalSystemError", "ExternalTypeInfo",
    "ExternalizedCheckpointRetention", "FileCompactStrategy", "FileCompactor", "FileEnumerator",
    "FileEnumeratorProvider", "FileReader", "FileSink", "FileSource", "FileSourceBuilder", "FileSourceSplit",
    "FileSplitAssigner", "FileSplitAssignerProvider", "FileSystemCheckpointStorage", "FilterBatchesFunction",
    "FilterFunction", "FixedDelayRetryStrategy", "FlatJoinFunction", "FlatMapFunction", "FlinkFixedPartitioner",
    "FlinkKafkaConsumer", "FlinkKafkaPartitioner", "FlinkKafkaProducer", "FsStateBackend", "Function",
    "FunctionInitializationContext", "FunctionSnapshotContext", "FunctionWrapper", "Gauge", "GeneratorFunction",
    "GenericWriteAheadSink", "GlobalCommitter", "GlobalWindow", "GlobalWindowSerializer", "GlobalWindows", "GoodsOffer",
    "GoodsOffers", "GoodsOrder", "GroupPattern", "HashMapStateBackend", "HeaderProvider", "IdenticalFileCompactor",
    "InputDependencyConstraint", "InputFile", "Instant", "InstantTypeInfo", "IntervalJoin", "IntervalJoined",
    "IterativeCondition", "JSONKeyValueDeserializationSchema", "JdbcConnectionOptions", "JdbcExecutionOptions",
    "JdbcSink", "JobCancelledError", "JobClient", "JobExecutionResult", "JobFailedError", "JobID",
    "JobManagerCheckpointStorage", "JobStatus", "JoinFunction", "JoinedStreams", "JsonLinesEncoder", "JsonLinesFormat",
    "JsonRowDeserializationSchema", "JsonRowSerializationSchema", "KafkaOffsetResetStrategy", "KafkaOffsetsInitializer",
    "KafkaProducerRecord", "KafkaRecord", "KafkaRecordDeserializationSchema", "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder", "KafkaSink", "KafkaSinkBuilder", "KafkaSource", "KafkaSourceBuilder",
    "KafkaTopicPartition", "KafkaTopicSelector", "KeySelector", "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction", "KeyedProcessFunction", "KeyedStateStore", "KeyedStream", "LineFormat", "ListState",
    "ListStateDescriptor", "ListTypeInfo", "LocalTimeTypeInfo", "MalformedPatternException", "MalformedRecord",
    "MalformedRecordError", "MapBatchesFunction", "MapFunction", "MapState", "MapStateDescriptor", "MapTypeInfo",
    "MemorySize", "MemoryStateBackend", "MergingState", "MergingWindowAssigner", "Meter", "Metric", "MetricGroup",
    "Min", "MissingTimestampError", "MySqlConnectionOptions", "MySqlPollingSource", "MySqlPollingSourceBuilder",
    "MySqlSink", "MySqlSinkBuilder", "NeverTrigger", "NoRetryStrategy", "NoWatermarksGenerator", "NotEnoughSlotsError",
    "NullByteKeySelector", "NumberSequenceSource", "ObjectArrayTypeInfo", "OnCheckpointRollingPolicy",
    "OperatorStateStore", "OrcBulkWriters", "OrcFormat", "OutputFileConfig", "OutputStreamBasedFileCompactor",
    "OutputTag", "ParallelSourceFunction", "ParquetBulkWriters", "ParquetFormat", "PartFileInfo", "Partitioner",
    "PassThroughAllWindowFunction", "PassThroughWindowFunction", "Pattern", "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction", "PatternProcessFunction", "PatternSelectFunction", "PatternSetStream",
    "PatternStream", "PatternTimeoutFunction", "PatternWarning", "PenstockError", "PickledBytesTypeInfo",
    "PredefinedOptions", "PrimitiveArrayTypeInfo", "ProcessAllWindowFunction", "ProcessFunction", "ProcessJoinFunction",
    "ProcessWindowFunction", "ProcessingTimeSessionWindows", "ProcessingTimeTrigger", "ProcessingTimeoutTrigger",
    "ProgramError", "PurgingTrigger", "Quantifier", "RandomOrders", "RandomUserEvents", "RateLimiter",
    "RateLimiterStrategy", "ReadOnlyBroadcastState", "ReaderContext", "RecordTimestampAssigner",
    "RecordWiseFileCompactor", "RedisConnectionOptions", "RedisSink", "RedisSinkBuilder", "ReduceFunction",
    "ReduceFunctionWrapper", "ReducingState", "ReducingStateDescriptor", "RestartStrategies",
    "RestartStrategyConfiguration", "RetryPredicate", "RichAggregateFunction", "RichAndCondition",
    "RichCoFlatMapFunction", "RichCoGroupFunction", "RichCoMapFunction", "RichCompositeIterativeCondition",
    "RichFilterFunction", "RichFlatJoinFunction", "RichFlatMapFunction", "RichFunction", "RichIterativeCondition",
    "RichJoinFunction", "RichMapFunction", "RichNotCondition", "RichOrCondition", "RichParallelSourceFunction",
    "RichPatternFlatSelectFunction", "RichPatternSelectFunction", "RichReduceFunction", "RichSinkFunction",
    "RichSourceFunction", "RocksDBStateBackend", "RollingPolicy", "Row", "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema", "RowKind", "RowTypeInfo", "RuntimeContext", "RuntimeExecutionMode", "Semantic",
    "SerializationError", "SerializationSchema", "SessionWindowTimeGapExtractor", "SimpleCondition",
    "SimpleStreamFormat", "SimpleStringSchema", "Sink", "SinkContext", "SinkFunction", "SinkWriter",
    "SlidingEventTimeWindows", "SlidingProcessingTimeWindows", "SlotSharingGroup", "SocketTextSource", "Source",
    "SourceContext", "SourceFunction", "SourceSplit", "SplitReader", "SplitStream", "SqlTimeTypeInfo", "State",
    "StateAccessError", "StateBackend", "StateDescriptor", "StateRestoreError", "StateTtlConfig",
    "StreamExecutionEnvironment", "StreamFormat", "StreamingFileSink", "SubtypeCondition", "TaggedUnion",
    "TextLineFormat", "Time", "TimeCharacteristic", "TimeDomain", "TimeEvictor", "TimeTypeInfo", "TimeUnit",
    "TimeWindow", "TimeWindowSerializer", "TimedOutPartialMatchHandler", "TimerService", "TimestampAssigner",
    "TimestampTypeInfo", "TimestampedValue", "Trigger", "TriggerResult", "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows", "TupleTypeInfo", "TwoPhaseCommitSinkFunction", "TypeInformation", "TypeSerializer",
    "Types", "UnusableKeyError", "UserEvent", "UserFunctionError", "ValueState", "ValueStateDescriptor",
    "VoidNamespaceSerializer", "VoidTypeInfo", "Watermark", "WatermarkGenerator", "WatermarkOutput",
    "WatermarkStrategy", "Window", "WindowAssigner", "WindowFunction", "WindowedStream", "WithinType",
    "WorkerLostError", "WriterContext", "empty_result_predicate", "exception_type_predicate", "has_exception_predicate",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name, and nothing else, when it is first asked for."""
    if name in __all__:
        home: str = import_module("penstock.public_names").HOME_OF[name]
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def _class_at(name: int | str) -> Any:
    """Stand in stored values for a class, by its number or name; only whoever reads such values knows which it is."""
    message = f"The class {name!r} of stored state is known only to the reader of that state."
    raise LookupError(message)


def __dir__() -> list[str]:
    """List all public names, imported yet or not."""
    return sorted({*globals(), *__all__})
