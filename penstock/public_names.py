"""In which module each public name is made, so that asking for one imports no other.

``python -m tests.architecture.public_names_table`` renews the table after modules have moved.
"""

from __future__ import annotations

__all__ = ["HOMES", "HOME_OF"]

HOMES = {
    "penstock.api.async_data_stream": "AsyncDataStream",
    "penstock.api.broadcast_stream": "BroadcastConnectedStream BroadcastStream",
    "penstock.api.collect": "CloseableIterator",
    "penstock.api.connected_streams": "ConnectedStreams",
    "penstock.api.data_stream": "DataStream SplitStream",
    "penstock.api.data_stream_sink": "DataStreamSink",
    "penstock.api.environment": "StreamExecutionEnvironment",
    "penstock.api.interval_join": "IntervalJoin IntervalJoined",
    "penstock.api.job_client": "JobClient",
    "penstock.api.joined_streams": "CoGroupedStreams JoinedStreams",
    "penstock.api.keyed_stream": "KeyedStream",
    "penstock.api.pattern_set_stream": "PatternSetStream",
    "penstock.api.pattern_stream": "CEP PatternStream",
    "penstock.api.windowed_stream": "AllWindowedStream WindowedStream",
    "penstock.connectors.data_generator": "DataGeneratorSource GeneratorFunction",
    "penstock.connectors.files.formats.avro": "AvroFormat",
    "penstock.connectors.files.formats.bulk": "BulkFormat BulkReader",
    "penstock.connectors.files.formats.columnar": "OrcFormat ParquetFormat",
    "penstock.connectors.files.formats.csv": "CsvFormat",
    "penstock.connectors.files.formats.csv_reader_format": "CsvReaderFormat",
    "penstock.connectors.files.formats.csv_schema": "CsvColumn CsvSchema CsvSchemaBuilder",
    "penstock.connectors.files.formats.stream": (
        "JsonLinesFormat LineFormat SimpleStreamFormat StreamFormat TextLineFormat"
    ),
    "penstock.connectors.files.sink.bucket_assigner": (
        "BasePathBucketAssigner BucketAssigner BucketContext DateTimeBucketAssigner"
    ),
    "penstock.connectors.files.sink.bulk_writers.avro": "AvroBulkWriters AvroParquetWriters AvroSchema",
    "penstock.connectors.files.sink.bulk_writers.columns": "OrcBulkWriters ParquetBulkWriters",
    "penstock.connectors.files.sink.bulk_writers.compressed": "CompressWriterFactory",
    "penstock.connectors.files.sink.bulk_writers.csv": "CsvBulkWriters",
    "penstock.connectors.files.sink.compaction": (
        "ConcatFileCompactor FileCompactStrategy FileCompactor IdenticalFileCompactor OutputStreamBasedFileCompactor "
        "RecordWiseFileCompactor"
    ),
    "penstock.connectors.files.sink.encoder": "CsvEncoder JsonLinesEncoder",
    "penstock.connectors.files.sink.part_names": "OutputFileConfig",
    "penstock.connectors.files.sink.rolling_policy": (
        "CheckpointRollingPolicy DefaultRollingPolicy DefaultRollingPolicyBuilder OnCheckpointRollingPolicy "
        "PartFileInfo RollingPolicy"
    ),
    "penstock.connectors.files.sink.sink": "FileSink StreamingFileSink",
    "penstock.connectors.files.source.enumerator": "FileEnumerator FileEnumeratorProvider",
    "penstock.connectors.files.source.input_file": "InputFile",
    "penstock.connectors.files.source.reader": "FileReader",
    "penstock.connectors.files.source.source": "FileSource FileSourceBuilder",
    "penstock.connectors.files.source.splits": "FileSourceSplit FileSplitAssigner FileSplitAssignerProvider",
    "penstock.connectors.formats.csv_rows": "CsvRowDeserializationSchema CsvRowSerializationSchema",
    "penstock.connectors.formats.json_rows": "JsonRowDeserializationSchema JsonRowSerializationSchema",
    "penstock.connectors.kafka.deserialization": (
        "JSONKeyValueDeserializationSchema KafkaRecord KafkaRecordDeserializationSchema"
    ),
    "penstock.connectors.kafka.flink_kafka": "FlinkKafkaConsumer FlinkKafkaProducer Semantic",
    "penstock.connectors.kafka.message_run": "KafkaProducerRecord",
    "penstock.connectors.kafka.offsets": "KafkaOffsetResetStrategy KafkaOffsetsInitializer",
    "penstock.connectors.kafka.serialization": (
        "FlinkFixedPartitioner FlinkKafkaPartitioner HeaderProvider KafkaRecordSerializationSchema "
        "KafkaRecordSerializationSchemaBuilder KafkaTopicSelector"
    ),
    "penstock.connectors.kafka.sink": "KafkaSink KafkaSinkBuilder",
    "penstock.connectors.kafka.source": "KafkaSource KafkaSourceBuilder",
    "penstock.connectors.kafka.subscription": "KafkaTopicPartition",
    "penstock.connectors.mysql.connection_options": "MySqlConnectionOptions",
    "penstock.connectors.mysql.jdbc": "JdbcConnectionOptions JdbcExecutionOptions JdbcSink",
    "penstock.connectors.mysql.polling_source": "MySqlPollingSource MySqlPollingSourceBuilder",
    "penstock.connectors.mysql.sink": "MySqlSink MySqlSinkBuilder",
    "penstock.connectors.number_sequence": "NumberSequenceSource",
    "penstock.connectors.random_records": ("GoodsOffer GoodsOffers GoodsOrder RandomOrders RandomUserEvents UserEvent"),
    "penstock.connectors.rate_limiter": "RateLimiter RateLimiterStrategy",
    "penstock.connectors.redis.connection_options": "RedisConnectionOptions",
    "penstock.connectors.redis.sink": "RedisSink RedisSinkBuilder",
    "penstock.connectors.socket_text": "SocketTextSource",
    "penstock.errors": (
        "CheckpointError CheckpointStorageError ClusterError CorruptCheckpointError DriverPausedError "
        "ExternalSystemError JobCancelledError JobFailedError MalformedPatternException MalformedRecordError "
        "MissingTimestampError NotEnoughSlotsError PenstockError ProgramError SerializationError "
        "StateAccessError StateRestoreError UnusableKeyError UserFunctionError WorkerLostError"
    ),
    "penstock.vocabulary.cep.conditions": (
        "BooleanConditions IterativeCondition RichAndCondition RichCompositeIterativeCondition RichIterativeCondition "
        "RichNotCondition RichOrCondition SimpleCondition SubtypeCondition"
    ),
    "penstock.vocabulary.cep.pattern": "GroupPattern Pattern PatternWarning",
    "penstock.vocabulary.cep.pattern_functions": (
        "EventComparator PatternFlatSelectFunction PatternFlatTimeoutFunction PatternProcessFunction "
        "PatternSelectFunction PatternTimeoutFunction RichPatternFlatSelectFunction RichPatternSelectFunction "
        "TimedOutPartialMatchHandler"
    ),
    "penstock.vocabulary.cep.quantifier": "Quantifier WithinType",
    "penstock.vocabulary.cep.skip_strategy": "AfterMatchSkipStrategy",
    "penstock.vocabulary.functions.async_retry": (
        "AsyncRetryPredicate AsyncRetryStrategy ExponentialBackoffDelayRetryStrategy FixedDelayRetryStrategy "
        "NoRetryStrategy RetryPredicate empty_result_predicate exception_type_predicate has_exception_predicate"
    ),
    "penstock.vocabulary.functions.asynchronous": "AsyncFunction AsyncFunctionDescriptor",
    "penstock.vocabulary.functions.basic": (
        "AggregateFunction CoFlatMapFunction CoGroupFunction CoMapFunction Collector FilterFunction FlatJoinFunction "
        "FlatMapFunction Function FunctionWrapper JoinFunction KeySelector MapFunction NullByteKeySelector "
        "Partitioner ReduceFunction ReduceFunctionWrapper"
    ),
    "penstock.vocabulary.functions.batch": "FilterBatchesFunction MapBatchesFunction",
    "penstock.vocabulary.functions.broadcast": (
        "BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction"
    ),
    "penstock.vocabulary.functions.checkpointed": (
        "CheckpointListener CheckpointedFunction FunctionInitializationContext FunctionSnapshotContext"
    ),
    "penstock.vocabulary.functions.contexts": "KeyedStateStore RuntimeContext TimerService",
    "penstock.vocabulary.functions.output_tag": "OutputTag",
    "penstock.vocabulary.functions.process": (
        "CoProcessFunction KeyedCoProcessFunction KeyedProcessFunction ProcessFunction ProcessJoinFunction"
    ),
    "penstock.vocabulary.functions.rich": (
        "RichAggregateFunction RichCoFlatMapFunction RichCoGroupFunction RichCoMapFunction RichFilterFunction "
        "RichFlatJoinFunction RichFlatMapFunction RichFunction RichJoinFunction RichMapFunction RichReduceFunction"
    ),
    "penstock.vocabulary.functions.windowed": (
        "AllWindowFunction PassThroughAllWindowFunction PassThroughWindowFunction ProcessAllWindowFunction "
        "ProcessWindowFunction WindowFunction"
    ),
    "penstock.vocabulary.job": "CompletableFuture JobExecutionResult JobID JobStatus",
    "penstock.vocabulary.metrics": "Counter Distribution Gauge Meter Metric MetricGroup",
    "penstock.vocabulary.settings.checkpoint_storage": (
        "CheckpointStorage CustomCheckpointStorage FileSystemCheckpointStorage JobManagerCheckpointStorage"
    ),
    "penstock.vocabulary.settings.checkpoints": "CheckpointConfig",
    "penstock.vocabulary.settings.config_options": "ConfigOption ConfigOptions",
    "penstock.vocabulary.settings.configuration": "Configuration",
    "penstock.vocabulary.settings.execution": "ExecutionConfig",
    "penstock.vocabulary.settings.modes": (
        "CheckpointingMode ExternalizedCheckpointRetention InputDependencyConstraint RuntimeExecutionMode "
        "TimeCharacteristic TimeDomain"
    ),
    "penstock.vocabulary.settings.restarts": "RestartStrategies RestartStrategyConfiguration",
    "penstock.vocabulary.settings.slots": "MemorySize SlotSharingGroup",
    "penstock.vocabulary.sinks.functions": "RichSinkFunction SinkContext SinkFunction",
    "penstock.vocabulary.sinks.protocol": (
        "Committer Delivery DeliveryGuarantee GlobalCommitter Sink SinkWriter WriterContext"
    ),
    "penstock.vocabulary.sinks.two_phase_commit": "TwoPhaseCommitSinkFunction",
    "penstock.vocabulary.sinks.write_ahead": "CheckpointCommitter GenericWriteAheadSink",
    "penstock.vocabulary.sources.functions": (
        "ParallelSourceFunction RichParallelSourceFunction RichSourceFunction SourceContext SourceFunction"
    ),
    "penstock.vocabulary.sources.protocol": (
        "Boundedness MalformedRecord ReaderContext Source SourceSplit SplitReader"
    ),
    "penstock.vocabulary.state.backends": (
        "CustomStateBackend EmbeddedRocksDBStateBackend FsStateBackend HashMapStateBackend MemoryStateBackend "
        "PredefinedOptions RocksDBStateBackend StateBackend"
    ),
    "penstock.vocabulary.state.descriptors": (
        "AggregatingStateDescriptor ListStateDescriptor MapStateDescriptor ReducingStateDescriptor StateDescriptor "
        "ValueStateDescriptor"
    ),
    "penstock.vocabulary.state.handles": (
        "AggregatingState AppendingState BroadcastState ListState MapState MergingState OperatorStateStore "
        "ReadOnlyBroadcastState ReducingState State ValueState"
    ),
    "penstock.vocabulary.state.ttl": "StateTtlConfig",
    "penstock.vocabulary.time.durations": "Duration Instant Time TimeUnit",
    "penstock.vocabulary.time.generators": (
        "AscendingTimestampsWatermarks BoundedOutOfOrdernessWatermarks NoWatermarksGenerator Watermark "
        "WatermarkGenerator WatermarkOutput"
    ),
    "penstock.vocabulary.time.legacy_assigners": (
        "AscendingTimestampExtractor AssignerWithPeriodicWatermarks AssignerWithPeriodicWatermarksWrapper "
        "AssignerWithPunctuatedWatermarks BoundedOutOfOrdernessTimestampExtractor"
    ),
    "penstock.vocabulary.time.strategy": "WatermarkStrategy",
    "penstock.vocabulary.time.timestamp_assigners": "NO_TIMESTAMP RecordTimestampAssigner TimestampAssigner",
    "penstock.vocabulary.types.catalogue": "Types",
    "penstock.vocabulary.types.composite": (
        "BasicArrayTypeInfo ExternalTypeInfo ListTypeInfo MapTypeInfo ObjectArrayTypeInfo PrimitiveArrayTypeInfo "
        "RowTypeInfo TupleTypeInfo"
    ),
    "penstock.vocabulary.types.rows": "Row RowKind",
    "penstock.vocabulary.types.serialization": (
        "BulkWriter BulkWriterFactory ByteArraySchema DeserializationSchema Encoder RowDataBulkWriterFactory "
        "RowFieldExtractorSchema SerializationSchema SimpleStringSchema"
    ),
    "penstock.vocabulary.types.serializer": "TypeSerializer VoidNamespaceSerializer",
    "penstock.vocabulary.types.type_info": (
        "BasicType BasicTypeInfo DateTypeInfo InstantTypeInfo LocalTimeTypeInfo PickledBytesTypeInfo SqlTimeTypeInfo "
        "TimeTypeInfo TimestampTypeInfo TypeInformation VoidTypeInfo"
    ),
    "penstock.vocabulary.windows.assigners": (
        "GlobalWindows MergingWindowAssigner SlidingEventTimeWindows SlidingProcessingTimeWindows "
        "TumblingEventTimeWindows TumblingProcessingTimeWindows WindowAssigner"
    ),
    "penstock.vocabulary.windows.continuous_triggers": (
        "ContinuousEventTimeTrigger ContinuousProcessingTimeTrigger DeltaTrigger Min ProcessingTimeoutTrigger"
    ),
    "penstock.vocabulary.windows.count_assigners": "CountSlidingWindowAssigner CountTumblingWindowAssigner",
    "penstock.vocabulary.windows.delta_function": "DeltaFunction",
    "penstock.vocabulary.windows.evictors": "CountEvictor DeltaEvictor Evictor TimeEvictor TimestampedValue",
    "penstock.vocabulary.windows.serializers": "CountWindowSerializer GlobalWindowSerializer TimeWindowSerializer",
    "penstock.vocabulary.windows.sessions": (
        "DynamicEventTimeSessionWindows DynamicProcessingTimeSessionWindows EventTimeSessionWindows "
        "ProcessingTimeSessionWindows SessionWindowTimeGapExtractor"
    ),
    "penstock.vocabulary.windows.triggers": (
        "CountTrigger EndOfStreamTrigger EventTimeTrigger NeverTrigger ProcessingTimeTrigger PurgingTrigger Trigger "
        "TriggerResult"
    ),
    "penstock.vocabulary.windows.windows": "CountWindow GlobalWindow TaggedUnion TimeWindow Window",
}

HOME_OF = {name: module for module, names in HOMES.items() for name in names.split()}
