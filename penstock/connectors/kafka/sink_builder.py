"""Makes a Kafka sink."""

from __future__ import annotations

from typing import Any

from penstock.connectors.kafka.client import client_settings, import_kafka_client
from penstock.connectors.kafka.serialization import KafkaRecordSerializationSchema
from penstock.connectors.kafka.sink import KafkaSink, SinkOptions
from penstock.errors import ProgramError
from penstock.vocabulary.program_checks import require_instance
from penstock.vocabulary.sinks.protocol import DeliveryGuarantee

__all__ = ["KafkaSinkBuilder", "check_producer_properties"]


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
