"""A run of messages to be sent, by columns: small to keep, small to store, quick to send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.connectors.kafka.client import import_kafka_client

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["KafkaProducerRecord", "MessageRun", "send"]

_QUEUE_SECONDS = 0.05
_BATCH = 1000


class KafkaProducerRecord(NamedTuple):
    """A message that a sink writes."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    headers: list[tuple[str, bytes]] | None = None
    timestamp: int | None = None
    """In milliseconds; by itself the time when it is sent."""
    partition: int | None = None
    """By itself chosen by the key, or at random if there is none."""


class MessageRun(NamedTuple):
    """Messages by columns; a column that no message has is ``None``, and so is what a message does not have in one."""

    topic: str | list[str]
    """One for all, or one for each."""
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    timestamps: list[int | None] | None = None
    headers: list[list[tuple[str, bytes]] | None] | None = None
    partitions: list[int | None] | None = None

    @property
    def first_topic(self) -> str:
        """Return the topic of the first message."""
        return self.topic if isinstance(self.topic, str) else self.topic[0]

    @staticmethod
    def of(records: list[KafkaProducerRecord]) -> MessageRun:
        """Return a run of messages that are there one by one."""
        topics = [record.topic for record in records]
        columns: list[list[Any] | None] = [
            [getattr(record, name) for record in records] for name in ("key", "timestamp", "headers", "partition")
        ]
        for index, column in enumerate(columns):
            if column is not None and all(entry is None for entry in column):
                columns[index] = None
        topic: str | list[str] = topics[0] if len(set(topics)) == 1 else topics
        return MessageRun(topic, [record.value for record in records], *columns)


def send(producer: Any, run: MessageRun, room: int) -> None:
    """Hand a run to a producer; wait where its queue, which has room for so many messages, is full."""
    if (
        isinstance(run.topic, str)
        and run.timestamps is None
        and run.headers is None
        and hasattr(producer, "produce_batch")
    ):
        _send_batches(producer, run, room)
    elif isinstance(run.topic, str) and run.headers is None and run.partitions is None:
        _send_timed(producer, run.topic, run)
    else:
        _send_any(producer, run)
    producer.poll(0)


def _send_batches(producer: Any, run: MessageRun, room: int) -> None:
    """Send without timestamps and headers, which the client library's quick way does not know."""
    messages: list[dict[str, Any]] = [{"value": value} for value in run.values]
    for name, column in (("key", run.keys), ("partition", run.partitions)):
        if column is not None:
            for message, entry in zip(messages, column, strict=True):
                if entry is not None:
                    message[name] = entry
    size = min(_BATCH, room)
    for start in range(0, len(messages), size):
        batch = messages[start : start + size]
        # What finds no room would have to be sent again after others, so room is made first.
        while len(producer) > room - len(batch):
            producer.poll(_QUEUE_SECONDS)
        if producer.produce_batch(run.topic, batch) != len(batch):
            error = next(message["_error"] for message in batch if "_error" in message)
            raise import_kafka_client().KafkaException(error)


def _send_timed(producer: Any, topic: str, run: MessageRun) -> None:
    produce = producer.produce
    count = len(run.values)
    keys = run.keys or [None] * count
    timestamps = run.timestamps or [0] * count  # 0 is now
    for value, key, timestamp in zip(run.values, keys, timestamps, strict=True):
        while True:
            try:
                produce(topic, value, key, timestamp=timestamp or 0)
                break
            except BufferError:
                producer.poll(_QUEUE_SECONDS)


def _send_any(producer: Any, run: MessageRun) -> None:
    for topic, value, options in _messages(run):
        while True:
            try:
                producer.produce(topic, value, **options)
                break
            except BufferError:
                producer.poll(_QUEUE_SECONDS)


def _messages(run: MessageRun) -> Iterator[tuple[str, bytes | None, dict[str, Any]]]:
    columns = {"key": run.keys, "timestamp": run.timestamps, "headers": run.headers, "partition": run.partitions}
    filled = {name: column for name, column in columns.items() if column is not None}
    for index, value in enumerate(run.values):
        options = {name: column[index] for name, column in filled.items() if column[index] is not None}
        yield run.topic if isinstance(run.topic, str) else run.topic[index], value, options
