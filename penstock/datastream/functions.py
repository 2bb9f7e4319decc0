"""User functions, under the names and at the place PyFlink gives them."""

from penstock.vocabulary.async_functions import (
    AsyncFunction,
    AsyncFunctionDescriptor,
)
from penstock.vocabulary.async_retry import (
    AsyncRetryPredicate,
    AsyncRetryStrategy,
)
from penstock.vocabulary.batch_functions import (
    FilterBatchesFunction,
    MapBatchesFunction,
)
from penstock.vocabulary.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from penstock.vocabulary.checkpointed_function import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.vocabulary.functions import (
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
from penstock.vocabulary.legacy_assigners import (
    AscendingTimestampExtractor,
    AssignerWithPeriodicWatermarks,
    AssignerWithPunctuatedWatermarks,
    BoundedOutOfOrdernessTimestampExtractor,
)
from penstock.vocabulary.process_functions import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessJoinFunction,
)
from penstock.vocabulary.rich_functions import (
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
from penstock.vocabulary.runtime_context import (
    KeyedStateStore,
    RuntimeContext,
)
from penstock.vocabulary.sink_functions import (
    RichSinkFunction,
    SinkContext,
    SinkFunction,
)
from penstock.vocabulary.source_functions import (
    ParallelSourceFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    SourceContext,
    SourceFunction,
)
from penstock.vocabulary.two_phase_commit import (
    TwoPhaseCommitSinkFunction,
)
from penstock.vocabulary.window_functions import (
    AllWindowFunction,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from penstock.vocabulary.write_ahead_sink import (
    CheckpointCommitter,
    GenericWriteAheadSink,
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
