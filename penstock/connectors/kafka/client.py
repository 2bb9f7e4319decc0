"""The client library of Kafka, loaded when it is first needed, and the settings of its clients."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "client_settings",
    "connection_settings",
    "describe",
    "import_kafka_admin",
    "import_kafka_client",
    "is_temporary",
]

# Java clients turn bytes into objects by classes named in their settings; here a schema of the program does that, as in
# Flink, which overrides these.
_REPLACED_BY_SCHEMAS = {"key.deserializer", "value.deserializer", "key.serializer", "value.serializer"}

# The client library itself says so only of errors of transactions.
_TEMPORARY = {
    "_ALL_BROKERS_DOWN",
    "_RESOLVE",
    "_TIMED_OUT",
    "_TIMED_OUT_QUEUE",
    "_TRANSPORT",
    "_WAIT_COORD",
    "BROKER_NOT_AVAILABLE",
    "CONCURRENT_TRANSACTIONS",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "COORDINATOR_NOT_AVAILABLE",
    "LEADER_NOT_AVAILABLE",
    "NETWORK_EXCEPTION",
    "NOT_COORDINATOR",
    "NOT_LEADER_FOR_PARTITION",
    "REQUEST_TIMED_OUT",
    "UNSTABLE_OFFSET_COMMIT",
}


_CONNECTION = (
    "bootstrap.", "metadata.broker", "security.", "ssl.", "sasl.", "socket.", "broker.", "reconnect.", "client.",
    "log_",
)  # fmt: skip
"""How the names of settings begin that say how to reach the brokers."""


def import_kafka_client() -> Any:
    """Return the module ``confluent_kafka``."""
    return _load("confluent_kafka")


def import_kafka_admin() -> Any:
    """Return the module ``confluent_kafka.admin``."""
    return _load("confluent_kafka.admin")


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = "Kafka needs the package confluent-kafka. Install it with: pip install 'penstock[kafka]'"
        raise ProgramError(message) from error


def client_settings(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a client of librdkafka for properties as they are written for Java's."""
    given = {key: value for key, value in properties.items() if key not in _REPLACED_BY_SCHEMAS}
    # Brokers that come back are found soon, not after ten seconds as by itself.
    settings = {"reconnect.backoff.max.ms": 1000, **given}
    if settings.get("auto.offset.reset") == "none":
        settings["auto.offset.reset"] = "error"
    return settings


def connection_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those settings of a client that say how to reach the brokers."""
    kinds = (
        "bootstrap.",
        "metadata.broker",
        "security.",
        "ssl.",
        "sasl.",
        "socket.",
        "broker.",
        "reconnect.",
        "client.",
        "log_",
    )
    return {key: value for key, value in settings.items() if key.startswith(kinds)}


def is_temporary(error: Any) -> bool:
    """Tell whether a ``KafkaError`` goes away by itself: brokers are down, slow, or still electing a leader."""
    return not error.fatal() and (error.retriable() or error.name() in _TEMPORARY)


def describe(error: Any) -> str:
    """Return what a ``KafkaError`` says, with its name."""
    return f"{error.str()} ({error.name()})"
