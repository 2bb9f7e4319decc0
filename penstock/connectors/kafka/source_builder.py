"""Makes a Kafka source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.client import client_settings, import_kafka_client
from penstock.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
from penstock.connectors.kafka.source import KafkaSource, SourceOptions
from penstock.connectors.kafka.subscription import Subscription
from penstock.errors import ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.program_checks import require_instance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.connectors.kafka.subscription import KafkaTopicPartition
    from penstock.vocabulary.sources.protocol import MalformedRecord
    from penstock.vocabulary.types.serialization import DeserializationSchema

__all__ = ["KafkaSourceBuilder"]

_DISCOVERY = ("partition.discovery.interval.ms", "flink.partition-discovery.interval-millis")
_DISCOVERY_INTERVAL = 300_000


class KafkaSourceBuilder:
    """Gathers what a Kafka source needs: brokers, what to read, from where, and how to turn bytes into records."""

    def __init__(self) -> None:
        self._properties: dict[str, Any] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False
        self._schema: KafkaRecordDeserializationSchema[Any] | None = None
        self._client_id_prefix: str | None = None
        self._malformed: OutputTag[MalformedRecord] | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Set the addresses of some brokers, as ``host:port``, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group that offsets are committed to; without one they are not committed."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read all partitions of these topics."""
        return self._subscribe(Subscription(topics=topics))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression."""
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions."""
        return self._subscribe(Subscription(partitions=frozenset(partitions)))

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Say where to start where there is no checkpoint; by itself with the oldest records."""
        self._starting = starting_offsets_initializer
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Say where to stop, and be an unbounded source nevertheless."""
        self._stopping = stopping_offsets_initializer
        self._is_bounded = False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Say where to stop, and be a bounded source."""
        self._stopping = stopping_offsets_initializer
        self._is_bounded = True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[Any]) -> KafkaSourceBuilder:
        """Turn the value of each message into a record."""
        self._schema = KafkaRecordDeserializationSchema.value_only(deserialization_schema)
        return self

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializationSchema[Any]) -> KafkaSourceBuilder:
        """Turn each message, with its key, headers, timestamp and place, into a record."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            message = (
                f"set_deserializer() needs a KafkaRecordDeserializationSchema, not {record_deserializer!r:.60}; "
                "for a DeserializationSchema use set_value_only_deserializer()."
            )
            raise ProgramError(message)
        self._schema = record_deserializer
        return self

    def set_malformed_records_to(self, output_tag: OutputTag[MalformedRecord]) -> KafkaSourceBuilder:
        """Send messages that cannot be turned into records to a side output, as ``MalformedRecord``, and go on.

        Without it such a message fails the job.
        """
        require_instance(output_tag, OutputTag, "set_malformed_records_to() needs an OutputTag('malformed').")
        self._malformed = output_tag
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set what the client ids of the consumers begin with; the number of the subtask follows."""
        self._client_id_prefix = prefix
        return self

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """Set a property of the consumers, or of this source (``partition.discovery.interval.ms``, ...)."""
        self._properties[key] = value
        return self

    def set_properties(self, props: dict[str, Any]) -> KafkaSourceBuilder:
        """Set several properties."""
        self._properties.update(props)
        return self

    def build(self) -> KafkaSource[Any]:
        """Return the source.

        Raises:
            ProgramError: Something is missing, or a property is unknown.
        """
        return KafkaSource(self._options())

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            message = f"The source reads {self._subscription} already; set topics, a pattern or partitions, once."
            raise ProgramError(message)
        self._subscription = subscription
        return self

    def _options(self) -> SourceOptions:
        properties = dict(self._properties)
        self._require("bootstrap.servers" in properties, "brokers: set_bootstrap_servers('host:9092')")
        self._require(self._schema is not None, "a schema: set_value_only_deserializer(SimpleStringSchema())")
        self._require(self._subscription is not None, "something to read: set_topics('name')")
        assert self._subscription is not None
        assert self._schema is not None
        self._require(
            bool(self._subscription.topics or self._subscription.pattern or self._subscription.partitions),
            "something to read: the list is empty",
        )
        intervals = [int(value) for key in _DISCOVERY if (value := properties.pop(key, None)) is not None]
        # A source that is to stop somewhere does not wait for more partitions, unless it is told to.
        interval = intervals[0] if intervals else _DISCOVERY_INTERVAL if self._stopping is None else 0
        commits = _is_true(properties.pop("commit.offsets.on.checkpoint", "true")) and "group.id" in properties
        auto_commits = _is_true(properties.pop("enable.auto.commit", "false")) and "group.id" in properties
        auto_interval = int(properties.pop("auto.commit.interval.ms", 5000))
        prefix = properties.pop("client.id.prefix", self._client_id_prefix)
        _check_settings(properties)
        can_grow = not self._is_bounded and self._subscription.partitions is None
        return SourceOptions(
            subscription=self._subscription,
            starting=self._starting,
            stopping=self._stopping,
            schema=self._schema,
            properties=properties,
            is_bounded=self._is_bounded,
            discovery_interval=interval if interval > 0 and can_grow else None,
            commits_offsets=commits,
            auto_commit_interval=auto_interval if auto_commits else None,
            client_id_prefix=prefix,
            malformed=self._malformed,
        )

    @staticmethod
    def _require(condition: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
        if not condition:
            message = f"A Kafka source needs {what}."
            raise ProgramError(message)


def _is_true(value: Any) -> bool:
    return str(value).lower() == "true"


def _check_settings(properties: dict[str, Any]) -> None:
    """Let the client library look at the settings where the program is written, not later in a subtask."""
    kafka = import_kafka_client()
    try:
        # A producer knows all properties too, and is made and gone quicker than a consumer.
        kafka.Producer({**client_settings(properties), "log_level": 0})
    except kafka.KafkaException as error:
        message = f"Kafka's client does not take these properties: {error.args[0].str()}"
        raise ProgramError(message) from error
