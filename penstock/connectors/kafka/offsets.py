"""Where reading a partition starts or stops, said in a way that is worked out when the job starts."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.connectors.kafka.subscription import KafkaTopicPartition

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer", "PartitionOffsets"]


class KafkaOffsetResetStrategy(enum.Enum):
    """What to do for a partition that has no such offset."""

    LATEST = 0
    """Go on with what comes from now on."""
    EARLIEST = 1
    """Begin with the oldest record that is still there."""
    NONE = 2
    """Fail."""


class PartitionOffsets(Protocol):
    """Knows the offsets of partitions; the brokers do."""

    def beginnings(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return the offset of the oldest record of each."""

    def ends(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return the offset that the next record of each will have."""

    def at_time(self, partitions: Sequence[KafkaTopicPartition], timestamp: int) -> dict[KafkaTopicPartition, int]:
        """Return the offset of the first record of each with this timestamp or a later one, where there is one."""

    def committed(self, partitions: Sequence[KafkaTopicPartition]) -> dict[KafkaTopicPartition, int]:
        """Return what the consumer group has committed, where it has."""


class KafkaOffsetsInitializer(ABC):
    """Says where reading starts or stops, by one of its own methods."""

    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    """What happens where the offset is not there, or not any more."""

    @abstractmethod
    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        """Return the offset of each partition."""

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return the committed offsets of the consumer group; the strategy is for partitions that have none."""
        return _Committed(offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return the first record with this timestamp, in milliseconds, or a later one; the end if there is none."""
        return _AtTime(timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return the oldest record that is still there."""
        return _Earliest()

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return the end as it is when the job starts."""
        return _Latest()

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return these offsets; other partitions have the group's committed offset, or else what the strategy says."""
        return _Given(tuple(sorted(offsets.items())), offset_reset_strategy)


def _reset(
    partitions: Sequence[KafkaTopicPartition], strategy: KafkaOffsetResetStrategy, known: PartitionOffsets
) -> dict[KafkaTopicPartition, int]:
    if strategy is KafkaOffsetResetStrategy.EARLIEST:
        return known.beginnings(partitions)
    if strategy is KafkaOffsetResetStrategy.LATEST:
        return known.ends(partitions)
    if partitions:
        names = ", ".join(map(str, partitions))
        message = (
            f"The consumer group has no committed offset for {names}. "
            "Choose a KafkaOffsetResetStrategy (EARLIEST or LATEST), or set_starting_offsets to something else."
        )
        raise ProgramError(message)
    return {}


@dataclass(frozen=True)
class _Committed(KafkaOffsetsInitializer):
    reset: KafkaOffsetResetStrategy

    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        found = known.committed(partitions)
        rest = [partition for partition in partitions if partition not in found]
        return {**found, **_reset(rest, self.reset, known)}


@dataclass(frozen=True)
class _AtTime(KafkaOffsetsInitializer):
    time: int
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.LATEST

    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        found = known.at_time(partitions, self.time)
        rest = [partition for partition in partitions if partition not in found]
        return {**found, **known.ends(rest)}


@dataclass(frozen=True)
class _Earliest(KafkaOffsetsInitializer):
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST

    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        return known.beginnings(partitions)


@dataclass(frozen=True)
class _Latest(KafkaOffsetsInitializer):
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.LATEST

    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        return known.ends(partitions)


@dataclass(frozen=True)
class _Given(KafkaOffsetsInitializer):
    given: tuple[tuple[KafkaTopicPartition, int], ...]
    reset: KafkaOffsetResetStrategy

    def resolve(
        self, partitions: Sequence[KafkaTopicPartition], known: PartitionOffsets
    ) -> dict[KafkaTopicPartition, int]:
        given = dict(self.given)
        rest = [partition for partition in partitions if partition not in given]
        committed = known.committed(rest) if rest else {}
        unknown = [partition for partition in rest if partition not in committed]
        found = {partition: given[partition] for partition in partitions if partition in given}
        return {**found, **committed, **_reset(unknown, self.reset, known)}
