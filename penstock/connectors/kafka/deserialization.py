"""From the messages of Kafka to the records of a stream."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.types.serialization import ByteArraySchema, DeserializationSchema, SimpleStringSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.types.type_info import TypeInformation

__all__ = [
    "JSONKeyValueDeserializationSchema",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "MessageDecoder",
    "record_of",
]

T = TypeVar("T")


class KafkaRecord(NamedTuple):
    """A message as it lies in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    """In milliseconds: when it was made, or when the broker got it, as the topic is set up."""
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


class KafkaRecordDeserializationSchema(ABC, Generic[T]):
    """Turns a message, with its key, headers, timestamp and place, into a record.

    Example:
        >>> class Keyed(KafkaRecordDeserializationSchema):
        ...     def deserialize(self, record):
        ...         return record.key, record.value
    """

    @abstractmethod
    def deserialize(self, record: KafkaRecord) -> T | None:
        """Return the record of a message; ``None`` leaves the message out."""

    def is_end_of_stream(self, next_element: T) -> bool:
        """Tell whether the partition ends before this record; it does not unless a schema says so."""
        return False

    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
        return Types.PICKLED_BYTE_ARRAY()

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema[T]) -> KafkaRecordDeserializationSchema[T]:
        """Return a schema that looks at the value only."""
        return _ValueOnly(deserialization_schema)


class _ValueOnly(KafkaRecordDeserializationSchema[T]):
    def __init__(self, schema: DeserializationSchema[T]) -> None:
        require_instance(schema, DeserializationSchema, "A deserializer of values must be a DeserializationSchema.")
        self.schema = schema

    def deserialize(self, record: KafkaRecord) -> T | None:
        return self.schema.deserialize(record.value)  # type: ignore[arg-type] # schemas may know what no value means

    def is_end_of_stream(self, next_element: T) -> bool:
        return self.schema.is_end_of_stream(next_element)

    def get_produced_type(self) -> TypeInformation:
        return self.schema.get_produced_type()


class JSONKeyValueDeserializationSchema(KafkaRecordDeserializationSchema[dict[str, Any]]):
    """Reads key and value as JSON: ``{"key": ..., "value": ...}``, each only where the message has it.

    Args:
        include_metadata: Add ``"metadata": {"offset": ..., "topic": ..., "partition": ...}``.
    """

    def __init__(self, include_metadata: bool) -> None:  # noqa: FBT001 - Flink's signature
        self._include_metadata = include_metadata

    def deserialize(self, record: KafkaRecord) -> dict[str, Any]:
        """Return the message as a dict."""
        found: dict[str, Any] = {}
        if record.key is not None:
            found["key"] = json.loads(record.key)
        if record.value is not None:
            found["value"] = json.loads(record.value)
        if self._include_metadata:
            found["metadata"] = {"offset": record.offset, "topic": record.topic, "partition": record.partition}
        return found


class MessageDecoder:
    """Turns runs of the client library's messages into records, by a schema.

    Attributes:
        ends_streams: Whether the schema has an opinion about where a stream ends.
        leaves_out: Whether the schema may leave messages out.
    """

    def __init__(self, schema: KafkaRecordDeserializationSchema[Any]) -> None:
        self._schema = schema
        inner = schema.schema if isinstance(schema, _ValueOnly) else schema
        self.ends_streams = not (
            _is_inherited(inner, "is_end_of_stream", DeserializationSchema)
            or _is_inherited(inner, "is_end_of_stream", KafkaRecordDeserializationSchema)
        )
        self.is_end_of_stream: Callable[[Any], bool] = inner.is_end_of_stream
        self.leaves_out = True
        self.decode: Callable[[list[Any]], list[Any]]
        if type(inner) is ByteArraySchema:
            self.leaves_out = False
            self.decode = _bytes_of
        elif type(inner) is SimpleStringSchema:
            self.leaves_out = False
            charset = inner._charset
            self.decode = lambda messages: [message.value().decode(charset) for message in messages]
        elif isinstance(schema, _ValueOnly):
            deserialize = schema.schema.deserialize
            self.decode = lambda messages: [deserialize(message.value()) for message in messages]
        else:
            from_record = schema.deserialize
            self.decode = lambda messages: [from_record(record_of(message)) for message in messages]


def record_of(message: Any) -> KafkaRecord:
    """Return a message of the client library as a record of Kafka."""
    return KafkaRecord(
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        message.headers() or [],
    )


def _bytes_of(messages: list[Any]) -> list[bytes]:
    values = [message.value() for message in messages]
    if None in values:
        message = "the message has no value"
        raise ValueError(message)
    return values


def _is_inherited(schema: Any, method: str, origin: type) -> bool:
    return getattr(type(schema), method, None) is getattr(origin, method)
