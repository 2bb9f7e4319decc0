"""Reading Kafka: splits, positions, deserialization, trouble; against a real broker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock import (
    ByteArraySchema,
    DeserializationSchema,
    JSONKeyValueDeserializationSchema,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
    MalformedRecord,
    MalformedRecordError,
    OutputTag,
    ProgramError,
    SimpleStringSchema,
)
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, SourceSplit, SplitReader
from tests.servers.kafka import Kafka


def builder(kafka: Kafka, *topics: str) -> Any:
    made = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_value_only_deserializer(SimpleStringSchema())
    return made.set_topics(*topics) if topics else made


class Readers:
    """The readers of one subtask, read in turn as the engine does."""

    def __init__(self, source: KafkaSource[Any], positions: dict[str, Any] | None = None, **context: Any) -> None:
        self.woken = threading.Event()
        self.side: list[tuple[str, Any]] = []
        self.context = ReaderContext(
            0,
            1,
            wake_up=self.woken.set,
            side_output=lambda tag, records: self.side.extend((tag, record) for record in records),
            **context,
        )
        self.source = source
        self.positions = positions or {}
        self.open: dict[str, SplitReader[Any]] = {}
        self.finished: set[str] = set()
        self.records: list[Any] = []
        self.timestamps: list[int] = []
        self.add(source.create_splits(1))

    def add(self, splits: Any) -> None:
        for split in splits:
            self.open[split.id] = self.source.open_split(split, self.positions.get(split.id), self.context)

    def read_until(self, done: Callable[[], bool], seconds: float = 20) -> Readers:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, f"still {self.records[:20]!r}, {len(self.records)} records"
            self.woken.clear()
            if not self.read_all():
                self.woken.wait(0.5)
        return self

    def read_all(self) -> bool:
        has_read = False
        for name, reader in self.open.items():
            if name in self.finished:
                continue
            found = reader.read(1000)
            if found is None:
                self.finished.add(name)
            elif found[0]:
                has_read = True
                self.records += found[0]
                self.timestamps += found[1] or []
        return has_read

    def to_end(self) -> Readers:
        """Read until all splits are finished, and close."""
        return self.read_until(lambda: self.finished == set(self.open)).close()

    def close(self) -> Readers:
        for reader in self.open.values():
            reader.close()
        for shared in self.context.shared.values():
            shared.close()
        return self


def bounded(kafka: Kafka, *topics: str) -> Any:
    return builder(kafka, *topics).set_bounded(KafkaOffsetsInitializer.latest())


def test_a_bounded_source_reads_every_partition_to_its_end(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=3)
    for partition in range(3):
        kafka.send(topic, [f"{partition}:{number}" for number in range(50)], partition=partition)
    source = bounded(kafka, topic).build()
    assert source.boundedness is Boundedness.BOUNDED
    assert [split.id for split in source.create_splits(2)] == [f"{topic}-{number}" for number in range(3)]
    records = Readers(source).to_end().records
    for partition in range(3):
        mine = [record for record in records if record.startswith(f"{partition}:")]
        assert mine == [f"{partition}:{number}" for number in range(50)]
    assert len(records) == 150


def test_an_empty_topic_ends_at_once(kafka: Kafka) -> None:
    assert Readers(bounded(kafka, kafka.topic()).build()).to_end().records == []


def test_several_topics_and_a_pattern(kafka: Kafka) -> None:
    first, second = kafka.topic(word="order"), kafka.topic(word="order")
    other = kafka.topic(word="other")
    for topic in (first, second, other):
        kafka.send(topic, [topic])
    assert sorted(Readers(bounded(kafka, first, other).build()).to_end().records) == sorted([first, other])
    by_pattern = (
        builder(kafka).set_topic_pattern(f"{kafka.prefix}-order-.*").set_bounded(KafkaOffsetsInitializer.latest())
    )
    assert sorted(Readers(by_pattern.build()).to_end().records) == sorted([first, second])


def test_a_set_of_partitions(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=3)
    for partition in range(3):
        kafka.send(topic, [str(partition)], partition=partition)
    chosen = {KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 2)}
    source = builder(kafka).set_partitions(chosen).set_bounded(KafkaOffsetsInitializer.latest()).build()
    assert sorted(Readers(source).to_end().records) == ["0", "2"]


def test_a_topic_that_is_not_there_is_named(kafka: Kafka) -> None:
    with pytest.raises(ProgramError, match="no-such-topic"):
        builder(kafka, "no-such-topic").build().create_splits(1)


# -- where reading starts (KAF-03)


def started(kafka: Kafka, topic: str, offsets: KafkaOffsetsInitializer, group: str | None = None) -> list[str]:
    made = bounded(kafka, topic).set_starting_offsets(offsets)
    if group is not None:
        made.set_group_id(group)
    return Readers(made.build()).to_end().records


def test_kaf_03_earliest_and_latest(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["old"])
    assert started(kafka, topic, KafkaOffsetsInitializer.earliest()) == ["old"]
    assert started(kafka, topic, KafkaOffsetsInitializer.latest()) == []
    readers = Readers(builder(kafka, topic).set_starting_offsets(KafkaOffsetsInitializer.latest()).build())
    kafka.send(topic, ["new"])
    readers.read_until(lambda: bool(readers.records)).close()
    assert readers.records == ["new"]


def test_kaf_03_timestamp(kafka: Kafka) -> None:
    topic = kafka.topic()
    for number in range(5):
        kafka.send(topic, [str(number)], timestamp=1_700_000_000_000 + number * 1000)
    assert started(kafka, topic, KafkaOffsetsInitializer.timestamp(1_700_000_002_500)) == ["3", "4"]
    assert started(kafka, topic, KafkaOffsetsInitializer.timestamp(1_700_000_099_000)) == []


def test_kaf_03_given_offsets_and_what_others_get(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    for partition in range(2):
        kafka.send(topic, [f"{partition}:{number}" for number in range(3)], partition=partition)
    given = {KafkaTopicPartition(topic, 0): 2}
    assert sorted(started(kafka, topic, KafkaOffsetsInitializer.offsets(given))) == ["0:2", "1:0", "1:1", "1:2"]
    latest = KafkaOffsetsInitializer.offsets(given, KafkaOffsetResetStrategy.LATEST)
    assert started(kafka, topic, latest) == ["0:2"]


def test_kaf_03_committed_offsets_or_else_the_reset_strategy(kafka: Kafka) -> None:
    topic, group = kafka.topic(), kafka.name("group")
    kafka.send(topic, ["a", "b", "c"])
    committed = KafkaOffsetsInitializer.committed_offsets
    with pytest.raises(ProgramError, match="no committed offset"):
        started(kafka, topic, committed(), group)
    assert started(kafka, topic, committed(KafkaOffsetResetStrategy.LATEST), group) == []
    assert started(kafka, topic, committed(KafkaOffsetResetStrategy.EARLIEST), group) == ["a", "b", "c"]
    readers = Readers(bounded(kafka, topic).set_group_id(group).build())
    (reader,) = readers.open.values()
    readers.read_until(lambda: bool(readers.finished))
    reader.committed(2)
    readers.close()
    assert kafka.group_offsets(group, topic) == {0: 2}
    assert started(kafka, topic, committed(), group) == ["c"]


# -- positions


def test_w_96_reading_goes_on_from_a_position(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [str(number) for number in range(2000)])
    first = Readers(bounded(kafka, topic).build())
    (reader,) = first.open.values()
    while len(first.records) < 1900:
        found = reader.read(min(100, 1900 - len(first.records)))
        assert found is not None
        first.records += found[0]
    position = reader.position()
    first.close()
    second = Readers(bounded(kafka, topic).build(), {f"{topic}-0": position}).to_end()
    assert position == 1900
    assert first.records + second.records == [str(number) for number in range(2000)]


def test_a_finished_split_stays_finished_after_a_restart(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["a", "b"])
    source = bounded(kafka, topic).build()
    (split,) = source.create_splits(1)
    reader = Readers(source).to_end().open[split.id]
    kafka.send(topic, ["too late"])
    context = ReaderContext(0, 1)
    again = source.open_split(split, reader.position(), context)
    assert again.read(10) is None
    context.shared.popitem()[1].close()


def test_a_stop_in_the_middle(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [str(number) for number in range(10)])
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 4})
    assert Readers(builder(kafka, topic).set_bounded(stop).build()).to_end().records == ["0", "1", "2", "3"]
    unbounded = builder(kafka, topic).set_unbounded(stop).build()
    assert unbounded.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    assert Readers(unbounded).to_end().records == ["0", "1", "2", "3"]


def test_only_committed_transactions_are_read_and_their_marks_do_not_keep_from_the_end(kafka: Kafka) -> None:
    from confluent_kafka import Producer

    topic = kafka.topic()
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": kafka.name()})
    producer.init_transactions()
    for value, is_committed in ((b"aborted", False), (b"committed", True), (b"aborted too", False)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush()
        producer.commit_transaction() if is_committed else producer.abort_transaction()
    readers = Readers(bounded(kafka, topic).build()).to_end()
    assert readers.records == ["committed"]
    assert next(iter(readers.open.values())).position() == 6
    everything = bounded(kafka, topic).set_property("isolation.level", "read_uncommitted").build()
    assert Readers(everything).to_end().records == ["aborted", "committed", "aborted too"]


# -- records


class Everything(KafkaRecordDeserializationSchema[Any]):
    def deserialize(self, record: KafkaRecord) -> Any:
        return tuple(record)


def test_records_have_key_headers_timestamp_and_place(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["v"], key="k", headers=[("h", b"1"), ("h", b"2")], timestamp=1_700_000_000_123)
    kafka.send(topic, [None], timestamp=1_700_000_000_124)
    made = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(topic).set_deserializer(Everything())
    readers = Readers(made.set_bounded(KafkaOffsetsInitializer.latest()).build()).to_end()
    assert readers.records == [
        (topic, 0, 0, 1_700_000_000_123, b"k", b"v", [("h", b"1"), ("h", b"2")]),
        (topic, 0, 1, 1_700_000_000_124, None, None, []),
    ]
    assert readers.timestamps == [1_700_000_000_123, 1_700_000_000_124]


def test_kaf_10_json_key_and_value_with_metadata(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [{"value": "1"}], key=json.dumps({"id": 7}))
    kafka.send(topic, [{"value": "2"}])
    for include, rest in ((True, [{"offset": 0, "topic": topic, "partition": 0}]), (False, [])):
        made = KafkaSource.builder().set_bootstrap_servers(kafka.address).set_topics(topic)
        made.set_deserializer(JSONKeyValueDeserializationSchema(include))
        records = Readers(made.set_bounded(KafkaOffsetsInitializer.latest()).build()).to_end().records
        assert records[0] == {"key": {"id": 7}, "value": {"value": "1"}, **({"metadata": rest[0]} if rest else {})}
        assert records[1]["value"] == {"value": "2"}
        assert "key" not in records[1]


class Numbers(DeserializationSchema[int]):
    """Leaves out what is empty, and ends the stream at -1."""

    def deserialize(self, message: bytes) -> int | None:
        return int(message) if message else None

    def is_end_of_stream(self, next_element: int) -> bool:
        return next_element == -1


def test_a_schema_may_leave_messages_out_and_end_the_stream(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["1", "", "2", "-1", "3"], timestamp=1_700_000_000_000)
    made = builder(kafka, topic).set_value_only_deserializer(Numbers()).build()
    readers = Readers(made).to_end()
    assert readers.records == [1, 2]
    assert len(readers.timestamps) == 2
    assert next(iter(readers.open.values())).position() == 3


# -- trouble


def test_a_malformed_record_fails_with_its_place_and_content(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["1", "2", "three"])
    readers = Readers(bounded(kafka, topic).set_value_only_deserializer(Numbers()).build())
    with pytest.raises(MalformedRecordError) as raised:
        readers.read_until(lambda: bool(readers.finished))
    readers.close()
    assert (raised.value.origin, raised.value.position, raised.value.content) == (f"{topic}-0", 2, b"three")


def test_a_message_without_a_value_is_malformed_for_schemas_that_need_one(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [None])
    for schema in (SimpleStringSchema(), ByteArraySchema()):
        readers = Readers(bounded(kafka, topic).set_value_only_deserializer(schema).build())
        with pytest.raises(MalformedRecordError):
            readers.read_until(lambda readers=readers: bool(readers.finished))
        readers.close()


def test_malformed_records_go_to_a_side_output_where_the_program_wants_that(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["1", "two", "3", "four"])
    made = bounded(kafka, topic).set_value_only_deserializer(Numbers()).set_malformed_records_to(OutputTag("bad"))
    readers = Readers(made.build()).to_end()
    assert readers.records == [1, 3]
    found = [(tag, record.origin, record.position, record.content) for tag, record in readers.side]
    assert found == [("bad", f"{topic}-0", 1, b"two"), ("bad", f"{topic}-0", 3, b"four")]
    assert all(isinstance(record, MalformedRecord) for _, record in readers.side)


def test_new_partitions_are_found_and_read_from_their_beginning(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=1)
    kafka.send(topic, ["before"])
    made = builder(kafka, topic).set_starting_offsets(KafkaOffsetsInitializer.latest())
    source = made.set_property("partition.discovery.interval.ms", "200").build()
    assert source.discovery_interval == 200
    readers = Readers(source)
    known = source.create_splits(1)
    assert list(source.discover_splits(known)) == []
    kafka.grow(topic, 3)
    kafka.send(topic, ["in a new one"], partition=2)
    found = list(source.discover_splits(known))
    assert [split.id for split in found] == [f"{topic}-1", f"{topic}-2"]
    readers.read_all()
    readers.add(found)
    readers.read_until(lambda: bool(readers.records)).close()
    assert readers.records == ["in a new one"]


def test_a_split_that_is_not_read_is_paused_and_loses_nothing(kafka: Kafka) -> None:
    topic = kafka.topic(partitions=2)
    for partition in range(2):
        kafka.send(topic, [f"{partition}:{number}" for number in range(30_000)], partition=partition)
    source = bounded(kafka, topic).build()
    readers = Readers(source)
    slow = readers.open.pop(f"{topic}-1")
    readers.read_until(lambda: len(readers.records) == 30_000)
    readers.open[f"{topic}-1"] = slow
    readers.to_end()
    assert readers.records == [f"{partition}:{number}" for partition in range(2) for number in range(30_000)]


def test_an_idle_reader_is_woken_up(kafka: Kafka) -> None:
    topic = kafka.topic()
    readers = Readers(builder(kafka, topic).build())
    readers.read_until(lambda: not readers.read_all())
    kafka.send(topic, ["now"])
    assert readers.woken.wait(10)
    readers.read_until(lambda: readers.records == ["now"]).close()


def test_kaf_05_offsets_are_committed_by_time_only_without_checkpoints(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, ["a", "b"])
    for is_checkpointed, expected in ((True, {}), (False, {0: 2})):
        group = kafka.name("group")
        made = builder(kafka, topic).set_group_id(group).set_property("enable.auto.commit", "true")
        made.set_property("auto.commit.interval.ms", "100")
        readers = Readers(made.build(), is_checkpointed=is_checkpointed)
        readers.read_until(lambda readers=readers: len(readers.records) == 2).close()
        assert kafka.group_offsets(group, topic) == expected


def test_a_broker_that_is_down_for_a_while_is_waited_for(kafka: Kafka) -> None:
    topic = kafka.topic()
    kafka.send(topic, [str(number) for number in range(100)])
    readers = Readers(builder(kafka, topic).build())
    readers.read_until(lambda: len(readers.records) == 100)
    kafka.server.kill()
    for _ in range(3):
        readers.read_all()
        time.sleep(0.5)
    assert list(readers.source.discover_splits([SourceSplit(f"{topic}-0")])) == []
    kafka.server.start()
    kafka.send(topic, [str(number) for number in range(100, 200)])
    readers.read_until(lambda: len(readers.records) == 200, 60).close()
    assert readers.records == [str(number) for number in range(200)]
