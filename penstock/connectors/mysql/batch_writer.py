"""Writes rows in batches, each a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.mysql.library import library
from penstock.connectors.mysql.sink_settings import refused
from penstock.connectors.sink_protocol import SinkWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.connectors.mysql.connection import MySqlConnection
    from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
    from penstock.connectors.sink_protocol import WriterContext

__all__ = ["BatchWriter"]


class BatchWriter(SinkWriter[Any]):
    """Keeps rows until there are enough, enough time has passed or a checkpoint is taken, then sends them.

    A batch whose connection is lost is sent again as a whole: its rows are there at least once.
    """

    def __init__(self, settings: MySqlSinkSettings, context: WriterContext, connection: MySqlConnection) -> None:
        self._settings = settings
        self._context = context
        self._connection = connection
        self._values = settings.values()
        self._rows: list[Sequence[Any]] = []
        self._is_scheduled = False

    def write(self, element: Any, timestamp: int | None) -> None:
        """Keep a row, or send it with those before it."""
        self.write_run([element], None)

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        """Keep rows; send them once there are enough."""
        self._rows += self._values.of(elements)
        if len(self._rows) >= self._settings.batch_size:
            self.send()
        elif self._settings.batch_interval and not self._is_scheduled:
            self._is_scheduled = True
            self._context.schedule(self._context.now() + self._settings.batch_interval, self._on_time)

    def flush(self, *, end_of_input: bool) -> None:
        """Send what is there."""
        self.send()

    def send(self) -> None:
        """Send all rows in one transaction."""
        if not self._rows:
            return
        try:
            self._connection.in_transaction(self._send_rows)
        except library().err.MySQLError as error:
            raise refused(error, self._settings) from error
        self._rows = []

    def close(self) -> None:
        """Close the connection; rows that were not sent are in no complete checkpoint, and come again."""
        self._connection.close()

    def _send_rows(self, connection: MySqlConnection) -> None:
        for text, _ in self._settings.statement.render(self._rows, connection.escape):
            connection.execute(text)

    def _on_time(self, time: int) -> None:
        self._is_scheduled = False
        self.send()
