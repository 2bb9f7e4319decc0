"""Which transactional ids were ever used, so that no transaction of a dead process stays open.

A writer registers an id before it uses it, with the brokers: as the offset of a consumer group that nobody reads with.
Whoever starts after a failure, with or without a checkpoint, reads there which ids to close. The ids of each attempt
are new ones, so a writer that starts and a committer that finishes the work of a dead one never disturb each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.broker_wait import BrokerWait
from penstock.connectors.kafka.client import (
    connection_settings,
    describe,
    import_kafka_admin,
    import_kafka_client,
    is_temporary,
)
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["GroupOffset", "IdRange", "IdRegistry", "close_transactions", "group_offset", "transactional_id"]

_REQUEST_SECONDS = 5.0
_SECONDS = 30.0
_LIMIT_SECONDS = 300.0
_PLACE = "__consumer_offsets"
"""The topic that offsets are committed for which mean ids: one that every cluster has, as soon as a group is used."""
_CUT_OFF = {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REQUEST_TIMED_OUT"}
_NOTHING_THERE = {"GROUP_ID_NOT_FOUND", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}


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
    settings: Mapping[str, Any], group: str, topic: str, wait: Callable[[float], Any], *, is_settled: bool = True
) -> GroupOffset | None:
    """Return the offset that a group has committed for partition 0 of a topic, and what was written beside it.

    A consumer is asked, because the client library crashes if an admin client is answered that the coordinator is busy.

    Args:
        settings: How to reach the brokers.
        group: The name of the group.
        topic: The topic.
        wait: Waits for so many seconds.
        is_settled: Whether to wait for transactions that are being finished, which takes a moment; one that is open
            would be waited for in vain.
    """
    kafka = import_kafka_client()
    isolation = "read_committed" if is_settled else "read_uncommitted"
    consumer = kafka.Consumer({**connection_settings(settings), "group.id": group, "isolation.level": isolation})
    problem: Any = None
    try:
        limit = BrokerWait(f"what the group {group!r} has committed", _LIMIT_SECONDS)
        while True:
            try:
                (found,) = consumer.committed([kafka.TopicPartition(topic, 0)], timeout=_REQUEST_SECONDS)
                problem = found.error
            except kafka.KafkaException as error:
                problem = error.args[0]
            if problem is None:
                return None if found.offset < 0 else GroupOffset(topic, found.offset, found.metadata or "")
            if problem.name() in _NOTHING_THERE:
                return None
            if not is_temporary(problem):
                break
            limit.again(problem)
            wait(0.1)
    finally:
        consumer.close()
    message = f"The group {group!r}, where transactions leave marks, cannot be read: {describe(problem)}."
    raise ExternalSystemError(message)


class IdRegistry:
    """Reads and writes the ids in use under one prefix.

    Args:
        settings: How to reach the brokers.
        prefix: What all transactional ids of the sink begin with.
        wait: Waits for so many seconds.
    """

    def __init__(self, settings: Mapping[str, Any], prefix: str, wait: Callable[[float], Any]) -> None:
        self._settings = settings
        self._admin = import_kafka_admin().AdminClient(connection_settings(settings))
        self._prefix = prefix
        self._wait = wait

    def parallelism(self) -> int:
        """Return how many subtasks have ever used the prefix at the same time."""
        found = group_offset(self._settings, f"{self._prefix}-ids", _PLACE, self._wait)
        return 0 if found is None else found.offset

    def ids_of(self, subtask: int) -> IdRange:
        """Return the ids of a subtask that may be in use."""
        found = group_offset(self._settings, self._group(subtask), _PLACE, self._wait)
        return IdRange() if found is None else IdRange(int(found.metadata or 0), found.offset)

    def register(self, subtask: int, ids: IdRange) -> None:
        """Write down, before they are used, that a subtask may use these ids."""
        self._write(self._group(subtask), ids.end, str(ids.start))

    def register_parallelism(self, parallelism: int) -> None:
        """Write down that so many subtasks use the prefix."""
        self._write(f"{self._prefix}-ids", parallelism, "")

    def _group(self, subtask: int) -> str:
        return f"{self._prefix}-ids-{subtask}"

    def _write(self, group: str, offset: int, metadata: str) -> None:
        kafka = import_kafka_client()
        place = kafka.TopicPartition(_PLACE, 0, offset, metadata=metadata)
        problem: Any = None
        limit = BrokerWait(f"writing the group {group!r}, which names open transactions", _LIMIT_SECONDS)
        while True:
            asked = kafka.ConsumerGroupTopicPartitions(group, [place])
            try:
                (answer,) = self._admin.alter_consumer_group_offsets([asked], request_timeout=_REQUEST_SECONDS).values()
                errors = [each.error for each in answer.result(_SECONDS).topic_partitions]
            except kafka.KafkaException as error:
                errors = [error.args[0]]
            problem = next((error for error in errors if error is not None), None)
            if problem is None:
                return
            if not is_temporary(problem) and problem.name() not in _NOTHING_THERE:
                break
            if problem.name() in _CUT_OFF:
                # A client that was there before a broker died may wait for it for ever, when it has long been back.
                self._admin = import_kafka_admin().AdminClient(connection_settings(self._settings))
            limit.again(problem)
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
