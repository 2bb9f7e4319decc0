"""The Kafka connector, at the place PyFlink gives it."""

from penstock.connectors.kafka.deserialization import (
    JSONKeyValueDeserializationSchema,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from penstock.connectors.kafka.flink_kafka import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
from penstock.connectors.kafka.message_run import KafkaProducerRecord
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.serialization import (
    FlinkFixedPartitioner,
    FlinkKafkaPartitioner,
    HeaderProvider,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from penstock.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from penstock.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from penstock.connectors.kafka.subscription import KafkaTopicPartition

__all__ = [
    "FlinkFixedPartitioner",
    "FlinkKafkaConsumer",
    "FlinkKafkaPartitioner",
    "FlinkKafkaProducer",
    "HeaderProvider",
    "JSONKeyValueDeserializationSchema",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaProducerRecord",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
