"""Jobs from Kafka to Kafka; workers import this module by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock import (
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KeyedProcessFunction,
    MapFunction,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)

__all__ = ["Count", "FailOnce", "count_job", "kafka_sink", "kafka_source"]


class FailOnce(MapFunction):
    """Passes records on; fails at the first one with this value, and never again."""

    def __init__(self, value: str, mark: Path) -> None:
        self.value = value
        self.mark = mark

    def map(self, value: Any) -> Any:
        if value == self.value and not self.mark.exists():
            self.mark.touch()
            message = "the poison"
            raise ValueError(message)
        return value


class Count(KeyedProcessFunction):
    """Emits, for every record, its key and how many there have been."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{ctx.get_current_key()} {count}"


def kafka_source(servers: str, topic: str, group: str) -> Any:
    source = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(topic).set_group_id(group)
    source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    return source.set_value_only_deserializer(SimpleStringSchema())


def kafka_sink(servers: str, topic: str, prefix: str | None = None) -> KafkaSink[Any]:
    """A sink that is exactly-once if it has a prefix for its transactions."""
    messages = KafkaRecordSerializationSchema.builder().set_topic(topic)
    sink = KafkaSink.builder().set_bootstrap_servers(servers)
    sink.set_record_serializer(messages.set_value_serialization_schema(SimpleStringSchema()).build())
    sink.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    if prefix is not None:
        sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(prefix)
    return sink.build()


def count_job(env: StreamExecutionEnvironment, source: Any, sink: KafkaSink[Any], fuse: FailOnce | None = None) -> None:
    """Counts the records of a topic by their first letter; every count goes to the sink."""
    values = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
    if fuse is not None:
        values = values.map(fuse)
    counts = values.key_by(lambda value: value[0]).process(Count()).uid("counts")
    counts.sink_to(sink).uid("sink")
