"""The source of Kafka's partitions, and its builder."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.kafka.client import client_settings, import_kafka_client
from penstock.connectors.kafka.cluster import Cluster
from penstock.connectors.kafka.deserialization import KafkaRecordDeserializationSchema, MessageDecoder
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.subscription import Subscription
from penstock.errors import ExternalSystemError, ProgramError
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.connectors.kafka.subscription import KafkaTopicPartition
    from penstock.vocabulary.sources.protocol import MalformedRecord
    from penstock.vocabulary.types.serialization import DeserializationSchema

__all__ = ["KafkaSource", "KafkaSourceBuilder", "PartitionSplit", "SourceOptions"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

_RESETS = {
    KafkaOffsetResetStrategy.EARLIEST: "earliest",
    KafkaOffsetResetStrategy.LATEST: "latest",
    KafkaOffsetResetStrategy.NONE: "error",
}


@dataclass(frozen=True)
class PartitionSplit:
    """What a split is: a partition and the offsets to read, worked out when the job first started."""

    partition: KafkaTopicPartition
    start: int
    stop: int | None


@dataclass(frozen=True)
class SourceOptions:
    """What the builder has gathered."""

    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None
    schema: KafkaRecordDeserializationSchema[Any]
    properties: Mapping[str, Any] = field(repr=False)
    is_bounded: bool = False
    discovery_interval: int | None = None
    commits_offsets: bool = True
    auto_commit_interval: int | None = None
    """How often, in milliseconds, a job without checkpoints tells the consumer group how far it is."""
    client_id_prefix: str | None = None
    malformed: OutputTag[MalformedRecord] | None = None
    """The side output for what cannot be read."""
    keeps_foreign_splits: bool = True
    """Whether restored partitions are read that the subscription does not have any more."""


class KafkaSource(Source[T]):
    """Reads topics of Kafka, each partition in its order; ``KafkaSource.builder()`` makes one.

    The job goes on from the offsets in its checkpoints. They are committed to the consumer group as well, for others to
    see how far the job is.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._id = uuid.uuid4().hex
        self.boundedness = Boundedness.BOUNDED if options.is_bounded else Boundedness.CONTINUOUS_UNBOUNDED
        self.discovery_interval = options.discovery_interval

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Start making a source."""
        return KafkaSourceBuilder()

    def create_splits(self, parallelism: int) -> Sequence[SourceSplit]:
        """Return one split per partition, with the offsets where it starts and stops."""
        options = self._options
        with Cluster(self._consumer_settings()) as cluster:
            partitions = options.subscription.select(cluster.partitions())
            starts = options.starting.resolve(partitions, cluster)
            stops = {} if options.stopping is None else options.stopping.resolve(partitions, cluster)
        return [_split(partition, starts[partition], stops.get(partition)) for partition in partitions]

    def discover_splits(self, known: Sequence[SourceSplit]) -> Sequence[SourceSplit]:
        """Return partitions that have come since; they are read from their beginning."""
        if self.boundedness is Boundedness.BOUNDED:
            return ()  # what there was at the start is all
        names = {split.id for split in known}
        options = self._options
        try:
            with Cluster(self._consumer_settings(), attempts=1) as cluster:
                found = options.subscription.select(cluster.partitions())
                new = [partition for partition in found if str(partition) not in names]
                starts = cluster.beginnings(new)
                stops = {} if options.stopping is None else options.stopping.resolve(new, cluster)
        except ExternalSystemError as error:
            _log.warning("New partitions of %s are looked for later: %s", options.subscription, error)
            return ()
        return [_split(partition, starts[partition], stops.get(partition)) for partition in new]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[T]:
        """Start reading a partition, with the consumer of its subtask."""
        # What runs in subtasks only is not loaded by the program.
        from penstock.connectors.kafka.fetcher import Fetcher
        from penstock.connectors.kafka.reader import FinishedReader, PartitionReader

        detail: PartitionSplit = split.detail
        options = self._options
        if not options.keeps_foreign_splits and not options.subscription.reads(detail.partition):
            return FinishedReader(position)
        fetcher = context.shared.get(self._id)
        if fetcher is None:
            fetcher = context.shared[self._id] = Fetcher(self._reader_settings(context.subtask), context.wake_up)
        return PartitionReader(
            detail.partition,
            detail.start if position is None else position,
            detail.stop,
            fetcher=fetcher,
            decoder=MessageDecoder(options.schema),
            context=context,
            malformed=options.malformed,
            commits=options.commits_offsets,
            auto_commit_interval=options.auto_commit_interval,
        )

    def _consumer_settings(self) -> dict[str, Any]:
        settings = {
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            # A full queue is looked at again soon; a second, as by itself, is long when records flow.
            "fetch.queue.backoff.ms": 10,
            **client_settings(self._options.properties),
        }
        settings.setdefault("group.id", f"penstock-{self._id}")
        settings["auto.offset.reset"] = _RESETS[self._options.starting.reset]
        return settings

    def _reader_settings(self, subtask: int) -> dict[str, Any]:
        settings = self._consumer_settings()
        settings["enable.partition.eof"] = self._options.stopping is not None
        if self._options.client_id_prefix is not None:
            settings["client.id"] = f"{self._options.client_id_prefix}-{subtask}"
        return settings


def _split(partition: KafkaTopicPartition, start: int, stop: int | None) -> SourceSplit:
    return SourceSplit(str(partition), PartitionSplit(partition, start, stop))


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
