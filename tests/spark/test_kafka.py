"""Jobs on Spark that read from and write to a real Kafka broker."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Configuration,
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    JSONKeyValueDeserializationSchema,
    KafkaOffsetsInitializer,
    OutputTag,
    ProgramError,
    RestartStrategies,
    Semantic,
    SimpleStringSchema,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from tests.servers.kafka import Kafka
from tests.spark.jobs import wait_until
from tests.spark.kafka_jobs import FailOnce, count_job, kafka_sink, kafka_source

OUTAGE = float(os.environ.get("PENSTOCK_OUTAGE", "5"))
"""Seconds that the broker is down."""


class Bench:
    """An environment with checkpoints, and topics."""

    def __init__(self, kafka: Kafka, place: Path) -> None:
        self.kafka = kafka
        self.place = place
        self.source = kafka.topic(partitions=2, word="in")
        self.target = kafka.topic(partitions=2, word="out")
        self.group = kafka.name("group")

    def env(self, interval: str = "200 ms") -> StreamExecutionEnvironment:
        settings = {
            "execution.checkpointing.interval": interval,
            "execution.checkpointing.timeout": "60 s",
            "execution.checkpointing.dir": f"file://{self.place}/checkpoints",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(5, 0))
        return env.set_parallelism(2)

    @contextmanager
    def running(self, env: StreamExecutionEnvironment, name: str = "test") -> Iterator[None]:
        """Run a job as long as the block lasts; it ends with everything committed."""
        client = env.execute_async(name)
        try:
            yield
            client.stop_with_savepoint(False, f"file://{self.place}/savepoints").result(150)
        except BaseException:
            client.cancel().result(60)
            raise


@pytest.fixture
def bench(kafka: Kafka, tmp_path: Path) -> Bench:
    return Bench(kafka, tmp_path)


def words(start: int, count: int) -> list[str]:
    return [f"{'abcde'[number % 5]}{number}" for number in range(start, start + count)]


def counts(*batches: list[str]) -> list[str]:
    """What a count of these words by their first letter writes."""
    totals = Counter(word[0] for batch in batches for word in batch)
    return sorted(f"{letter} {count}" for letter, total in totals.items() for count in range(1, total + 1))


def wait_for(bench: Bench, count: int, seconds: float = 90) -> None:
    """Waits until a ``read_committed`` consumer has seen so many records; meanwhile transactions come and go."""
    deadline = time.monotonic() + seconds
    found = -1
    while found < count:
        assert time.monotonic() < deadline, f"{found} of {count} records"
        found = len(bench.kafka.visible(bench.target))
        time.sleep(0.1)


@pytest.mark.timeout(240)
def test_kaf_15_a_keyed_count_from_kafka_to_kafka_counts_each_record_once_through_a_failure(bench: Bench) -> None:
    first, second = words(0, 500), words(500, 500)
    bench.kafka.send(bench.source, first)
    env = bench.env()
    sink = kafka_sink(bench.kafka.address, bench.target, bench.kafka.name("prefix"))
    source = kafka_source(bench.kafka.address, bench.source, bench.group).build()
    count_job(env, source, sink, FailOnce("poison", bench.place / "struck"))
    with bench.running(env):
        wait_for(bench, 500)
        bench.kafka.send(bench.source, [*second, "poison", *second])
        wait_for(bench, 1501)
    assert (bench.place / "struck").exists()
    assert sorted(bench.kafka.committed(bench.target)) == counts(first, second, ["poison"], second)
    # KAF-04: the group knows how far the job is, for others to see.
    assert sum(bench.kafka.group_offsets(bench.group, bench.source).values()) == 1501


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_and_comes_back_loses_nothing(bench: Bench) -> None:
    first, second = words(0, 1000), words(1000, 1000)
    bench.kafka.send(bench.source, first)
    env = bench.env("500 ms")
    source = kafka_source(bench.kafka.address, bench.source, bench.group).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").uid("kafka")
    stream.sink_to(kafka_sink(bench.kafka.address, bench.target, bench.kafka.name("prefix"))).uid("sink")
    with bench.running(env):
        wait_for(bench, 1000)
        bench.kafka.server.kill()
        time.sleep(OUTAGE)
        bench.kafka.server.start()
        bench.kafka.send(bench.source, second)
        wait_for(bench, 2000, 300)  # the client takes minutes at times to find the broker again
    assert sorted(bench.kafka.committed(bench.target)) == sorted(first + second)


@pytest.mark.timeout(180)
def test_kaf_18_the_older_names_from_json_to_a_transactional_topic(bench: Bench) -> None:
    bench.kafka.send(bench.source, [{"value": str(number)} for number in range(1, 21)])
    env = bench.env()
    properties = {"bootstrap.servers": bench.kafka.address, "group.id": bench.group, "auto.offset.reset": "earliest"}
    consumer = FlinkKafkaConsumer(bench.source, JSONKeyValueDeserializationSchema(True), properties)
    consumer.set_start_from_earliest()
    config = {"bootstrap.servers": bench.kafka.address, "transaction.timeout.ms": str(60_000 * 15)}
    producer = FlinkKafkaProducer(bench.target, SimpleStringSchema(), config, semantic=Semantic.EXACTLY_ONCE)
    values = env.add_source(consumer).map(lambda found: json.dumps(found["value"]["value"]))
    values.add_sink(producer)
    with bench.running(env, bench.kafka.name("job")):
        wait_for(bench, 20)
    assert sorted(map(json.loads, bench.kafka.committed(bench.target)), key=int) == [str(n) for n in range(1, 21)]


@pytest.mark.timeout(180)
def test_kaf_06_new_partitions_and_malformed_records_of_a_running_job(bench: Bench) -> None:
    malformed: OutputTag[Any] = OutputTag("malformed")
    source = kafka_source(bench.kafka.address, bench.source, bench.group)
    source.set_property("partition.discovery.interval.ms", "300").set_malformed_records_to(malformed)
    env = bench.env()
    stream = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "kafka")
    bad = stream.get_side_output(malformed).map(lambda record: f"bad {record.position}")
    stream.union(bad).sink_to(kafka_sink(bench.kafka.address, bench.target))
    with bench.running(env):
        bench.kafka.send(bench.source, ["old", b"\xff"], partition=0)
        wait_for(bench, 2)
        bench.kafka.grow(bench.source, 4)
        bench.kafka.send(bench.source, ["new"], partition=3)
        wait_for(bench, 3)
    assert sorted(bench.kafka.committed(bench.target)) == ["bad 1", "new", "old"]


def test_kaf_12_a_transaction_timeout_that_is_too_short_is_refused_before_anything_starts(bench: Bench) -> None:
    env = bench.env("10 min")
    env.get_checkpoint_config().set_checkpoint_timeout(600_000)
    source = kafka_source(bench.kafka.address, bench.source, bench.group)
    bounded = source.set_bounded(KafkaOffsetsInitializer.latest()).build()
    count_job(env, bounded, kafka_sink(bench.kafka.address, bench.target, "prefix"))
    with pytest.raises(ProgramError, match=r"transaction\.timeout\.ms"):
        env.execute()


@pytest.mark.timeout(180)
def test_bounded_topics_end_a_job_with_everything_committed(bench: Bench) -> None:
    bench.kafka.send(bench.source, words(0, 2000))
    env = bench.env("1 min")
    source = kafka_source(bench.kafka.address, bench.source, bench.group)
    bounded = source.set_bounded(KafkaOffsetsInitializer.latest()).build()
    count_job(env, bounded, kafka_sink(bench.kafka.address, bench.target, bench.kafka.name("prefix")))
    env.execute("bounded")
    assert sorted(bench.kafka.committed(bench.target)) == counts(words(0, 2000))
    wait_until(lambda: bench.kafka.group_offsets(bench.group, bench.source), "the offsets are committed")
    assert sum(bench.kafka.group_offsets(bench.group, bench.source).values()) == 2000
