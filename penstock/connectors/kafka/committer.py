"""Commits transactions: those of this process quickly, those of dead ones by writing them again if need be."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.broker_wait import RENEW_SECONDS, BrokerWait, SilentBrokersError
from penstock.connectors.kafka.client import import_kafka_client
from penstock.connectors.kafka.transaction import TransactionalProducer
from penstock.connectors.kafka.transactional_ids import group_offset
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sinks.protocol import Committer

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.kafka.transaction import KafkaCommittable
    from penstock.connectors.kafka.transactional_writer import PendingTransactions

__all__ = ["KafkaCommitter"]

_log = logging.getLogger("penstock.connectors.kafka")

_ATTEMPTS = 5


class KafkaCommitter(Committer):
    """Commits for one subtask."""

    def __init__(
        self,
        settings: dict[str, Any],
        pending: PendingTransactions,
        producer_class: Callable[[dict[str, Any], str], TransactionalProducer] = TransactionalProducer,
        *,
        patience: float = 600.0,
    ) -> None:
        self._settings = settings
        self._pending = pending
        self._producer_class = producer_class
        self._patience = patience
        self._waits: dict[str, BrokerWait] = {}

    def commit(self, committables: list[KafkaCommittable]) -> list[KafkaCommittable]:
        """Commit; return those for which the brokers do not answer now."""
        return [committable for committable in committables if not self._commit(committable)]

    def recover(self, committables: list[KafkaCommittable]) -> list[KafkaCommittable]:
        """Commit what a checkpoint holds; nothing is left for later."""
        for committable in committables:
            self._write_again_if_missing(committable)
        return []

    def _commit(self, committable: KafkaCommittable) -> bool:
        producer = self._pending.get(committable)
        if producer is None:
            self._write_again_if_missing(committable)
            return True
        try:
            is_done = producer.commit()
        except import_kafka_client().KafkaException:  # timed out, or ended by another process
            self._pending.done(committable, is_usable=False)
            self._write_again_if_missing(committable)
            return True
        if is_done:
            self._waits.pop(committable.transactional_id, None)
            self._pending.done(committable, is_usable=True)
        elif self._is_silent(committable):
            # This client may wait for ever for a broker that has long been back.
            self._pending.done(committable, is_usable=False)
            self._write_again_if_missing(committable)
            return True
        return is_done

    def _is_silent(self, committable: KafkaCommittable) -> bool:
        """Take note that a commit was not answered; tell whether it is time for another client."""
        what = f"the commit of the transaction {committable.transactional_id!r}"
        wait = self._waits.setdefault(committable.transactional_id, BrokerWait(what, RENEW_SECONDS))
        try:
            wait.again()
        except SilentBrokersError as error:
            _log.warning("%s A new client looks whether it was committed, and writes it again if not.", error)
            del self._waits[committable.transactional_id]
            return True
        return False

    def _write_again_if_missing(self, committable: KafkaCommittable) -> None:
        exception = import_kafka_client().KafkaException
        problem: Exception | None = None
        wait = BrokerWait(f"writing the transaction {committable.transactional_id!r} again", self._patience)
        attempts = 0
        while attempts < _ATTEMPTS:
            if self._was_committed(committable, is_settled=False):
                return
            producer = self._producer_class(self._settings, committable.transactional_id)
            # A commit may have been under way; now it is either done or never will be.
            if self._was_committed(committable, is_settled=True):
                return
            try:
                self._write(producer, committable)
            except SilentBrokersError as error:
                problem = error
                wait.again()  # with another client
            except exception as error:  # another one has ended it, and writes it again as well: look who was first
                problem = error
                attempts += 1
            else:
                return
        message = f"The transaction {committable.transactional_id!r}, of a checkpoint, cannot be committed: {problem}"
        raise ExternalSystemError(message) from problem

    @staticmethod
    def _write(producer: TransactionalProducer, committable: KafkaCommittable) -> None:
        producer.begin()
        for run in committable.runs:
            producer.send(run)
        producer.flush()
        producer.mark(committable.topic, committable.lineage, committable.sequence)
        wait = BrokerWait(f"the commit of the transaction {committable.transactional_id!r}", RENEW_SECONDS)
        while not producer.commit():
            wait.again()

    def _was_committed(self, committable: KafkaCommittable, *, is_settled: bool) -> bool:
        wait = threading.Event().wait
        identity = (committable.transactional_id, committable.topic)
        mark = group_offset(self._settings, *identity, wait, is_settled=is_settled)
        return committable.was_committed(mark)
