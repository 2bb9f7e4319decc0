"""The sink that writes to Kafka, and its builder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.connectors.kafka.client import client_settings, import_kafka_client
from penstock.connectors.kafka.serialization import KafkaRecordSerializationSchema
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.sinks.protocol import Committer, Delivery, DeliveryGuarantee, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.connectors.kafka.transaction import TransactionalProducer
    from penstock.connectors.kafka.transactional_writer import PendingTransactions

__all__ = ["TRANSACTION_TIMEOUT", "KafkaSink", "KafkaSinkBuilder", "SinkOptions", "check_producer_properties"]

T = TypeVar("T")

TRANSACTION_TIMEOUT = 900_000
"""The longest that brokers allow by themselves, in milliseconds."""

_DELIVERIES = {
    DeliveryGuarantee.EXACTLY_ONCE: Delivery.TRANSACTIONAL,
    DeliveryGuarantee.AT_LEAST_ONCE: Delivery.AT_LEAST_ONCE,
    DeliveryGuarantee.NONE: Delivery.AT_MOST_ONCE,
}

_ORDER_SETTINGS = {
    "acks",
    "enable.idempotence",
    "max.in.flight",
    "max.in.flight.requests.per.connection",
    "message.send.max.retries",
    "queuing.strategy",
    "request.required.acks",
    "retries",
}
"""Who sets one of these wants to decide about order and speed himself."""


@dataclass(frozen=True)
class SinkOptions:
    """What the builder has gathered."""

    schema: KafkaRecordSerializationSchema[Any]
    properties: Mapping[str, Any] = field(repr=False)
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    transactional_id_prefix: str | None = None
    pool_size: int | None = None
    """How many transactions of a subtask may wait for their checkpoints at the same time."""
    logs_failures_only: bool = False


class KafkaSink(Sink[T]):
    """Writes to topics of Kafka; ``KafkaSink.builder()`` makes one.

    With ``EXACTLY_ONCE`` records become visible to ``read_committed`` consumers when the checkpoint they belong to is
    complete.
    """

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._pending: PendingTransactions | None = None

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Start making a sink."""
        return KafkaSinkBuilder()

    @property
    def delivery(self) -> Delivery:  # type: ignore[override] # it depends on what the program asked for
        """Return what happens to records that are written again after a failure."""
        return _DELIVERIES[self._options.guarantee]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pending": None}  # producers belong to a process

    def create_writer(self, context: WriterContext) -> SinkWriter[T]:
        """Start writing from nothing; what a former job left open under the same prefix is ended."""
        return self.restore_writer(context, [])

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[T]:
        """Go on writing; what is open and in no checkpoint is ended."""
        # What runs in subtasks only is not loaded by the program.
        from penstock.connectors.kafka.plain_writer import PlainWriter
        from penstock.connectors.kafka.transactional_writer import TransactionalWriter

        options = self._options
        if options.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            waits = options.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
            logs_only = options.logs_failures_only
            return PlainWriter(options.schema, self._settings(), context, waits=waits, logs_failures_only=logs_only)
        return TransactionalWriter(
            options.schema,
            self._settings(),
            options.transactional_id_prefix or f"penstock-{context.job_name}-{context.operator_id}",
            context,
            pending=self._transactions(),
            states=states,
            pool_size=options.pool_size,
            producer_class=self._producer_class(),
        )

    def create_committer(self, context: WriterContext) -> Committer | None:
        """Return what commits transactions, if there are some."""
        if self._options.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        from penstock.connectors.kafka.committer import KafkaCommitter

        patience = context.patience / 1000
        return KafkaCommitter(self._settings(), self._transactions(), self._producer_class(), patience=patience)

    def check(self, *, checkpoint_interval: int | None, checkpoint_timeout: int) -> None:
        """Refuse transactions that nobody would commit, or that the brokers may abort before they are committed."""
        if self._options.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return
        if checkpoint_interval is None:
            message = (
                "A Kafka sink with EXACTLY_ONCE commits when a checkpoint is complete, and this job takes none. "
                "Call env.enable_checkpointing(interval), or ask for AT_LEAST_ONCE."
            )
            raise ProgramError(message)
        timeout = int(self._settings()["transaction.timeout.ms"])
        needed = checkpoint_interval + checkpoint_timeout
        if timeout < needed:
            message = (
                f"transaction.timeout.ms of the Kafka sink is {timeout} ms: Kafka may abort a transaction before its "
                f"checkpoint is complete, which can take {needed} ms (interval {checkpoint_interval} ms + checkpoint "
                f"timeout {checkpoint_timeout} ms). Set it to {needed} or more (transaction.max.timeout.ms of the "
                "brokers must allow it), or shorten interval or timeout of the checkpoints."
            )
            raise ProgramError(message)

    def _transactions(self) -> PendingTransactions:
        """Return what writer and committer of a subtask share."""
        if self._pending is None:
            from penstock.connectors.kafka.transactional_writer import PendingTransactions

            self._pending = PendingTransactions()
        return self._pending

    def _producer_class(self) -> type[TransactionalProducer]:
        from penstock.connectors.kafka.transaction import TransactionalProducer

        return TransactionalProducer

    def _settings(self) -> dict[str, Any]:
        settings = {
            "partitioner": "murmur2_random",  # keys go to the partitions that Java's clients choose
            "log_level": 3,
            **client_settings(self._options.properties),
        }
        if self._options.guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            settings.setdefault("transaction.timeout.ms", TRANSACTION_TIMEOUT)
        elif self._options.guarantee is DeliveryGuarantee.AT_LEAST_ONCE and not _ORDER_SETTINGS & settings.keys():
            settings["enable.idempotence"] = True  # sending again keeps the order, as by itself in Java
        return settings


