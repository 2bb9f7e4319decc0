"""Writing to Kafka without transactions, and how records become messages; against a real broker."""

from __future__ import annotations

import time
from typing import Any

import pytest

from penstock import (
    DeliveryGuarantee,
    ExternalSystemError,
    FlinkFixedPartitioner,
    FlinkKafkaProducer,
    HeaderProvider,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaTopicSelector,
    Semantic,
    SerializationSchema,
    SimpleStringSchema,
)
from tests.connectors.writer_context import Surroundings
from tests.servers.kafka import Kafka


class First(SerializationSchema[Any]):
    def serialize(self, value: Any) -> bytes:
        return str(value[0]).encode()


class Second(SerializationSchema[Any]):
    def serialize(self, value: Any) -> bytes:
        return str(value[1]).encode()


class Headers(HeaderProvider[Any]):
    def get_headers(self, element: Any) -> list[tuple[str, bytes]]:
        return [("length", str(len(element[1])).encode())]


class ByFirst(KafkaTopicSelector):
    def __init__(self, topics: dict[str, str]) -> None:
        self.topics = topics

    def apply(self, data: Any) -> str:
        return self.topics[data[0]]


class Whole(KafkaRecordSerializationSchema[Any]):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        if not element:
            return None
        return KafkaProducerRecord(
            self.topic, element.encode(), headers=[("of", b"me")], timestamp=timestamp, partition=1
        )


def schema(topic: str) -> Any:
    messages = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return messages.set_key_serialization_schema(First()).set_value_serialization_schema(Second())


def sink(kafka: Kafka, made: Any, guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE) -> KafkaSink[Any]:
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.address).set_record_serializer(made)
    return builder.set_delivery_guarantee(guarantee).build()


def write(made: KafkaSink[Any], elements: list[Any], timestamps: list[int] | None = None, **context: Any) -> None:
    writer = made.create_writer(Surroundings().context(**context))
    writer.write_run(elements, timestamps)
    writer.flush(end_of_input=True)
    writer.close()


def seen(kafka: Kafka, topic: str) -> list[tuple[Any, Any]]:
    return [(message.key(), message.value()) for message in kafka.committed_records(topic)]


def test_keys_values_and_timestamps(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=4)
    pairs = [(f"k{number % 3}", str(number)) for number in range(300)]
    write(sink(kafka, schema(topic).build()), pairs, [1_700_000_000_000 + number for number in range(300)])
    found = kafka.committed_records(topic)
    assert sorted((message.key().decode(), message.value().decode()) for message in found) == sorted(pairs)
    assert all(message.timestamp()[1] == 1_700_000_000_000 + int(message.value()) for message in found)
    places = {
        message.key(): {other.partition() for other in found if other.key() == message.key()} for message in found
    }
    assert all(len(partitions) == 1 for partitions in places.values()), "a key has one partition"
    for key in places:
        values = [int(message.value()) for message in found if message.key() == key]
        assert values == sorted(values), "the order of a key is kept"


def test_without_timestamps_many_records(kafka: Kafka) -> None:
    topic = kafka.topic()
    made = sink(kafka, schema(topic).build())
    write(made, [("k", str(number)) for number in range(20_000)])
    assert seen(kafka, topic) == [(b"k", str(number).encode()) for number in range(20_000)]


def test_a_full_queue_is_waited_for_and_the_order_is_kept(kafka: Kafka) -> None:
    topic = kafka.topic()
    for timestamps in (None, [1_700_000_000_000] * 5000):
        builder = KafkaSink.builder().set_bootstrap_servers(kafka.address)
        builder.set_record_serializer(schema(topic).build()).set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        builder.set_property("queue.buffering.max.messages", "100")
        write(builder.build(), [("k", str(number)) for number in range(5000)], timestamps)
    assert seen(kafka, topic) == 2 * [(b"k", str(number).encode()) for number in range(5000)]


def test_times_before_1970_become_the_time_of_sending(kafka: Kafka) -> None:
    topic = kafka.topic()
    write(sink(kafka, schema(topic).build()), [("k", "v")], [-5])
    (message,) = kafka.committed_records(topic)
    assert message.timestamp()[1] > 1_700_000_000_000


