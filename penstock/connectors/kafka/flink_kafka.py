"""The names of Flink's older Kafka connector, for ``add_source`` and ``add_sink``."""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.serialization import KafkaRecordSerializationSchema
from penstock.connectors.kafka.sink import KafkaSink, SinkOptions, check_producer_properties
from penstock.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from penstock.vocabulary.sinks.protocol import DeliveryGuarantee

if TYPE_CHECKING:
    from penstock.connectors.kafka.message_run import KafkaProducerRecord, MessageRun
    from penstock.vocabulary.types.serialization import DeserializationSchema, SerializationSchema
    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = ["FlinkKafkaConsumer", "FlinkKafkaProducer", "Semantic"]

_RESETS = {
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
    "none": KafkaOffsetResetStrategy.NONE,
}


class FlinkKafkaConsumer(KafkaSource[Any]):
    """Reads topics under the name and with the methods of Flink's older connector; ``KafkaSource`` is the newer one.

    It starts from the offsets of its consumer group unless it is told otherwise.
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema[Any] | KafkaRecordDeserializationSchema[Any],
        properties: dict[str, Any],
    ) -> None:
        # As by itself in a consumer of Kafka; it matters only in a job without checkpoints.
        builder = KafkaSourceBuilder().set_properties({"enable.auto.commit": "true", **properties})
        builder.set_topics(*([topics] if isinstance(topics, str) else topics))
        if isinstance(deserialization_schema, KafkaRecordDeserializationSchema):
            builder.set_deserializer(deserialization_schema)
        else:
            builder.set_value_only_deserializer(deserialization_schema)
        self._reset = _RESETS[str(properties.get("auto.offset.reset", "latest"))]
        builder.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets(self._reset))
        # Without being asked for, the older connector does not look for new partitions.
        if not {"partition.discovery.interval.ms", "flink.partition-discovery.interval-millis"} & properties.keys():
            builder.set_property("partition.discovery.interval.ms", "-1")
        super().__init__(replace(builder._options(), keeps_foreign_splits=False))

    def set_start_from_earliest(self) -> FlinkKafkaConsumer:
        """Start with the oldest records, whatever the consumer group has committed."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumer:
        """Start with the records that come from now on, whatever the consumer group has committed."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumer:
        """Start with the first records that have this timestamp, in milliseconds, or a later one."""
        return self._start(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumer:
        """Start where the consumer group is; where it has no offset, ``auto.offset.reset`` decides."""
        return self._start(KafkaOffsetsInitializer.committed_offsets(self._reset))

    def set_commit_offsets_on_checkpoints(
        self,
        commit_on_checkpoints: bool,  # noqa: FBT001 - PyFlink's signature
    ) -> FlinkKafkaConsumer:
        """Say whether the consumer group learns, with every checkpoint, how far the job is."""
        commits = commit_on_checkpoints and "group.id" in self._options.properties
        self._options = replace(self._options, commits_offsets=commits)
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumer:
        """Go on reading partitions of a checkpoint that do not belong to the given topics any more."""
        self._options = replace(self._options, keeps_foreign_splits=True)
        return self

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return self._options.schema.get_produced_type()

    def _start(self, offsets: KafkaOffsetsInitializer) -> FlinkKafkaConsumer:
        self._options = replace(self._options, starting=offsets)
        return self


class Semantic(enum.Enum):
    """What ``FlinkKafkaProducer`` promises."""

    EXACTLY_ONCE = 0
    """Records become visible with their checkpoint, once."""
    AT_LEAST_ONCE = 1
    """Checkpoints wait for the brokers; after a failure some records come again."""
    NONE = 2
    """Records may be lost or come again."""


class FlinkKafkaProducer(KafkaSink[Any]):
    """Writes one topic, with the methods of Flink's older connector; ``KafkaSink`` is the newer one."""

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any] | KafkaRecordSerializationSchema[Any],
        producer_config: dict[str, Any],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        check_producer_properties(producer_config)
        schema = serialization_schema
        if not isinstance(schema, KafkaRecordSerializationSchema):
            parts = KafkaRecordSerializationSchema.builder().set_topic(topic)
            schema = parts.set_value_serialization_schema(schema).build()
        guarantee = DeliveryGuarantee[semantic.name]
        options = SinkOptions(_Untimed(schema), dict(producer_config), guarantee, pool_size=kafka_producer_pool_size)
        super().__init__(options)

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducer:  # noqa: FBT001 - PyFlink's signature
        """Write messages that cannot be delivered to the log, instead of failing; not with ``EXACTLY_ONCE``."""
        self._options = replace(self._options, logs_failures_only=log_failures_only)
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducer:  # noqa: FBT001 - PyFlink's signature
        """Say whether checkpoints wait for the brokers; with ``EXACTLY_ONCE`` they always do."""
        if self._options.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            guarantee = DeliveryGuarantee.AT_LEAST_ONCE if flush_on_checkpoint else DeliveryGuarantee.NONE
            self._options = replace(self._options, guarantee=guarantee)
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducer:  # noqa: FBT001 - PyFlink's signature
        """Say whether messages get the event time of their records; by itself they have the time they were sent."""
        schema = self._options.schema
        assert isinstance(schema, _Untimed)
        self._options = replace(self._options, schema=_Untimed(schema.schema, is_timed=write_timestamp_to_kafka))
        return self

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Change nothing: a transaction that the brokers gave up is written again, so there is no failure to ignore."""
        return self


class _Untimed(KafkaRecordSerializationSchema[Any]):
    """Hides the timestamps of records from a schema."""

    def __init__(self, schema: KafkaRecordSerializationSchema[Any], *, is_timed: bool = False) -> None:
        self.schema = schema
        self._is_timed = is_timed

    def open(self, subtask: int, parallelism: int, partitions_of: Any) -> None:
        self.schema.open(subtask, parallelism, partitions_of)

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        return self.schema.serialize(element, timestamp if self._is_timed else None)

    def serialize_run(self, elements: list[Any], timestamps: list[int] | None) -> MessageRun | None:
        return self.schema.serialize_run(elements, timestamps if self._is_timed else None)
