"""Which transactional ids were ever used, so that no transaction of a dead process stays open.

A writer registers an id before it uses it, with the brokers: as the offset of a consumer group that nobody reads with.
Whoever starts after a failure, with or without a checkpoint, reads there which ids to close. The ids of each attempt
are new ones, so a writer that starts and a committer that finishes the work of a dead one never disturb each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.client import describe, is_temporary, library
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["GroupOffset", "IdRange", "IdRegistry", "close_transactions", "group_offset", "transactional_id"]

_REQUEST_SECONDS = 10.0
_SECONDS = 30.0
_ATTEMPTS = 60


def transactional_id(prefix: str, subtask: int, number: int) -> str:
    """Return the transactional id of a subtask with a number."""
    return f"{prefix}-{subtask}-{number}"


@dataclass(frozen=True)
class IdRange:
    """The ids of one subtask that may still be in use: from the first number, to before the second one."""

    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class GroupOffset:
    """What a consumer group has committed, for whichever partition."""

    topic: str
    offset: int
    metadata: str


def group_offset(
    admin: Any, group: str, wait: Callable[[float], Any], *, is_settled: bool = True
) -> GroupOffset | None:
    """Return the highest offset that a group has committed, and what was written beside it.

    Args:
        admin: The client to ask.
        group: The name of the group.
        wait: Waits for so many seconds.
        is_settled: Whether to wait for transactions that are being finished, which takes a moment; one that is open
            would be waited for in vain.
    """
    kafka = library()
    problem: Any = None
    for _ in range(_ATTEMPTS):
        asked = kafka.ConsumerGroupTopicPartitions(group)
        try:
            (answer,) = admin.list_consumer_group_offsets(
                [asked], require_stable=is_settled, request_timeout=_REQUEST_SECONDS
            ).values()
            found = answer.result(_SECONDS).topic_partitions
        except kafka.KafkaException as error:
            problem, found = error.args[0], []
        else:
            problem = next((each.error for each in found if each.error is not None), None)
        if problem is None:
            committed = [each for each in found if each.offset >= 0]
            highest = max(committed, key=lambda each: int(each.offset), default=None)
            return None if highest is None else GroupOffset(highest.topic, highest.offset, highest.metadata or "")
        if problem.code() == kafka.KafkaError.GROUP_ID_NOT_FOUND:
            return None
        if not is_temporary(problem):
            break
        wait(0.1)
    message = f"The group {group!r}, where transactions leave marks, cannot be read: {describe(problem)}."
    raise ExternalSystemError(message)


class IdRegistry:
    """Reads and writes the ids in use under one prefix.

    Args:
        admin: A client for questions.
        prefix: What all transactional ids of the sink begin with.
        wait: Waits for so many seconds.
    """

    def __init__(self, admin: Any, prefix: str, wait: Callable[[float], Any]) -> None:
        self._admin = admin
        self._prefix = prefix
        self._wait = wait

    def parallelism(self) -> int:
        """Return how many subtasks have ever used the prefix at the same time."""
        found = group_offset(self._admin, f"{self._prefix}-ids", self._wait)
        return 0 if found is None else found.offset

    def ids_of(self, subtask: int) -> IdRange:
        """Return the ids of a subtask that may be in use."""
        found = group_offset(self._admin, self._group(subtask), self._wait)
        return IdRange() if found is None else IdRange(int(found.metadata or 0), found.offset)

    def register(self, topic: str, subtask: int, ids: IdRange) -> None:
        """Write down, before they are used, that a subtask may use these ids; any topic that exists serves."""
        self._write(topic, self._group(subtask), ids.end, str(ids.start))

    def register_parallelism(self, topic: str, parallelism: int) -> None:
        """Write down that so many subtasks use the prefix."""
        self._write(topic, f"{self._prefix}-ids", parallelism, "")

    def _group(self, subtask: int) -> str:
        return f"{self._prefix}-ids-{subtask}"

    def _write(self, topic: str, group: str, offset: int, metadata: str) -> None:
        kafka = library()
        place = kafka.TopicPartition(topic, 0, offset, metadata=metadata)
        problem: Any = None
        for _ in range(_ATTEMPTS):
            asked = kafka.ConsumerGroupTopicPartitions(group, [place])
            try:
                (answer,) = self._admin.alter_consumer_group_offsets([asked], request_timeout=_REQUEST_SECONDS).values()
                errors = [each.error for each in answer.result(_SECONDS).topic_partitions]
            except kafka.KafkaException as error:
                errors = [error.args[0]]
            problem = next((error for error in errors if error is not None), None)
            if problem is None:
                return
            if not is_temporary(problem):
                break
            self._wait(0.1)
        message = f"The group {group!r}, which names open transactions, cannot be written: {describe(problem)}."
        raise ExternalSystemError(message)


def close_transactions(ids: Iterable[str], fence: Callable[[str], None]) -> None:
    """End whatever is open under these ids, whoever has opened it, several at a time."""
    # A program that writes no transactions need not load it.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=8) as threads:
        for done in [threads.submit(fence, each) for each in ids]:
            done.result()
