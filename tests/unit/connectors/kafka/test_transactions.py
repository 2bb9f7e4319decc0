"""Whether a transaction was committed, and which settings are refused; without a broker."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from penstock import (
    Delivery,
    DeliveryGuarantee,
    FlinkKafkaProducer,
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
    ProgramError,
    Semantic,
    SimpleStringSchema,
)
from penstock.connectors.kafka.message_run import MessageRun
from penstock.connectors.kafka.transaction import KafkaCommittable
from penstock.connectors.kafka.transactional_ids import GroupOffset, transactional_id

SERVERS = "localhost:1"


def committable(lineage: str = "mine", sequence: int = 5) -> KafkaCommittable:
    return KafkaCommittable("jobs-0-3", lineage, sequence, "orders", pickle.dumps([("orders", [b"a"])]))


@pytest.mark.parametrize(
    ("mark", "was_committed"),
    [
        (None, False),  # nothing was ever committed under this id
        (GroupOffset("orders", 4, "mine"), False),  # the one before it was the last
        (GroupOffset("orders", 5, "mine"), True),
        (GroupOffset("orders", 6, "mine"), True),  # a later one, which came after it in the same producer
        (GroupOffset("orders", 5, "another"), False),  # of another writer that had the same id
        (GroupOffset("orders", 9, "another"), False),
    ],
)
def test_a_transaction_was_committed_if_its_mark_is_there(mark: GroupOffset | None, was_committed: bool) -> None:
    assert committable().was_committed(mark) is was_committed


def test_a_committable_carries_its_messages() -> None:
    copied = pickle.loads(pickle.dumps(committable()))
    assert copied == committable()
    assert copied.runs == [MessageRun("orders", [b"a"])]


def test_transactional_ids_are_told_apart_by_prefix_subtask_and_number() -> None:
    assert transactional_id("jobs", 2, 7) == "jobs-2-7"


def test_messages_by_columns() -> None:
    records = [KafkaProducerRecord("a", b"1", timestamp=5), KafkaProducerRecord("b", None, b"k")]
    assert MessageRun.of(records) == MessageRun(["a", "b"], [b"1", None], [None, b"k"], [5, None])
    assert MessageRun.of(records[:1]) == MessageRun("a", [b"1"], None, [5])
    assert MessageRun.of(records).first_topic == "a"


def sink(guarantee: DeliveryGuarantee, **properties: str) -> KafkaSink[Any]:
    messages = KafkaRecordSerializationSchema.builder().set_topic("orders")
    builder = KafkaSink.builder().set_bootstrap_servers(SERVERS).set_transactional_id_prefix("jobs")
    builder.set_record_serializer(messages.set_value_serialization_schema(SimpleStringSchema()).build())
    for key, value in properties.items():
        builder.set_property(key.replace("_", "."), value)
    return builder.set_delivery_guarantee(guarantee).build()


def test_con_04_what_a_sink_does_with_records_that_come_again() -> None:
    assert sink(DeliveryGuarantee.EXACTLY_ONCE).delivery is Delivery.TRANSACTIONAL
    assert sink(DeliveryGuarantee.AT_LEAST_ONCE).delivery is Delivery.AT_LEAST_ONCE
    assert sink(DeliveryGuarantee.NONE).delivery is Delivery.AT_MOST_ONCE


def test_kaf_12_a_transaction_timeout_shorter_than_interval_and_checkpoint_timeout_is_refused() -> None:
    made = sink(DeliveryGuarantee.EXACTLY_ONCE, transaction_timeout_ms="60000")
    made.check(checkpoint_interval=10_000, checkpoint_timeout=50_000)
    with pytest.raises(ProgramError, match="60001"):
        made.check(checkpoint_interval=10_001, checkpoint_timeout=50_000)
    # By itself it is a quarter of an hour, the longest that brokers allow by themselves.
    sink(DeliveryGuarantee.EXACTLY_ONCE).check(checkpoint_interval=300_000, checkpoint_timeout=600_000)
    with pytest.raises(ProgramError, match=r"transaction\.timeout\.ms"):
        sink(DeliveryGuarantee.EXACTLY_ONCE).check(checkpoint_interval=300_001, checkpoint_timeout=600_000)


def test_exactly_once_without_checkpoints_is_refused() -> None:
    with pytest.raises(ProgramError, match="enable_checkpointing"):
        sink(DeliveryGuarantee.EXACTLY_ONCE).check(checkpoint_interval=None, checkpoint_timeout=600_000)
    sink(DeliveryGuarantee.AT_LEAST_ONCE).check(checkpoint_interval=None, checkpoint_timeout=600_000)


def test_what_a_sink_lacks_is_said() -> None:
    schema = KafkaRecordSerializationSchema.builder()
    with pytest.raises(ProgramError, match="topic"):
        schema.set_value_serialization_schema(SimpleStringSchema()).build()
    built = schema.set_topic("orders").build()
    with pytest.raises(ProgramError, match="set_bootstrap_servers"):
        KafkaSink.builder().set_record_serializer(built).build()
    with pytest.raises(ProgramError, match="set_record_serializer"):
        KafkaSink.builder().set_bootstrap_servers(SERVERS).build()
    builder = KafkaSink.builder().set_bootstrap_servers(SERVERS).set_record_serializer(built)
    with pytest.raises(ProgramError, match="set_transactional_id_prefix"):
        builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    builder.set_transactional_id_prefix("jobs").set_property("no.such.property", "1")
    with pytest.raises(ProgramError, match=r"no\.such\.property"):
        builder.build()


def test_serializers_of_java_are_taken_and_replaced_by_the_schema() -> None:
    name = "org.apache.kafka.common.serialization.StringSerializer"
    config = {"bootstrap.servers": SERVERS, "key.serializer": name, "value.serializer": name}
    FlinkKafkaProducer("orders", SimpleStringSchema(), config)


def test_kaf_11_the_older_producer_promises_by_its_semantic() -> None:
    config = {"bootstrap.servers": SERVERS}
    made = FlinkKafkaProducer("orders", SimpleStringSchema(), config)
    assert made.delivery is Delivery.AT_LEAST_ONCE
    assert made.set_flush_on_checkpoint(False).delivery is Delivery.AT_MOST_ONCE
    exactly = FlinkKafkaProducer("orders", SimpleStringSchema(), config, semantic=Semantic.EXACTLY_ONCE)
    assert exactly.delivery is Delivery.TRANSACTIONAL
    assert exactly.set_flush_on_checkpoint(False).delivery is Delivery.TRANSACTIONAL
