"""What a sink writes, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import ExternalSystemError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
    from penstock.connectors.mysql.record_values import RecordValues
    from penstock.connectors.mysql.statement import SqlStatement

__all__ = ["MySqlSinkSettings", "refused"]


@dataclass(frozen=True, kw_only=True)
class MySqlSinkSettings:
    """The statement, where it goes, and when."""

    connection: MySqlConnectionOptions
    statement: SqlStatement
    columns: tuple[str, ...] | None = None
    builder: Callable[[Any], Sequence[Any]] | None = None
    batch_size: int = 1000
    """How many rows are kept before they are sent."""
    batch_interval: int = 0
    """After how many milliseconds rows are sent in any case; 0: at the latest with the next checkpoint."""

    def values(self) -> RecordValues:
        """Return what takes the parameters out of records."""
        from penstock.connectors.mysql.record_values import RecordValues  # only running sinks need it

        return RecordValues(self.columns, self.statement.parameters, self.builder)


def refused(error: Exception, settings: MySqlSinkSettings) -> ExternalSystemError:
    """Explain that a server would not do what it was told."""
    message = (
        f"Rows cannot be written to the database at {settings.connection.place}: {error}.\n"
        f"  statement  {settings.statement.text}"
    )
    return ExternalSystemError(message)
