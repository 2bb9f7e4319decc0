"""Partitions, and which of them a source reads: named ones, or those of topics by their names or a pattern of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["KafkaTopicPartition", "Subscription"]


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """A topic and the number of one of its partitions."""

    topic: str
    partition: int

    def __post_init__(self) -> None:
        if not self.topic or self.partition < 0:
            message = f"KafkaTopicPartition({self.topic!r}, {self.partition}): a name and a number from 0 are needed."
            raise ProgramError(message)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class Subscription:
    """One of three ways to say what is read; the other two are ``None``."""

    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    partitions: frozenset[KafkaTopicPartition] | None = None

    def reads(self, partition: KafkaTopicPartition) -> bool:
        """Tell whether a partition belongs to it."""
        if self.topics is not None:
            return partition.topic in self.topics
        if self.pattern is not None:
            return re.fullmatch(self.pattern, partition.topic) is not None
        return partition in (self.partitions or ())

    def select(self, existing: Mapping[str, Sequence[KafkaTopicPartition]]) -> list[KafkaTopicPartition]:
        """Return those of the existing partitions that belong to it, in order.

        Raises:
            ProgramError: A topic or partition that was named does not exist.
        """
        found = sorted(each for partitions in existing.values() for each in partitions if self.reads(each))
        missing: list[str] = [topic for topic in self.topics or () if topic not in existing]
        missing += [str(each) for each in sorted(self.partitions or ()) if each not in found]
        if missing:
            message = f"Kafka has no {', '.join(missing)}. Create the topic first, or correct its name."
            raise ProgramError(message)
        return found

    def __str__(self) -> str:
        if self.topics is not None:
            return ", ".join(self.topics)
        return self.pattern if self.pattern is not None else ", ".join(map(str, sorted(self.partitions or ())))
