"""Writes in transactions, one from checkpoint to checkpoint, which the committer commits."""

from __future__ import annotations

import logging
import pickle
import threading
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.connectors.kafka.broker_wait import BrokerWait, SilentBrokersError
from penstock.connectors.kafka.client import connection_settings, import_kafka_admin
from penstock.connectors.kafka.transaction import KafkaCommittable, TransactionalProducer
from penstock.connectors.kafka.transactional_ids import IdRange, IdRegistry, close_transactions, transactional_id
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sinks.protocol import SinkWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.connectors.kafka.message_run import MessageRun
    from penstock.connectors.kafka.serialization import KafkaRecordSerializationSchema
    from penstock.vocabulary.sinks.protocol import WriterContext

_log = logging.getLogger("penstock.connectors.kafka")

__all__ = ["PendingTransactions", "TransactionalWriter", "WriterState"]


class WriterState(NamedTuple):
    """What a checkpoint keeps of a writer, in case the brokers have forgotten which ids were used."""

    subtask: int
    parallelism: int
    next_number: int


class PendingTransactions:
    """The producers of one subtask: writers put prepared transactions here, committers take them."""

    def __init__(self) -> None:
        self._prepared: dict[tuple[str, int], TransactionalProducer] = {}
        self._free: list[TransactionalProducer] = []

    def __len__(self) -> int:
        return len(self._prepared)

    def add(self, committable: KafkaCommittable, producer: TransactionalProducer) -> None:
        """Keep a prepared transaction until its checkpoint is complete."""
        self._prepared[committable.transactional_id, committable.sequence] = producer

    def get(self, committable: KafkaCommittable) -> TransactionalProducer | None:
        """Return the producer of a transaction, if it was prepared in this process."""
        return self._prepared.get((committable.transactional_id, committable.sequence))

    def done(self, committable: KafkaCommittable, *, is_usable: bool) -> None:
        """Let the producer of a transaction go, to be used again or not."""
        producer = self._prepared.pop((committable.transactional_id, committable.sequence))
        if is_usable:
            self._free.append(producer)

    def take_free(self) -> TransactionalProducer | None:
        """Return a producer whose transaction is committed."""
        return self._free.pop() if self._free else None

    def close(self) -> None:
        """Stop all; what is prepared and not committed is written again by whoever restores the checkpoint."""
        for producer in [*self._prepared.values(), *self._free]:
            producer.abandon()
        self._prepared.clear()
        self._free.clear()


