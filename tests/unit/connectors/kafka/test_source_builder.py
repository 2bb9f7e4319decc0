"""What a Kafka source is made of; without a broker."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import pytest

from penstock import (
    Boundedness,
    FlinkKafkaConsumer,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
    ProgramError,
    SimpleStringSchema,
    StreamExecutionEnvironment,
)
from penstock.connectors.kafka.source import PartitionSplit
from penstock.vocabulary.sources.protocol import ReaderContext, SourceSplit

SERVERS = "localhost:1"


def builder() -> Any:
    made = KafkaSource.builder().set_bootstrap_servers(SERVERS).set_topics("orders")
    return made.set_value_only_deserializer(SimpleStringSchema())


def test_what_a_source_lacks_is_said() -> None:
    for made, missing in (
        (
            KafkaSource.builder().set_topics("a").set_value_only_deserializer(SimpleStringSchema()),
            "set_bootstrap_servers",
        ),
        (KafkaSource.builder().set_bootstrap_servers(SERVERS).set_topics("a"), "set_value_only_deserializer"),
        (
            KafkaSource.builder().set_bootstrap_servers(SERVERS).set_value_only_deserializer(SimpleStringSchema()),
            "set_topics",
        ),
        (builder().set_property("no.such.property", "1"), r"no\.such\.property"),
    ):
        with pytest.raises(ProgramError, match=missing):
            made.build()
    with pytest.raises(ProgramError, match="orders already"):
        builder().set_topic_pattern(".*")
    with pytest.raises(ProgramError, match="set_value_only_deserializer"):
        KafkaSource.builder().set_deserializer(SimpleStringSchema())


def test_kaf_06_discovery() -> None:
    assert builder().build().discovery_interval == 300_000
    assert builder().set_property("partition.discovery.interval.ms", "-1").build().discovery_interval is None
    older = builder().set_property("flink.partition-discovery.interval-millis", "5000")
    assert older.build().discovery_interval == 5000
    bounded = builder().set_bounded(KafkaOffsetsInitializer.latest()).build()
    assert (bounded.discovery_interval, bounded.boundedness) == (None, Boundedness.BOUNDED)


def test_a_source_travels_to_other_processes() -> None:
    copied = pickle.loads(pickle.dumps(builder().set_group_id("g").build()))
    assert copied._consumer_settings()["group.id"] == "g"
    assert copied._consumer_settings()["isolation.level"] == "read_committed"


def test_kaf_02_properties_as_they_are_written_for_java() -> None:
    name = "org.apache.kafka.common.serialization.StringDeserializer"
    properties = {
        "bootstrap.servers": SERVERS,
        "group.id": "con1",
        "key.deserializer": name,
        "value.deserializer": name,
        "auto.offset.reset": "latest",
    }
    consumer = FlinkKafkaConsumer("orders", SimpleStringSchema(), properties)
    assert consumer._consumer_settings()["auto.offset.reset"] == "latest"
    assert consumer.discovery_interval is None
    assert consumer.get_produced_type() == SimpleStringSchema().get_produced_type()


def test_kaf_04_offsets_are_committed_on_checkpoints_unless_the_program_says_otherwise() -> None:
    assert builder().set_group_id("g").build()._options.commits_offsets
    assert not builder().build()._options.commits_offsets, "there is no group"
    refused = builder().set_group_id("g").set_property("commit.offsets.on.checkpoint", "false")
    assert not refused.build()._options.commits_offsets
    consumer = FlinkKafkaConsumer(["a", "b"], SimpleStringSchema(), {"bootstrap.servers": SERVERS, "group.id": "g"})
    assert consumer._options.commits_offsets
    assert not consumer.set_commit_offsets_on_checkpoints(False)._options.commits_offsets


def test_kaf_03_the_older_consumer_starts_where_it_is_told() -> None:
    consumer = FlinkKafkaConsumer("a", SimpleStringSchema(), {"bootstrap.servers": SERVERS, "group.id": "g"})
    assert consumer.set_start_from_earliest()._options.starting == KafkaOffsetsInitializer.earliest()
    assert consumer.set_start_from_latest()._options.starting == KafkaOffsetsInitializer.latest()
    assert consumer.set_start_from_timestamp(5)._options.starting == KafkaOffsetsInitializer.timestamp(5)
    assert "committed" in type(consumer.set_start_from_group_offsets()._options.starting).__name__.lower()


def test_partitions_that_are_not_subscribed_any_more_are_left_out_by_the_older_consumer() -> None:
    split = SourceSplit("old-0", PartitionSplit(KafkaTopicPartition("old", 0), 0, None))
    consumer = FlinkKafkaConsumer("new", SimpleStringSchema(), {"bootstrap.servers": SERVERS, "group.id": "g"})
    reader = consumer.open_split(split, 17, ReaderContext(0, 1))
    assert (reader.read(10), reader.position()) == (None, 17)
    context = ReaderContext(0, 1)
    kept = consumer.disable_filter_restored_partitions_with_subscribed_topics().open_split(split, 17, context)
    assert kept.read(10) == ([], None)
    context.shared.popitem()[1].close()


def test_kaf_01_add_source_takes_the_older_consumer() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    consumer = FlinkKafkaConsumer("a", SimpleStringSchema(), {"bootstrap.servers": SERVERS, "group.id": "g"})
    assert env.add_source(consumer, "orders").get_name() == "orders"


def test_without_the_client_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    with pytest.raises(ProgramError, match=r"penstock\[kafka\]"):
        builder().build()
