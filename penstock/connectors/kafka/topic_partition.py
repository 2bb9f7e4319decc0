"""One partition of a topic."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import ProgramError

__all__ = ["KafkaTopicPartition"]


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
