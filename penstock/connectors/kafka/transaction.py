"""One transaction, and how it can be told later whether it was committed.

The client library cannot go on with a transaction of a process that is gone. So a committable carries the messages of
its transaction, and within the transaction a *mark* is committed: the offset of a consumer group that is named after
the transactional id. The mark is there if and only if the transaction was committed, because Kafka commits both at
once. Whoever finds a committable after a failure ends what the dead process left open, looks for the mark, and writes
the messages again, with the mark, if it is missing. Whatever happens in between, also that the brokers give the
transaction up because it took too long, a ``read_committed`` consumer sees each message once.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.client import connection_settings, describe, is_temporary, library
from penstock.connectors.kafka.message_run import MessageRun, send
from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.connectors.kafka.transactional_ids import GroupOffset

__all__ = ["QUEUE_ROOM", "KafkaCommittable", "TransactionalProducer"]

_SECONDS = 10.0
_START_ATTEMPTS = 12
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
        return [MessageRun(*columns) for columns in pickle.loads(self.messages)]


class TransactionalProducer:
    """A producer with a transactional id; making one ends whatever another one with this id has left open."""

    def __init__(self, settings: Mapping[str, Any], transactional_id: str) -> None:
        kafka = library()
        self.transactional_id = transactional_id
        self._room = int(settings.get("queue.buffering.max.messages", QUEUE_ROOM))
        self._producer = kafka.Producer(
            {**settings, "transactional.id": transactional_id, "delivery.report.only.error": True}
        )
        self._start()
        # Only a consumer can say what a group is called; it reads nothing.
        consumer = kafka.Consumer({**connection_settings(settings), "group.id": transactional_id})
        self._group = consumer.consumer_group_metadata()
        consumer.close()

    def _start(self) -> None:
        exception = library().KafkaException
        for attempt in range(1, _START_ATTEMPTS + 1):
            try:
                self._producer.init_transactions(_SECONDS)
            except exception as error:
                problem = error.args[0]
                if not is_temporary(problem) or attempt == _START_ATTEMPTS:
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
        """Wait until the brokers have all messages."""
        while self._producer.flush(_SECONDS):
            pass

    def mark(self, topic: str, lineage: str, sequence: int) -> None:
        """Have the mark committed together with the transaction."""
        place = library().TopicPartition(topic, 0, sequence, metadata=lineage)
        exception = library().KafkaException
        while True:
            try:
                self._producer.send_offsets_to_transaction([place], self._group, _SECONDS)
            except exception as error:
                if not is_temporary(error.args[0]):
                    raise
            else:
                return

    def commit(self) -> bool:
        """Commit; ``False`` says that the brokers do not answer now and it is to be tried again.

        Raises:
            KafkaException: The transaction cannot be committed any more, or not by this producer.
        """
        try:
            self._producer.commit_transaction(_SECONDS)
        except library().KafkaException as error:
            if is_temporary(error.args[0]):
                return False
            raise
        return True

    def abandon(self) -> None:
        """Abort what is open, if the brokers answer, and stop; whatever is left open the next one will end."""
        try:
            self._producer.purge()
            self._producer.abort_transaction(_SECONDS / 2)
        except library().KafkaException:  # nothing was open, or it is not ours any more
            return
        finally:
            del self._producer
