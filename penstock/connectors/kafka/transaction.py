"""One transaction, and how it can be told later whether it was committed.

The client library cannot go on with a transaction of a process that is gone. So a committable carries the messages of
its transaction, and within the transaction a *mark* is committed: the offset of a consumer group that is named after
the transactional id. The mark is there if and only if the transaction was committed, because Kafka commits both at
once. Whoever finds a committable after a failure ends what the dead process left open, looks for the mark, and writes
the messages again, with the mark, if it is missing. Whatever happens in between, also that the brokers give the
transaction up because it took too long, a ``read_committed`` consumer sees each message once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.broker_wait import RENEW_SECONDS, SLICE_SECONDS, BrokerWait
from penstock.connectors.kafka.client import describe, import_kafka_client, is_temporary
from penstock.connectors.kafka.message_run import MessageRun, send
from penstock.errors import ExternalSystemError
from penstock.foundation.plain_data import unpickle_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.connectors.kafka.transactional_ids import GroupOffset

__all__ = ["QUEUE_ROOM", "KafkaCommittable", "TransactionalProducer"]

_START_SECONDS = 120.0
_MARK_SECONDS = 10.0
"""The client library cannot go on with this call after a time-out, so it gets more time than a slice."""
_ABORT_SECONDS = 5.0
QUEUE_ROOM = 100_000
"""Messages that a producer's queue takes, unless its settings say otherwise."""


@dataclass(frozen=True)
class KafkaCommittable:
    """A transaction that is to be committed, with all that is needed to do it in another process."""

    transactional_id: str
    lineage: str
    """Names the writer that opened the transaction, apart from all others that ever had the same transactional id."""
    sequence: int
    """Counts the transactions of the writer."""
    topic: str
    """The topic whose partition 0 the mark is set for."""
    messages: bytes

    def was_committed(self, mark: GroupOffset | None) -> bool:
        """Tell, by the mark of the transactional id, whether this transaction was committed."""
        return mark is not None and mark.metadata == self.lineage and mark.offset >= self.sequence

    @property
    def runs(self) -> list[MessageRun]:
        """Return the messages."""
        return [MessageRun(*columns) for columns in unpickle_plain(self.messages)]


class TransactionalProducer:
    """A producer with a transactional id; making one ends whatever another one with this id has left open."""

    def __init__(self, settings: Mapping[str, Any], transactional_id: str) -> None:
        kafka = import_kafka_client()
        self.transactional_id = transactional_id
        self._room = int(settings.get("queue.buffering.max.messages", QUEUE_ROOM))
        self._producer = kafka.Producer(
            {**settings, "transactional.id": transactional_id, "delivery.report.only.error": True}
        )
        self._start()
        self._group = _metadata_of_group(transactional_id)

    def _start(self) -> None:
        exception = import_kafka_client().KafkaException
        wait = BrokerWait(f"a producer for the transactions {self.transactional_id!r}", _START_SECONDS)
        while True:
            try:
                self._producer.init_transactions(SLICE_SECONDS)
            except exception as error:
                problem = error.args[0]
                if is_temporary(problem):
                    wait.again(problem)
                else:
                    message = (
                        f"Kafka gives no transactions to {self.transactional_id!r}: {describe(problem)}. If the "
                        "timeout is too long for the brokers, lower transaction.timeout.ms or raise their "
                        "transaction.max.timeout.ms."
                    )
                    raise ExternalSystemError(message) from error
            else:
                return

    def begin(self) -> None:
        """Open a transaction."""
        self._producer.begin_transaction()

    def send(self, run: MessageRun) -> None:
        """Send messages as part of the transaction."""
        send(self._producer, run, self._room)

    def flush(self) -> None:
        """Wait until the brokers have all messages.

        Raises:
            SilentBrokersError: They take none any more.
        """
        wait = BrokerWait(f"the messages of the transaction {self.transactional_id!r}", RENEW_SECONDS)
        left = self._producer.flush(SLICE_SECONDS)
        while left:
            before, left = left, self._producer.flush(SLICE_SECONDS)
            if left < before:
                wait = BrokerWait(f"the messages of the transaction {self.transactional_id!r}", RENEW_SECONDS)
            else:
                wait.again()

    def mark(self, topic: str, lineage: str, sequence: int) -> None:
        """Have the mark committed together with the transaction.

        Raises:
            SilentBrokersError: The brokers do not answer.
        """
        wait = BrokerWait(f"the mark of the transaction {self.transactional_id!r}", RENEW_SECONDS)
        place = import_kafka_client().TopicPartition(topic, 0, sequence, metadata=lineage)
        exception = import_kafka_client().KafkaException
        while True:
            try:
                self._producer.send_offsets_to_transaction([place], self._group, _MARK_SECONDS)
            except exception as error:
                if not is_temporary(error.args[0]):
                    raise
                wait.again(error.args[0])
            else:
                return

    def commit(self) -> bool:
        """Commit; ``False`` says that the brokers do not answer now and it is to be tried again.

        Raises:
            KafkaException: The transaction cannot be committed any more, or not by this producer.
        """
        try:
            self._producer.commit_transaction(SLICE_SECONDS)
        except import_kafka_client().KafkaException as error:
            if is_temporary(error.args[0]):
                return False
            raise
        return True

    def abandon(self) -> None:
        """Abort what is open, if the brokers answer, and stop; whatever is left open the next one will end."""
        try:
            self._producer.purge()
            self._producer.abort_transaction(_ABORT_SECONDS)
        except import_kafka_client().KafkaException:  # nothing was open, or it is not ours any more
            return
        finally:
            del self._producer


_PLACE_OF_NAME = "penstock-name-of-a-group"


@functools.cache
def _metadata_of_some_group() -> tuple[bytes, Any]:
    """Return what a consumer says about its group, and the consumer.

    Only a consumer can say it, and the client library may crash if one is closed right after it was made. So one that
    knows no broker stays for as long as the process does.
    """
    consumer = import_kafka_client().Consumer({"group.id": _PLACE_OF_NAME, "log_level": 0})
    return consumer.consumer_group_metadata(), consumer


def _metadata_of_group(group: str) -> bytes:
    """Return what the only consumer of a group would say about it."""
    metadata, _ = _metadata_of_some_group()
    before, found, after = metadata.partition(_PLACE_OF_NAME.encode())
    if not found:
        message = "This version of confluent-kafka describes consumer groups in another way; take an earlier one."
        raise ExternalSystemError(message)
    return before + group.encode() + after