class TransactionalWriter(SinkWriter[Any]):
    """Writes the records of one subtask."""

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema[Any],
        settings: dict[str, Any],
        prefix: str,
        context: WriterContext,
        *,
        pending: PendingTransactions,
        states: list[WriterState],
        pool_size: int | None = None,
        producer_class: Callable[[dict[str, Any], str], TransactionalProducer] = TransactionalProducer,
    ) -> None:
        self._schema = schema
        self._settings = settings
        self._prefix = prefix
        self._subtask = context.subtask
        self._patience = context.patience / 1000
        self._parallelism = context.parallelism
        self._pending = pending
        self._pool_size = pool_size
        self._producer_class = producer_class
        self._lineage = uuid.uuid4().hex
        self._sequence = 0
        self._current: TransactionalProducer | None = None
        self._topic = ""
        self._runs: list[MessageRun] = []
        admin = import_kafka_admin().AdminClient(connection_settings(settings))
        self._registry = IdRegistry(settings, prefix, threading.Event().wait)
        self._admin = admin
        self._is_registered = False
        self._first = self._next = self._end_what_is_open(states)
        self._partitions: dict[str, list[int]] = {}
        schema.open(context.subtask, context.parallelism, self._partitions_of)

    def _end_what_is_open(self, states: list[WriterState]) -> int:
        """End the transactions of those before this one that are in no checkpoint; return the first new number."""
        self._known_parallelism = self._registry.parallelism()
        ever = max([self._known_parallelism, self._parallelism, *(state.parallelism for state in states)])
        ids: list[str] = []
        first = max((state.next_number for state in states if state.subtask == self._subtask), default=0)
        for subtask in range(self._subtask, ever, self._parallelism):
            used = self._registry.ids_of(subtask)
            ids += [transactional_id(self._prefix, subtask, number) for number in range(used.start, used.end)]
            if subtask == self._subtask:
                first = max(first, used.end)
        quiet = {**self._settings, "log_level": 0}
        close_transactions(ids, lambda each: self._producer_class(quiet, each).abandon())
        return first

    def write(self, element: Any, timestamp: int | None) -> None:
        """Write one record."""
        self.write_run([element], None if timestamp is None else [timestamp])

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Write a run of records."""
        run = self._schema.serialize_run(elements, timestamps)
        if run is None or not run.values:
            return
        if self._current is None:
            self._begin(run.first_topic)
        assert self._current is not None
        self._current.send(run)
        self._runs.append(run)

    def flush(self, *, end_of_input: bool) -> None:
        """Wait until the brokers have everything."""
        if self._current is not None:
            self._with_answer(lambda producer: producer.flush())

    def prepare_commit(self) -> list[KafkaCommittable]:
        """Make the transaction ready to be committed; the next record opens another one."""
        if self._current is None:
            return []
        producer = self._with_answer(lambda current: current.mark(self._topic, self._lineage, self._sequence))
        columns = [tuple(run) for run in self._runs]
        messages = pickle.dumps(columns, protocol=pickle.HIGHEST_PROTOCOL)
        identity = (producer.transactional_id, self._lineage, self._sequence)
        committable = KafkaCommittable(*identity, self._topic, messages)
        self._pending.add(committable, producer)
        self._current = None
        self._runs = []
        return [committable]

    def _with_answer(self, step: Callable[[TransactionalProducer], None]) -> TransactionalProducer:
        """Take a step of the open transaction; by another client if the brokers do not answer this one.

        Another client with the same id ends the transaction that is open, which nobody has committed, and writes its
        messages again.
        """
        assert self._current is not None
        wait = BrokerWait(f"the transaction {self._current.transactional_id!r}", self._patience)
        while True:
            try:
                step(self._current)
            except SilentBrokersError as error:
                wait.again()
                _log.warning("%s A new client writes the transaction again.", error)
                self._current = self._producer_class(self._settings, self._current.transactional_id)
                self._current.begin()
                for run in self._runs:
                    self._current.send(run)
                step = _after_flush(step)
            else:
                return self._current

    def snapshot_state(self, checkpoint_id: int) -> list[WriterState]:
        """Return which ids were used."""
        return [WriterState(self._subtask, self._parallelism, self._next)]

    def close(self) -> None:
        """Abort what is open."""
        if self._current is not None:
            self._current.abandon()
            self._current = None
        self._pending.close()

    def _begin(self, topic: str) -> None:
        producer = self._pending.take_free() or self._new_producer(topic)
        producer.begin()
        self._current = producer
        self._topic = topic
        self._sequence += 1

    def _new_producer(self, topic: str) -> TransactionalProducer:
        if self._pool_size is not None and len(self._pending) >= self._pool_size:
            message = (
                f"All {self._pool_size} producers of the pool wait for their checkpoints to complete. Give the pool "
                "more producers, allow fewer checkpoints at the same time, or make checkpoints quicker."
            )
            raise ExternalSystemError(message)
        if not self._is_registered:
            self._partitions_of(topic)  # a topic that brokers create by themselves is there from now on
            if self._parallelism > self._known_parallelism:
                self._registry.register_parallelism(self._parallelism)
            for subtask in range(self._subtask + self._parallelism, self._known_parallelism, self._parallelism):
                self._registry.register(subtask, IdRange(end := self._registry.ids_of(subtask).end, end))
            self._is_registered = True
        number = self._next
        self._next += 1
        self._registry.register(self._subtask, IdRange(self._first, self._next))
        return self._producer_class(self._settings, transactional_id(self._prefix, self._subtask, number))

    def _partitions_of(self, topic: str) -> list[int]:
        known = self._partitions.get(topic)
        if known is None:
            known = sorted(self._admin.list_topics(topic, timeout=30).topics[topic].partitions) or [0]
            self._partitions[topic] = known
        return known


def _after_flush(step: Callable[[TransactionalProducer], None]) -> Callable[[TransactionalProducer], None]:
    def flush_first(producer: TransactionalProducer) -> None:
        producer.flush()
        step(producer)

    return flush_first
