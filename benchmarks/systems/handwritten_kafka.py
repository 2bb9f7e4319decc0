"""The limit for Kafka: confluent-kafka and plain processes, written for exactly one job."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from benchmarks.systems.handwritten import Inbox, Outbox

BATCH = 4_000
_forking = multiprocessing.get_context("fork")


def pass_through(servers: str, source: str, target: str, ends: dict[int, int]) -> None:
    """Copies a topic, one process per partition."""
    _run([partial(_copy, servers, source, target, partition, end) for partition, end in ends.items()])


def keyed_count(servers: str, source: str, target: str, ends: dict[int, int], key_size: int) -> None:
    """Writes a running count per key: one reader per partition, as many counters."""
    grid = [[_forking.Pipe(duplex=False) for _ in ends] for _ in ends]
    tasks: list[Callable[[], None]] = []
    for row, (partition, end) in zip(grid, ends.items(), strict=True):
        outbox = Outbox([writer for _, writer in row])
        tasks.append(partial(_distribute, servers, source, partition, end, key_size, outbox, len(grid)))
    for number in range(len(grid)):
        tasks.append(partial(_count, servers, target, [row[number][0] for row in grid]))
    _run(tasks)


def _run(tasks: list[Callable[[], None]]) -> None:
    processes = [_forking.Process(target=task, daemon=True) for task in tasks]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            message = f"a process of the hand-written program ended with code {process.exitcode}"
            raise RuntimeError(message)


def _consumer(servers: str, topic: str, partition: int) -> Consumer:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "by-hand", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    return consumer


def _copy(servers: str, source: str, target: str, partition: int, end: int) -> None:
    consumer = _consumer(servers, source, partition)
    producer = Producer({"bootstrap.servers": servers})
    left = end
    while left:
        messages = consumer.consume(min(BATCH, left), 0.05)
        for message in messages:
            _produce(producer, target, message.value())
        producer.poll(0)
        left -= len(messages)
    producer.flush()
    consumer.close()


def _distribute(
    servers: str, source: str, partition: int, end: int, key_size: int, outbox: Outbox, targets: int
) -> None:
    consumer = _consumer(servers, source, partition)
    buffers: list[list[bytes]] = [[] for _ in range(targets)]
    left = end
    while left:
        messages = consumer.consume(min(BATCH, left), 0.05)
        for message in messages:
            key = message.value()[:key_size]
            buffers[int(key) % targets].append(key)
        for target, buffer in enumerate(buffers):
            if len(buffer) >= BATCH:
                outbox.send(target, buffer)
                buffers[target] = []
        left -= len(messages)
    for target, buffer in enumerate(buffers):
        outbox.send(target, buffer)
    outbox.close()
    consumer.close()


def _count(servers: str, target: str, pipes: list[Any]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    counts: dict[bytes, int] = {}
    for _, keys in Inbox(pipes):
        for key in keys:
            count = counts[key] = counts.get(key, 0) + 1
            _produce(producer, target, b"%s %d" % (key, count))
        producer.poll(0)
    producer.flush()


def _produce(producer: Producer, topic: str, value: bytes | None) -> None:
    while True:
        try:
            producer.produce(topic, value)
        except BufferError:
            producer.poll(0.05)
        else:
            return
