"""The settings of a driver that say how its jobs are registered and served."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.settings.configuration import Configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OPTIONS", "OperationsSettings", "installed_version", "state_directory"]

_PORTS_ABOVE = 100
OPTIONS = (
    "penstock.registry.dir",
    "penstock.registry.retention",
    "penstock.rest.certificate",
    "penstock.rest.enabled",
    "penstock.rest.key",
    "penstock.rest.savepoint-directories",
    "rest.address",
    "rest.bind-address",
    "rest.bind-port",
    "rest.port",
    "web.checkpoints.history",
    "web.exception-history-size",
    "web.refresh-interval",
)
"""What is read here."""


def state_directory() -> Path:
    """Return the directory of this user for what is to be found again: ``$XDG_STATE_HOME/penstock``."""
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "penstock"


def installed_version() -> str:
    """Return the version of the package; it is asked of the loaded module, which layers below the API do not import."""
    return str(getattr(sys.modules["penstock"], "__version__", "unknown"))


@dataclass(frozen=True)
class OperationsSettings:
    """Where a driver registers its jobs, and where and how it serves them."""

    registry: str | None = None
    """The directory of the registry; ``None`` is that of the user."""
    retention: int = 86_400_000
    """How many milliseconds the registry keeps jobs that have ended or are lost."""
    is_served: bool = True
    address: str = "localhost"
    """The name under which others reach the server."""
    bind_address: str = "localhost"
    ports: tuple[range, ...] = (range(8081, 8081 + _PORTS_ABOVE),)
    """The ports that are tried, in this order."""
    certificate: str | None = None
    key: str | None = None
    savepoint_directories: tuple[str, ...] = ()
    """Where savepoints may be written to besides the job's own directories."""
    kept_checkpoints: int = 10
    kept_failures: int = 16
    refresh_interval: int = 3000

    @staticmethod
    def of(options: Mapping[str, Any]) -> OperationsSettings:
        """Return the settings of a job.

        Raises:
            ProgramError: One of them cannot be used.
        """
        configuration = Configuration.from_dict({key: options[key] for key in OPTIONS if key in options})
        try:
            return _read(configuration)
        except ValueError as error:
            raise ProgramError(str(error)) from error

    @property
    def all_ports(self) -> Iterator[int]:
        """Return the ports that are tried, one after the other."""
        for ports in self.ports:
            yield from ports


def _read(configuration: Configuration) -> OperationsSettings:
    bind_address = configuration.get_string("rest.bind-address", "localhost") or "localhost"
    port = configuration.get_integer("rest.port", 8081)
    bind_port = configuration.get_string("rest.bind-port", None)
    certificate = configuration.get_string("penstock.rest.certificate", None)
    key = configuration.get_string("penstock.rest.key", None)
    if (certificate is None) != (key is None):
        message = "penstock.rest.certificate and penstock.rest.key are the two files of TLS: set both, or none."
        raise ValueError(message)
    directories = configuration.get_string("penstock.rest.savepoint-directories", None)
    return OperationsSettings(
        registry=configuration.get_string("penstock.registry.dir", None),
        retention=configuration.get_millis("penstock.registry.retention", 86_400_000),
        is_served=configuration.get_boolean("penstock.rest.enabled", True),  # noqa: FBT003 - Flink's signature
        address=configuration.get_string("rest.address", None) or bind_address,
        bind_address=bind_address,
        ports=_ports(bind_port) if bind_port else (range(port, port + _PORTS_ABOVE if port else 1),),
        certificate=certificate,
        key=key,
        savepoint_directories=tuple(Configuration.parse_list_value(directories)) if directories else (),
        kept_checkpoints=configuration.get_integer("web.checkpoints.history", 10),
        kept_failures=configuration.get_integer("web.exception-history-size", 16),
        refresh_interval=configuration.get_millis("web.refresh-interval", 3000),
    )


def _ports(text: str) -> tuple[range, ...]:
    """Return the ports of a list as Flink writes it: ``8081``, ``50100-50200`` or ``50100,50105-50110``."""
    found = []
    for part in text.split(","):
        first, separator, last = part.strip().partition("-")
        try:
            ports = range(int(first), int(last if separator else first) + 1)
        except ValueError:
            ports = range(0)
        if not ports or ports.start < 0 or ports.stop > 1 << 16:
            message = f"rest.bind-port is {text!r}; write a port, or ports and ranges by commas: 8081 or 50100-50200."
            raise ValueError(message)
        found.append(ports)
    return tuple(found)
