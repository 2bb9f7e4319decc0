"""An Apache Kafka broker in KRaft mode, and topics in it that are new when a test begins."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.servers.debian import Unreachable
from tests.servers.maven import jars_of
from tests.servers.server import Server, free_port

__all__ = ["Kafka", "KafkaServer", "kafka", "kafka_server"]

HOST = "127.0.0.1"
VERSION = "3.9.1"


class KafkaServer(Server):
    """One node that is broker and controller; quick rather than safe from power failures, ``kill -9`` loses nothing."""

    name = "kafka"

    def __init__(self, jars: Iterable[Any]) -> None:
        super().__init__()
        self.controller_port = free_port()
        home = os.environ.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else "java"
        memory = ["-Xms64m", "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._java = [java, *memory, "-cp", ":".join(str(jar) for jar in jars)]
        self._settings = self.directory / "server.properties"
        self._settings.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
        cluster = ["-t", "penstocktestscluster00"]
        subprocess.run(
            [*self._java, "kafka.tools.StorageTool", "format", *cluster, "-c", str(self._settings)],
            check=True,
            capture_output=True,
            timeout=120,
        )

    def _properties(self) -> dict[str, Any]:
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@{HOST}:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self.controller_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": self.directory / "data",
            # A broker that was killed may come back as soon as its former life is taken for dead.
            "broker.session.timeout.ms": 6000,
            "broker.heartbeat.interval.ms": 1000,
            "num.network.threads": 2,
            "num.io.threads": 3,
            "num.replica.fetchers": 1,
            "log.cleaner.enable": "false",
            "auto.create.topics.enable": "false",
            "delete.topic.enable": "true",
            "group.initial.rebalance.delay.ms": 0,
            "offsets.topic.num.partitions": 1,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            # Tests with timed-out transactions need not wait long.
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
        }

    def command(self) -> list[str]:
        return [*self._java, "kafka.Kafka", str(self._settings)]

    def environment(self) -> dict[str, str]:
        return dict(os.environ)

    def answers(self) -> bool:
        try:
            AdminClient({"bootstrap.servers": self.address, "log_level": 0}).list_topics(timeout=2)
        except KafkaException:
            return False
        return True

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def settings(self) -> dict[str, str]:
        return {"KAFKA_SERVERS": self.address}


class Kafka:
    """What a test does with the broker; names of topics and ids are its own, so tests need not clean up."""

    def __init__(self, server: KafkaServer, prefix: str) -> None:
        self.server = server
        self.prefix = prefix
        self.admin = AdminClient({"bootstrap.servers": server.address})
        self._numbers = itertools.count(1)

    @property
    def address(self) -> str:
        return self.server.address

    def name(self, word: str = "id") -> str:
        """Return a name that no other test has."""
        return f"{self.prefix}-{word}-{next(self._numbers)}"

    def topic(self, partitions: int = 1, word: str = "topic") -> str:
        """Make an empty topic and return its name."""
        name = self.name(word)
        for created in self.admin.create_topics([NewTopic(name, partitions, 1)]).values():
            created.result(30)
        return self._seen(name, partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        for grown in self.admin.create_partitions([NewPartitions(topic, partitions)]).values():
            grown.result(30)
        self._seen(topic, partitions)

    def _seen(self, topic: str, partitions: int) -> str:
        deadline = time.monotonic() + 30
        while len(self.admin.list_topics(timeout=10).topics.get(topic, _Nothing).partitions) != partitions:
            assert time.monotonic() < deadline, f"{topic} does not appear"
            time.sleep(0.02)
        return topic

    def send(self, topic: str, values: Iterable[Any], **options: Any) -> None:
        """Write records: bytes as they are, text as UTF-8, everything else as JSON."""
        producer = Producer({"bootstrap.servers": self.address, "linger.ms": 5})
        for value in values:
            while True:
                try:
                    producer.produce(topic, _encoded(value), **options)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def committed_records(self, topic: str, seconds: float = 30) -> list[Any]:
        """Return all messages that a ``read_committed`` consumer sees, up to the very end of every partition.

        Nothing may be left open: a transaction that is not finished keeps such a consumer from the end.
        """
        return self._read(topic, self.ends(topic), seconds)

    def committed(self, topic: str, seconds: float = 30) -> list[str]:
        """Return the values of all records that a ``read_committed`` consumer sees, as text."""
        return [message.value().decode() for message in self.committed_records(topic, seconds)]

    def visible(self, topic: str) -> list[Any]:
        """Return the messages that a ``read_committed`` consumer sees now, whatever is open."""
        return self._read(topic, self.ends(topic, "read_committed"), 30)

    def _read(self, topic: str, ends: dict[int, int], seconds: float) -> list[Any]:
        settings = {
            "bootstrap.servers": self.address,
            "group.id": f"tests-{uuid.uuid4().hex}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
        consumer = Consumer(settings)
        try:
            consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
            unfinished = {partition for partition, end in ends.items() if end > 0}
            found = []
            deadline = time.monotonic() + seconds
            while unfinished:
                assert time.monotonic() < deadline, f"{topic}: no way to the end of {unfinished}: a transaction is open"
                for message in consumer.consume(10_000, 0.05):
                    if message.error() is None:
                        found.append(message)
                    elif message.offset() >= ends[message.partition()]:
                        unfinished.discard(message.partition())
            return found
        finally:
            consumer.close()

    def ends(self, topic: str, isolation: str = "read_uncommitted") -> dict[int, int]:
        """Return where each partition ends: with open transactions, or before the first of them."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "tests-ends", "isolation.level": isolation})
        try:
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            return {
                partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)[1]
                for partition in partitions
            }
        finally:
            consumer.close()

    def group_offsets(self, group: str, topic: str) -> dict[int, int]:
        """Return what a consumer group has committed."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group})
        try:
            partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
            found = consumer.committed([TopicPartition(topic, partition) for partition in partitions], timeout=30)
            return {each.partition: each.offset for each in found if each.offset >= 0}
        finally:
            consumer.close()


class _Nothing:
    partitions: tuple[int, ...] = ()


def _encoded(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()


_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer]:
    """The one broker of the run."""
    try:
        jars = jars_of("org.apache.kafka", "kafka_2.13", VERSION)
    except Unreachable as problem:
        pytest.skip(str(problem))
    server = KafkaServer(jars)
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def kafka(kafka_server: KafkaServer) -> Kafka:
    """The broker, with names that no other test uses."""
    kafka_server.start()
    return Kafka(kafka_server, f"test-{next(_numbers)}-{uuid.uuid4().hex[:6]}")
