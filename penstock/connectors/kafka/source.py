"""The source of Kafka's partitions."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.kafka.client import client_settings
from penstock.connectors.kafka.cluster import Cluster
from penstock.connectors.kafka.deserialization import MessageDecoder
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.connectors.kafka.deserialization import KafkaRecordDeserializationSchema
    from penstock.connectors.kafka.offsets import KafkaOffsetsInitializer
    from penstock.connectors.kafka.source_builder import KafkaSourceBuilder
    from penstock.connectors.kafka.subscription import KafkaTopicPartition, Subscription
    from penstock.vocabulary.functions.output_tag import OutputTag
    from penstock.vocabulary.sources.protocol import MalformedRecord

__all__ = ["KafkaSource", "PartitionSplit", "SourceOptions"]

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
        from penstock.connectors.kafka.source_builder import KafkaSourceBuilder

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
