"""Questions to the brokers, asked by the driver: which partitions there are and which offsets they have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.kafka.client import describe, import_kafka_client, is_temporary
from penstock.connectors.kafka.subscription import KafkaTopicPartition
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

__all__ = ["Cluster"]

T = TypeVar("T")

_INTERNAL_TOPICS = {"__consumer_offsets", "__transaction_state"}
_SECONDS = 10.0
_ATTEMPTS = 6


class Cluster:
    """A consumer that reads nothing; to be used in a ``with`` block.

    Args:
        settings: Of the consumer; its ``group.id`` is the group whose committed offsets are asked for.
        attempts: How many times ten seconds to wait for brokers that do not answer.
    """

    def __init__(self, settings: Mapping[str, Any], *, attempts: int = _ATTEMPTS) -> None:
        self._address = settings.get("bootstrap.servers", "")
        self._consumer = import_kafka_client().Consumer({**settings, "enable.auto.commit": False})
        self._attempts = attempts

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def partitions(self) -> dict[str, list[KafkaTopicPartition]]:
        """Return the partitions of every topic that the brokers tell about, without their own."""
        topics = self._ask(lambda: self._consumer.list_topics(timeout=_SECONDS)).topics
        return {
            name: [KafkaTopicPartition(name, number) for number in sorted(topic.partitions)]
            for name, topic in topics.items()
            if name not in _INTERNAL_TOPICS and topic.error is None
        }

    def beginnings(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return the offset of the oldest record of each."""
        return {partition: self._watermarks(partition)[0] for partition in partitions}

    def ends(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return the offset that the next record of each will have, as far as this consumer may read."""
        return {partition: self._watermarks(partition)[1] for partition in partitions}

    def at_time(self, partitions: Sequence[KafkaTopicPartition], timestamp: int) -> dict[KafkaTopicPartition, int]:
        """Return the offset of the first record of each with this timestamp or a later one, where there is one."""
        asked = [self._place(partition, timestamp) for partition in partitions]
        return self._found(lambda: self._consumer.offsets_for_times(asked, timeout=_SECONDS) if asked else [])

    def committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return what the consumer group has committed, where it has."""
        asked = [self._place(partition) for partition in partitions]
        return self._found(lambda: self._consumer.committed(asked, timeout=_SECONDS) if asked else [])

    def _found(self, ask: Callable[[], list[Any]]) -> dict[KafkaTopicPartition, int]:
        def checked() -> list[Any]:
            answers = ask()
            for answer in answers:
                if answer.error is not None:
                    raise import_kafka_client().KafkaException(answer.error)
            return answers

        answers = self._ask(checked)
        return {KafkaTopicPartition(each.topic, each.partition): each.offset for each in answers if each.offset >= 0}

    def _watermarks(self, partition: KafkaTopicPartition) -> tuple[int, int]:
        place = self._place(partition)
        low, high = self._ask(lambda: self._consumer.get_watermark_offsets(place, timeout=_SECONDS))
        return low, high

    @staticmethod
    def _place(partition: KafkaTopicPartition, offset: int | None = None) -> Any:
        if offset is None:
            return import_kafka_client().TopicPartition(partition.topic, partition.partition)
        return import_kafka_client().TopicPartition(partition.topic, partition.partition, offset)

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask until there is an answer, because brokers may be starting, or changing their leaders."""
        exception = import_kafka_client().KafkaException
        for attempt in range(1, self._attempts + 1):
            try:
                return question()
            except exception as error:
                problem = error.args[0]
                if not is_temporary(problem) or attempt == self._attempts:
                    message = (
                        f"Kafka at {self._address!r} cannot be asked: {describe(problem)}. "
                        "See whether the brokers run, and whether bootstrap.servers and security settings are right."
                    )
                    raise ExternalSystemError(message) from error
        raise AssertionError  # the last attempt has returned or raised
