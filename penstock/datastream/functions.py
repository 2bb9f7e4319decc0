"""User functions, under the names and at the place PyFlink gives them."""

from penstock.vocabulary.functions.async_retry import (
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from penstock.vocabulary.functions.asynchronous import (
    AsyncFunction,
    AsyncFunctionDescriptor,
)
from penstock.vocabulary.functions.basic import (
    AggregateFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    Collector,
    CoMapFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    FunctionWrapper,
    JoinFunction,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    ReduceFunction,
    ReduceFunctionWrapper,
)
from penstock.vocabulary.functions.batch import (
    FilterBatchesFunction,
    MapBatchesFunction,
)
from penstock.vocabulary.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.vocabulary.functions.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.vocabulary.functions.contexts import (
    KeyedStateStore,
    RuntimeContext,
)
from penstock.vocabulary.functions.process import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
)
from penstock.vocabulary.functions.rich import (
    RichAggregateFunction,
    RichCoFlatMapFunction,
    RichCoGroupFunction,
    RichCoMapFunction,
    RichFilterFunction,
    RichFlatJoinFunction,
    RichFlatMapFunction,
    RichFunction,
    RichJoinFunction,
    RichMapFunction,
    RichReduceFunction,
)
from penstock.vocabulary.functions.windowed import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.vocabulary.sinks.functions import (
    RichSinkFunction,
    SinkContext,
    SinkFunction,
)
from penstock.vocabulary.sinks.two_phase_commit import (
    TwoPhaseCommitSinkFunction,
)
from penstock.vocabulary.sinks.write_ahead import (
    CheckpointCommitter,
    GenericWriteAheadSink,
)
from penstock.vocabulary.sources.functions import (
    ParallelSourceFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    SourceContext,
    SourceFunction,
)
from penstock.vocabulary.time.legacy_assigners import (
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AscendingTimestampExtractor",
    "AssignerWithPeriodicWatermarks",
    "AssignerWithPunctuatedWatermarks",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BoundedOutOfOrdernessTimestampExtractor",
    "BroadcastProcessFunction",
    "CheckpointCommitter",
    "CheckpointListener",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "Collector",
    "FilterBatchesFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "FunctionWrapper",
    "GenericWriteAheadSink",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapBatchesFunction",
    "MapFunction",
    "NullByteKeySelector",
    "ParallelSourceFunction",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ReduceFunctionWrapper",
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
    "RuntimeContext",
    "SinkContext",
    "SinkFunction",
    "SourceContext",
    "SourceFunction",
    "TwoPhaseCommitSinkFunction",
    "WindowFunction",
]
