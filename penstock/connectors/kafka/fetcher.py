"""One consumer for all partitions that a subtask reads.

The client library fetches ahead in threads of its own, outside of Python. So a busy subtask takes what has come
straight from the library, with no thread of ours between; its bounded queue is the back-pressure. Only when nothing is
there, a thread waits for the first message and wakes the subtask up. Only one of the two uses the consumer at a time:
otherwise the order within a partition would be lost, and one of them would wait for the other to leave the library.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.client import describe, import_kafka_client, is_temporary
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.connectors.kafka.subscription import KafkaTopicPartition

__all__ = ["Fetcher", "Inbox"]

_log = logging.getLogger(__name__)

_BATCH = 2000
"""Messages taken from the client library at a time."""
_PAUSE_AT = 10_000
"""Messages that may wait for one partition's reader before its partition is paused: others are read meanwhile."""
_POLL_SECONDS = 0.05
"""How long closing, and orders, may have to wait for the waiting thread."""


class Inbox:
    """Messages of one partition that its reader has not taken yet."""

    __slots__ = ("end", "is_paused", "messages", "partition")

    def __init__(self, partition: KafkaTopicPartition) -> None:
        self.partition = partition
        self.messages: list[Any] = []
        self.end = 0
        """Where the partition ended when its end was last reached, in offsets; known only if ends are asked for."""
        self.is_paused = False


class Fetcher:
    """Consumes for the readers of one subtask; everything but the waiting is done in the subtask's thread."""

    def __init__(self, settings: Mapping[str, Any], wake_up: Callable[[], None]) -> None:
        self._consumer = import_kafka_client().Consumer({**settings, "error_cb": self._on_error})
        self._wake_up = wake_up
        self._inboxes: dict[tuple[str, int], Inbox] = {}
        self._added = 0
        self._orders: deque[Callable[[], object]] = deque()
        """What is to be done with the consumer by whoever has it."""
        self._fatal: Any = None
        # The thread waits for a message while this is set, and only then; it clears it with the message in hand.
        self._is_waiting = threading.Event()
        self._arrived: Any = None
        self._is_closed = False
        self._waiter: threading.Thread | None = None

    def add(self, partition: KafkaTopicPartition, offset: int) -> Inbox:
        """Start fetching a partition from an offset."""
        inbox = Inbox(partition)
        self._added += 1
        self._inboxes[partition.topic, partition.partition] = inbox
        place = self._place(partition, offset)
        self._order(lambda: self._consumer.incremental_assign([place]))
        return inbox

    def remove(self, partition: KafkaTopicPartition) -> None:
        """Stop fetching a partition."""
        if self._inboxes.pop((partition.topic, partition.partition), None) is not None:
            self._order(lambda: self._consumer.incremental_unassign([self._place(partition)]))

    def take(self, inbox: Inbox, limit: int) -> list[Any]:
        """Return the next messages of a partition, none if none are there."""
        if not inbox.messages:
            self._fill()
        messages = inbox.messages
        if len(messages) <= limit:
            inbox.messages = []
        else:
            inbox.messages = messages[limit:]
            messages = messages[:limit]
        if inbox.is_paused and len(inbox.messages) < _PAUSE_AT // 2:
            self._order(lambda: self._consumer.resume([self._place(inbox.partition)]))
            inbox.is_paused = False
        return messages

    def commit(self, partition: KafkaTopicPartition, offset: int) -> None:
        """Tell the consumer group, in the background, how far the job has come; nobody depends on it."""
        place = self._place(partition, offset)
        self._order(lambda: self._consumer.commit(offsets=[place], asynchronous=True))

    def close(self) -> None:
        """Stop fetching and leave; commits that are under way are finished."""
        if not self._is_closed:
            self._is_closed = True
            self._is_waiting.set()
            if self._waiter is not None:
                self._waiter.join()
            self._follow_orders()
            self._consumer.close()

    def _fill(self) -> None:
        if self._is_waiting.is_set():
            return
        self._follow_orders()
        if self._fatal is not None:
            self._raise(self._fatal)
        messages: list[Any] = []
        if self._arrived is not None:
            messages.append(self._arrived)
            self._arrived = None
        messages += self._consumer.consume(_BATCH, 0)
        if messages:
            self._distribute(messages)
        else:
            self._wait()

    def _order(self, order: Callable[[], object]) -> None:
        """Have something done with the consumer, soon: at once where the subtask has it."""
        self._orders.append(order)
        if not self._is_waiting.is_set():
            self._follow_orders()

    def _follow_orders(self) -> None:
        while self._orders:
            order = self._orders.popleft()
            try:
                order()
            except import_kafka_client().KafkaException as error:
                _log.warning("Kafka: %s", describe(error.args[0]))

    def _wait(self) -> None:
        if self._waiter is None:
            self._waiter = threading.Thread(target=self._wait_for_messages, name="kafka-wait", daemon=True)
            self._waiter.start()
        self._is_waiting.set()

    def _wait_for_messages(self) -> None:
        while True:
            self._is_waiting.wait()
            message = None
            while message is None and self._fatal is None:
                if self._is_closed:
                    return
                self._follow_orders()
                message = self._consumer.poll(_POLL_SECONDS)
            self._arrived = message
            self._is_waiting.clear()
            if self._is_closed:
                return
            self._wake_up()

    def _distribute(self, messages: list[Any]) -> None:
        faults = [message for message in messages if message.error() is not None]
        if faults:
            messages = [message for message in messages if message.error() is None]
        if self._added == 1 and self._inboxes:  # no message can be of another partition
            (inbox,) = self._inboxes.values()
            inbox.messages += messages
        else:
            self._sort(messages)
        for fault in faults:
            self._on_fault(fault)

    def _sort(self, messages: list[Any]) -> None:
        inboxes = self._inboxes
        for message in messages:
            inbox = inboxes.get((message.topic(), message.partition()))
            if inbox is not None:  # else it was removed in the meantime
                inbox.messages.append(message)
        for inbox in inboxes.values():
            if len(inbox.messages) > _PAUSE_AT and not inbox.is_paused:
                self._consumer.pause([self._place(inbox.partition)])
                inbox.is_paused = True

    def _on_fault(self, message: Any) -> None:
        """Take an event that comes in a message's place: the end of a partition, or trouble."""
        error = message.error()
        if error.code() == import_kafka_client().KafkaError._PARTITION_EOF:
            inbox = self._inboxes.get((message.topic(), message.partition()))
            if inbox is not None:
                inbox.end = message.offset()
        elif is_temporary(error):
            _log.warning("Kafka: %s; reading goes on when it is over", describe(error))
        else:
            self._raise(error, f"{message.topic()}-{message.partition()}")

    def _on_error(self, error: Any) -> None:
        """Take note of what concerns no partition; called by the client library in whichever thread asks it."""
        if error.fatal():
            self._fatal = error
        elif (
            error.code() == import_kafka_client().KafkaError._ALL_BROKERS_DOWN
        ):  # what leads to it comes many times a second
            _log.warning("Kafka: %s; reading goes on when it is over", describe(error))

    @staticmethod
    def _raise(error: Any, place: str = "Kafka") -> None:
        message = (
            f"{place} cannot be read any more: {describe(error)}. If records were deleted before they were read, "
            "restart from where there are some, or choose starting offsets with a reset strategy."
        )
        raise ExternalSystemError(message)

    @staticmethod
    def _place(partition: KafkaTopicPartition, offset: int | None = None) -> Any:
        if offset is None:
            return import_kafka_client().TopicPartition(partition.topic, partition.partition)
        return import_kafka_client().TopicPartition(partition.topic, partition.partition, offset)
