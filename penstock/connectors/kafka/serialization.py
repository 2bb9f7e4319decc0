"""From the records of a stream to messages of Kafka."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from penstock.connectors.kafka.message_run import KafkaProducerRecord, MessageRun
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.types.serialization import ByteArraySchema, SerializationSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FlinkFixedPartitioner",
    "FlinkKafkaPartitioner",
    "HeaderProvider",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaTopicSelector",
]

T = TypeVar("T")
_PartitionsOf = Callable[[str], "Sequence[int]"]


class KafkaTopicSelector(ABC):
    """Chooses the topic of each record."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """Return the topic of a record."""


class HeaderProvider(ABC, Generic[T]):
    """Makes the headers of each record."""

    @abstractmethod
    def get_headers(self, element: T) -> list[tuple[str, bytes]]:
        """Return the headers of a record."""


class FlinkKafkaPartitioner(ABC, Generic[T]):
    """Chooses the partition of each record."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Learn which subtask this is, of how many."""

    @abstractmethod
    def partition(
        self, record: T, key: bytes | None, value: bytes | None, target_topic: str, partitions: Sequence[int]
    ) -> int:
        """Return one of the partitions."""


class FlinkFixedPartitioner(FlinkKafkaPartitioner[Any]):
    """Writes all records of a subtask into one partition."""

    def open(self, parallel_instance_id: int, parallel_instances: int) -> None:
        """Remember the number of the subtask."""
        self._subtask = parallel_instance_id

    def partition(
        self, record: Any, key: bytes | None, value: bytes | None, target_topic: str, partitions: Sequence[int]
    ) -> int:
        """Return the partition of this subtask."""
        return partitions[self._subtask % len(partitions)]


class KafkaRecordSerializationSchema(ABC, Generic[T]):
    """Turns a record into a message; ``builder()`` makes one of parts, a subclass does it all by itself."""

    def open(self, subtask: int, parallelism: int, partitions_of: _PartitionsOf) -> None:
        """Learn which subtask this is and how to ask for the partitions of a topic; called before the first record."""

    @abstractmethod
    def serialize(self, element: T, timestamp: int | None) -> KafkaProducerRecord | None:
        """Return the message of a record, ``None`` to leave it out."""

    def serialize_run(self, elements: list[T], timestamps: list[int] | None) -> MessageRun | None:
        """Return the messages of a run of records."""
        serialize = self.serialize
        times: list[Any] = [None] * len(elements) if timestamps is None else timestamps
        made = [serialize(element, timestamp) for element, timestamp in zip(elements, times, strict=True)]
        records = [record for record in made if record is not None]
        return MessageRun.of(records) if records else None

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Start making a schema of parts: topic, key, value, partitioner, headers."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """Gathers the parts of messages: a topic and a value are needed, the rest is not."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._key: SerializationSchema[Any] | None = None
        self._value: SerializationSchema[Any] | None = None
        self._partitioner: FlinkKafkaPartitioner[Any] | None = None
        self._headers: HeaderProvider[Any] | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Write into one topic."""
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: KafkaTopicSelector | Callable[[Any], str]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the topic of each record, by a ``KafkaTopicSelector`` or a function."""
        self._topic = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Say how the key of a message is made of its record."""
        require_instance(key_serialization_schema, SerializationSchema, "Keys need a SerializationSchema.")
        self._key = key_serialization_schema
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[Any]
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Say how the value of a message is made of its record."""
        require_instance(value_serialization_schema, SerializationSchema, "Values need a SerializationSchema.")
        self._value = value_serialization_schema
        return self

    def set_partitioner(self, partitioner: FlinkKafkaPartitioner[Any]) -> KafkaRecordSerializationSchemaBuilder:
        """Choose the partition of each message; by itself the key decides."""
        require_instance(partitioner, FlinkKafkaPartitioner, "Partitions are chosen by a FlinkKafkaPartitioner.")
        self._partitioner = partitioner
        return self

    def set_header_provider(self, header_provider: HeaderProvider[Any]) -> KafkaRecordSerializationSchemaBuilder:
        """Say which headers each message has."""
        require_instance(header_provider, HeaderProvider, "Headers are made by a HeaderProvider.")
        self._headers = header_provider
        return self

    def build(self) -> KafkaRecordSerializationSchema[Any]:
        """Return the schema.

        Raises:
            ProgramError: There is no topic, or nothing that makes values.
        """
        if not self._topic or self._value is None:
            message = (
                "Messages of Kafka need a topic, by set_topic() or set_topic_selector(), "
                "and a value, by set_value_serialization_schema()."
            )
            raise ProgramError(message)
        return _SchemaOfParts(self._topic, self._key, self._value, self._partitioner, self._headers)


class _SchemaOfParts(KafkaRecordSerializationSchema[Any]):
    def __init__(
        self,
        topic: str | Callable[[Any], str],
        key: SerializationSchema[Any] | None,
        value: SerializationSchema[Any],
        partitioner: FlinkKafkaPartitioner[Any] | None,
        headers: HeaderProvider[Any] | None,
    ) -> None:
        self._topic = topic
        self._key = key
        self._value = value
        self._partitioner = partitioner
        self._headers = headers

    def open(self, subtask: int, parallelism: int, partitions_of: _PartitionsOf) -> None:
        self._partitions_of = partitions_of
        if self._partitioner is not None:
            self._partitioner.open(subtask, parallelism)

    def serialize(self, element: Any, timestamp: int | None) -> KafkaProducerRecord:
        run = self.serialize_run([element], None if timestamp is None else [timestamp])
        columns = (run.values, run.keys, run.headers, run.timestamps, run.partitions)
        return KafkaProducerRecord(run.first_topic, *(column and column[0] for column in columns))  # type: ignore[arg-type]

    def serialize_run(self, elements: list[Any], timestamps: list[int] | None) -> MessageRun:
        choose, value_schema, key_schema = self._topic, self._value, self._key
        topic = choose if isinstance(choose, str) else [choose(element) for element in elements]
        values: list[bytes | None] = _serialized(value_schema, elements)
        keys = None if key_schema is None else _serialized(key_schema, elements)
        provider = self._headers
        headers: list[list[tuple[str, bytes]] | None] | None = None
        if provider is not None:
            headers = [provider.get_headers(element) for element in elements]
        times: list[int | None] | None = None
        if timestamps:
            # Kafka knows no time before 1970.
            times = [time if time >= 0 else None for time in timestamps] if min(timestamps) < 0 else [*timestamps]
        partitions = None if self._partitioner is None else self._partitions(elements, topic, keys, values)
        return MessageRun(topic, values, keys, times, headers, partitions)

    def _partitions(
        self,
        elements: list[Any],
        topic: str | list[str],
        keys: list[bytes | None] | None,
        values: list[bytes | None],
    ) -> list[int | None]:
        assert self._partitioner is not None
        choose, partitions_of = self._partitioner.partition, self._partitions_of
        topics = [topic] * len(elements) if isinstance(topic, str) else topic
        rows = zip(elements, keys or [None] * len(elements), values, topics, strict=True)
        return [choose(element, key, value, name, partitions_of(name)) for element, key, value, name in rows]


def _serialized(schema: SerializationSchema[Any], elements: list[Any]) -> list[bytes | None]:
    if type(schema) is ByteArraySchema and all(type(element) is bytes for element in elements):
        return elements[:]
    serialize = schema.serialize
    return [serialize(element) for element in elements]