def test_headers_topic_selector_and_partitioner(kafka: Kafka) -> None:
    first, second = kafka.topic(partitions=3), kafka.topic(partitions=3)
    messages = schema("").set_topic_selector(ByFirst({"a": first, "b": second})).set_header_provider(Headers())
    made = sink(kafka, messages.set_partitioner(FlinkFixedPartitioner()).build())
    write(made, [("a", "x"), ("b", "yy"), ("a", "zzz")], subtask=1, parallelism=2)
    found = kafka.committed_records(first)
    assert [(message.value(), message.partition(), message.headers()) for message in found] == [
        (b"x", 1, [("length", b"1")]),
        (b"zzz", 1, [("length", b"3")]),
    ]
    assert [message.value() for message in kafka.committed_records(second)] == [b"yy"]


def test_a_function_selects_the_topic(kafka: Kafka) -> None:
    topic = kafka.topic()
    write(sink(kafka, schema("").set_topic_selector(lambda pair: topic).build()), [("a", "x")])
    assert seen(kafka, topic) == [(b"a", b"x")]


def test_a_schema_of_the_programs_own(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    write(sink(kafka, Whole(topic)), ["a", "", "b"], [1_700_000_000_000, 0, 1_700_000_000_002])
    found = kafka.committed_records(topic)
    assert [(message.value(), message.partition(), message.headers()) for message in found] == [
        (b"a", 1, [("of", b"me")]),
        (b"b", 1, [("of", b"me")]),
    ]
    assert [message.timestamp()[1] for message in found] == [1_700_000_000_000, 1_700_000_000_002]


def test_messages_that_are_not_delivered_fail_the_checkpoint(kafka: Kafka) -> None:
    builder = KafkaSink.builder().set_bootstrap_servers(kafka.address)
    builder.set_record_serializer(schema("no-such-topic").build())
    builder.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    builder.set_property("topic.metadata.propagation.max.ms", "500")
    writer = builder.build().create_writer(Surroundings().context())
    writer.write("kv", None)
    with pytest.raises(ExternalSystemError, match="no-such-topic"):
        writer.flush(end_of_input=False)
    writer.close()


def test_none_does_not_wait_for_the_brokers_before_the_end(kafka: Kafka) -> None:
    topic = kafka.topic()
    made = sink(kafka, schema(topic).build(), DeliveryGuarantee.NONE)
    writer = made.create_writer(Surroundings().context())
    kafka.server.kill()
    writer.write("kv", None)
    started = time.monotonic()
    writer.flush(end_of_input=False)
    assert time.monotonic() - started < 1
    kafka.server.start()
    writer.flush(end_of_input=True)
    writer.close()
    assert seen(kafka, topic) == [(b"k", b"v")]


def test_at_least_once_waits_for_a_broker_that_is_down(kafka: Kafka) -> None:
    topic = kafka.topic()
    writer = sink(kafka, schema(topic).build()).create_writer(Surroundings().context())
    writer.write("ka", None)
    writer.flush(end_of_input=False)
    kafka.server.kill()
    writer.write("kb", None)
    kafka.server.start()
    writer.flush(end_of_input=False)
    writer.close()
    assert seen(kafka, topic) == [(b"k", b"a"), (b"k", b"b")]


def test_kaf_11_the_older_producer(kafka: Kafka) -> None:
    topic = kafka.topic()
    made = FlinkKafkaProducer(topic, SimpleStringSchema(), {"bootstrap.servers": kafka.address})
    write(made, ["a", "b"], [5, 6])
    found = kafka.committed_records(topic)
    assert [message.value() for message in found] == [b"a", b"b"]
    assert all(message.timestamp()[1] > 1_700_000_000_000 for message in found), "the time of sending"
    write(made.set_write_timestamp_to_kafka(True), ["c"], [7])
    assert kafka.committed_records(topic)[-1].timestamp()[1] == 7


def test_kaf_11_the_older_producer_refuses_more_transactions_than_its_pool_has(kafka: Kafka) -> None:
    topic = kafka.topic()
    config = {"bootstrap.servers": kafka.address, "transaction.timeout.ms": "60000"}
    made = FlinkKafkaProducer(topic, SimpleStringSchema(), config, 2, Semantic.EXACTLY_ONCE)
    writer = made.create_writer(Surroundings().context(job_name=kafka.name()))
    for value in "ab":
        writer.write(value, None)
        assert len(writer.prepare_commit()) == 1
    with pytest.raises(ExternalSystemError, match="2 producers"):
        writer.write("c", None)
    writer.close()
    assert kafka.committed(topic) == []