class KafkaSinkBuilder:
    """Gathers what a Kafka sink needs: brokers, how records become messages, and how often each may be seen."""

    def __init__(self) -> None:
        self._properties: dict[str, Any] = {}
        self._schema: KafkaRecordSerializationSchema[Any] | None = None
        self._guarantee = DeliveryGuarantee.NONE
        self._prefix: str | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the addresses of some brokers, as ``host:port``, separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema[Any]) -> KafkaSinkBuilder:
        """Say how a record becomes a message."""
        require_instance(
            record_serializer,
            KafkaRecordSerializationSchema,
            "set_record_serializer() needs a KafkaRecordSerializationSchema; its builder() makes one.",
        )
        self._schema = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Say how often a record may be seen after a failure; by itself nothing is guaranteed."""
        require_instance(delivery_guarantee, DeliveryGuarantee, "A DeliveryGuarantee is needed.")
        self._guarantee = delivery_guarantee
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set what the transactional ids begin with: the same for every run of this job, another one for each sink."""
        self._prefix = transactional_id_prefix
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of the producers."""
        self._properties[key] = value
        return self

    def build(self) -> KafkaSink[Any]:
        """Return the sink.

        Raises:
            ProgramError: Something is missing, or a property is unknown.
        """
        if "bootstrap.servers" not in self._properties:
            message = "A Kafka sink needs brokers: set_bootstrap_servers('host:9092')."
            raise ProgramError(message)
        if self._schema is None:
            message = "A Kafka sink needs to know how a record becomes a message: set_record_serializer(...)."
            raise ProgramError(message)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE and not self._prefix:
            message = (
                "A Kafka sink with EXACTLY_ONCE needs a name for its transactions: set_transactional_id_prefix('...')."
            )
            raise ProgramError(message)
        check_producer_properties(self._properties)
        return KafkaSink(SinkOptions(self._schema, dict(self._properties), self._guarantee, self._prefix))


def check_producer_properties(properties: dict[str, Any]) -> None:
    """Let the client library look at the settings where the program is written, not later in a subtask.

    Raises:
        ProgramError: It does not know one of them.
    """
    kafka = import_kafka_client()
    try:
        kafka.Producer(client_settings(properties))
    except kafka.KafkaException as error:
        message = f"Kafka's client does not take these properties: {error.args[0].str()}"
        raise ProgramError(message) from error
