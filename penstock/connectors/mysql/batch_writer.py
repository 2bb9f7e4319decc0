"""Writes rows in batches, each a transaction of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.connectors.batching_writer import BatchingWriter
from penstock.connectors.mysql.connection import import_pymysql
from penstock.connectors.mysql.sink_settings import refused

if TYPE_CHECKING:
    from penstock.connectors.mysql.connection import MySqlConnection
    from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
    from penstock.vocabulary.sinks.protocol import WriterContext

__all__ = ["BatchWriter"]


class BatchWriter(BatchingWriter):
    """Sends a batch again as a whole when its connection is lost: its rows are there at least once."""

    def __init__(self, settings: MySqlSinkSettings, context: WriterContext, connection: MySqlConnection) -> None:
        super().__init__(context, settings.batch_size, settings.batch_interval)
        self._settings = settings
        self._connection = connection
        self._values = settings.values()

    def _prepared(self, elements: list[Any]) -> list[Any]:
        return self._values.of(elements)

    def send(self, *, must_end: bool) -> None:
        """Send all rows in one transaction."""
        if not self._items:
            return
        try:
            self._connection.in_transaction(self._send_rows)
        except import_pymysql().err.MySQLError as error:
            raise refused(error, self._settings) from error
        self._items = []

    def close(self) -> None:
        """Close the connection; rows that were not sent are in no complete checkpoint, and come again."""
        self._connection.close()

    def _send_rows(self, connection: MySqlConnection) -> None:
        for text, _ in self._settings.statement.render(self._items, connection.escape):
            connection.execute(text)
