"""How fast Kafka is read and written: a copy of a topic and a keyed count, by penstock and by programs written by hand.

``python -m benchmarks.kafka`` starts a broker, fills a topic with records of 100 bytes, has both systems process it in
turn with the same number of processes, checks that their results are equal, prints a table and keeps the numbers. The
time runs from the first to the last record that the broker gets from a system, by the broker's own clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks import report
from benchmarks.systems import handwritten_kafka
from penstock import (
    ByteArraySchema,
    DeliveryGuarantee,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from tests.servers.kafka import VERSION, KafkaServer
from tests.servers.maven import jars_of

KEYS = 1_000
KEY_SIZE = 8
RECORD_SIZE = 100
CHECKPOINT_INTERVAL = 1000
"""Penstock takes checkpoints meanwhile, each of which waits until the broker has everything; the other does not."""
GOAL = 0.5
JOBS = ("pass-through", "keyed-count")
SYSTEMS = ("handwritten", "penstock")
_HISTORY = Path(__file__).parent / "history"


class Count(KeyedProcessFunction):
    """Emits the running count of each key."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: bytes, ctx: Any) -> Iterator[bytes]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield b"%s %d" % (value, count)


def run_penstock(job: str, servers: str, source: str, target: str, parallelism: int) -> None:
    """Runs a job with penstock."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.enable_checkpointing(CHECKPOINT_INTERVAL)
    reading = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(source)
    reading.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(ByteArraySchema())
    messages = KafkaRecordSerializationSchema.builder().set_topic(target)
    writing = KafkaSink.builder().set_bootstrap_servers(servers)
    writing.set_record_serializer(messages.set_value_serialization_schema(ByteArraySchema()).build())
    writing.set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    stream = env.from_source(reading.build(), WatermarkStrategy.no_watermarks(), "source")
    if job == "keyed-count":
        stream = stream.map(lambda value: value[:KEY_SIZE]).key_by(lambda key: key).process(Count())
    stream.sink_to(writing.build())
    env.execute(job)


def run_by_hand(job: str, servers: str, source: str, target: str, ends: dict[int, int]) -> None:
    """Runs a job with plain processes."""
    if job == "pass-through":
        handwritten_kafka.pass_through(servers, source, target, ends)
    else:
        handwritten_kafka.keyed_count(servers, source, target, ends, KEY_SIZE)


class Bench:
    """Topics of one broker."""

    def __init__(self, servers: str, partitions: int) -> None:
        self.servers = servers
        self.partitions = partitions
        self._admin = AdminClient({"bootstrap.servers": servers})
        self._made = 0

    def topic(self) -> str:
        """Makes a topic whose records get the broker's time."""
        self._made += 1
        name = f"bench-{self._made}"
        config = {"message.timestamp.type": "LogAppendTime"}
        for created in self._admin.create_topics([NewTopic(name, self.partitions, 1, config=config)]).values():
            created.result(30)
        return name

    def fill(self, records: int) -> str:
        """Makes a topic with so many records."""
        topic = self.topic()
        producer = Producer({"bootstrap.servers": self.servers, "queue.buffering.max.messages": 1_000_000})
        filling = b"x" * (RECORD_SIZE - KEY_SIZE)
        for number in range(records):
            value = b"%0*d" % (KEY_SIZE, number * 7919 % KEYS) + filling
            while True:
                try:
                    producer.produce(topic, value, partition=number % self.partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()
        return topic

    def ends(self, topic: str) -> dict[int, int]:
        """Returns how many records each partition has."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "ends"})
        places = [TopicPartition(topic, partition) for partition in range(self.partitions)]
        found = {place.partition: consumer.get_watermark_offsets(place, timeout=30)[1] for place in places}
        consumer.close()
        return found

    def read(self, topic: str) -> tuple[float, int, int]:
        """Returns the seconds between the first and the last record, their number, and a sum over all of them."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "check", "enable.auto.commit": False})
        left = sum(self.ends(topic).values())
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(self.partitions)])
        first, last, count, total = 1 << 62, 0, 0, 0
        while left:
            messages = consumer.consume(min(10_000, left), 1.0)
            times = [message.timestamp()[1] for message in messages]
            first, last = min([first, *times]), max([last, *times])
            total += sum(zlib.crc32(message.value() or b"") for message in messages)
            count += len(messages)
            left -= len(messages)
        consumer.close()
        return (last - first) / 1000, count, total

    def measure(self, job: str, system: str, source: str) -> tuple[float, tuple[int, int]]:
        """Runs a job; returns its seconds, and its results for comparison."""
        target = self.topic()
        if system == "penstock":
            run_penstock(job, self.servers, source, target, self.partitions)
        else:
            run_by_hand(job, self.servers, source, target, self.ends(source))
        seconds, count, total = self.read(target)
        for deleted in self._admin.delete_topics([target]).values():
            deleted.result(30)
        return seconds, (count, total)


def compare(bench: Bench, job: str, records: int, repeats: int) -> dict[str, Any]:
    """Measures both systems in turn."""
    small, source = bench.fill(records // 20), bench.fill(records)
    seconds: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for system in SYSTEMS:
        bench.measure(job, system, small)
    for _ in range(repeats):
        results = []
        for system in SYSTEMS:
            taken, result = bench.measure(job, system, source)
            seconds[system].append(taken)
            results.append(result)
            print(f"{job:14} {system:12} {records / taken:12,.0f} records/s", flush=True)
        if results[0] != results[1] or results[0][0] != records:
            message = f"{job}: the results differ: {dict(zip(SYSTEMS, results, strict=True))}"
            raise RuntimeError(message)
    ratios = [hand / mine for hand, mine in zip(seconds["handwritten"], seconds["penstock"], strict=True)]
    ratio = statistics.median(ratios)
    print(f"{job}: penstock reaches {ratio:.2f} of the hand-written program (goal {GOAL}); results equal", flush=True)
    return {"job": job, "records": records, "seconds": seconds, "ratio": ratio}


def main(arguments: list[str] | None = None) -> int:
    """Measures as the command line says and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kafka", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--job", choices=JOBS, action="append")
    parser.add_argument("--output", type=Path, default=_HISTORY / f"{datetime.now(UTC):%Y-%m-%d}-kafka.json")
    options = parser.parse_args(arguments)
    server = KafkaServer(jars_of("org.apache.kafka", "kafka_2.13", VERSION))
    try:
        server.start()
        bench = Bench(server.address, options.parallelism)
        jobs = [compare(bench, job, options.records, options.repeats) for job in options.job or JOBS]
    finally:
        server.close()
        StreamExecutionEnvironment.get_execution_environment().close()
    document = {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": report.commit(),
        "machine": report.machine(),
        "record bytes": RECORD_SIZE,
        "parallelism": options.parallelism,
        "jobs": jobs,
        "goal": GOAL,
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written: {options.output}")
    return 0 if all(job["ratio"] >= GOAL for job in jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
