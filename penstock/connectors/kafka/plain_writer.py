"""Writes without transactions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from penstock.connectors.kafka.broker_wait import SLICE_SECONDS, BrokerWait
from penstock.connectors.kafka.client import describe, import_kafka_client
from penstock.connectors.kafka.message_run import send
from penstock.connectors.kafka.transaction import QUEUE_ROOM
from penstock.errors import ExternalSystemError
from penstock.vocabulary.sinks.protocol import SinkWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.connectors.kafka.serialization import KafkaRecordSerializationSchema
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["PlainWriter"]

_log = logging.getLogger(__name__)


class PlainWriter(SinkWriter[Any]):
    """Writes the records of one subtask.

    Args:
        schema: Makes messages of records.
        settings: Of the producer.
        context: The surroundings.
        waits: Whether every checkpoint waits until the brokers have all messages.
        logs_failures_only: Whether messages that could not be delivered are written to the log instead of failing.
    """

    def __init__(
        self,
        schema: KafkaRecordSerializationSchema[Any],
        settings: Mapping[str, Any],
        context: WriterContext,
        *,
        waits: bool,
        logs_failures_only: bool = False,
    ) -> None:
        self._schema = schema
        self._waits = waits
        self._patience = context.patience / 1000
        self._logs_failures_only = logs_failures_only
        self._failure: str | None = None
        self._room = int(settings.get("queue.buffering.max.messages", QUEUE_ROOM))
        reports = {"delivery.report.only.error": True, "on_delivery": self._on_failure}
        self._producer = import_kafka_client().Producer({**settings, **reports})
        self._partitions: dict[str, list[int]] = {}
        schema.open(context.subtask, context.parallelism, self._partitions_of)

    def write(self, element: Any, timestamp: int | None) -> None:
        """Write one record."""
        self.write_run([element], None if timestamp is None else [timestamp])

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Write a run of records."""
        run = self._schema.serialize_run(elements, timestamps)
        if run is not None:
            send(self._producer, run, self._room)
        self._check()

    def flush(self, *, end_of_input: bool) -> None:
        """Wait until the brokers have everything, if that was promised."""
        if self._waits or end_of_input:
            wait = BrokerWait("messages that are to be delivered", self._patience)
            while self._producer.flush(SLICE_SECONDS):
                self._check()
                wait.again()
            self._check()

    def close(self) -> None:
        """Let the producer go; what the brokers do not have yet is written again after a failure, if promised."""
        self._producer.purge()
        self._producer.poll(0)

    def _on_failure(self, error: Any, message: Any) -> None:
        if error is not None:
            problem = f"A message for {message.topic()} was not delivered: {describe(error)}"
            if self._logs_failures_only:
                _log.error(problem)
            else:
                self._failure = self._failure or problem

    def _check(self) -> None:
        if self._failure is not None:
            failure = f"{self._failure}. See whether the brokers run, and whether the topic exists and takes it."
            raise ExternalSystemError(failure)

    def _partitions_of(self, topic: str) -> list[int]:
        known = self._partitions.get(topic)
        if known is None:
            known = sorted(self._producer.list_topics(topic, timeout=30).topics[topic].partitions) or [0]
            self._partitions[topic] = known
        return known
