"""Describes a sink step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.mysql.sink import MySqlSink
from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
from penstock.connectors.mysql.statement import SqlStatement, insert_statement, upsert_statement
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import DeliveryGuarantee
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["MySqlSinkBuilder"]


class MySqlSinkBuilder:
    """Collects what a ``MySqlSink`` needs: a connection, and a table or a statement.

    Example:
        >>> sink = (
        ...     MySqlSink.builder()
        ...     .set_url("mysql://clerk:secret@localhost/shop")
        ...     .set_table("totals", "item", "amount")
        ...     .set_key_columns("item")
        ...     .build()
        ... )
        >>> sink.settings.statement.is_repeatable
        True
    """

    def __init__(self) -> None:
        self._connection: MySqlConnectionOptions | None = None
        self._table: str | None = None
        self._columns: tuple[str, ...] | None = None
        self._key_columns: tuple[str, ...] = ()
        self._statement: str | None = None
        self._builder: Callable[[Any], Sequence[Any]] | None = None
        self._guarantee = DeliveryGuarantee.AT_LEAST_ONCE
        self._batch_size = 1000
        self._batch_interval = 0
        self._transaction_prefix: str | None = None

    def set_connection_options(self, options: MySqlConnectionOptions) -> Self:
        """Say where the database is."""
        self._connection = options
        return self

    def set_url(self, url: str, **options: Any) -> Self:
        """Say where the database is, by its address and options of ``MySqlConnectionOptions``."""
        return self.set_connection_options(MySqlConnectionOptions.from_url(url, **options))

    def set_table(self, table: str, *columns: str) -> Self:
        """Add a row to a table for each record, with these columns."""
        self._table = table
        self._columns = columns
        return self

    def set_key_columns(self, *columns: str) -> Self:
        """Let a record change the row with its key, if there is one; the table has a unique index on these columns."""
        self._key_columns = columns
        return self

    def set_statement(self, sql: str, *columns: str) -> Self:
        """Run a statement of the program's own for each record, with ``?`` for each value.

        The columns are the names under which values are found in records that are mappings or objects.
        """
        self._statement = sql
        self._columns = columns or None
        return self

    def set_statement_builder(self, builder: Callable[[Any], Sequence[Any]]) -> Self:
        """Set the function that takes the values of the placeholders out of a record."""
        self._builder = builder
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> Self:
        """Say what is promised: at-least-once (the default) or exactly-once."""
        self._guarantee = delivery_guarantee
        return self

    def set_batch_size(self, rows: int) -> Self:
        """Say how many rows are sent at a time."""
        self._batch_size = rows
        return self

    def set_batch_interval(self, interval: TimeLength) -> Self:
        """Say how long a row waits for others; without it, until there are enough or a checkpoint is taken."""
        self._batch_interval = to_millis(interval)
        return self

    def set_transaction_prefix(self, prefix: str) -> Self:
        """Tell the transactions of this job from those of others on the same server; by default by the job's name."""
        self._transaction_prefix = prefix
        return self

    def build(self) -> MySqlSink:
        """Return the sink."""
        if self._connection is None:
            message = "Where is the database? Call set_url or set_connection_options."
            raise ProgramError(message)
        if self._guarantee is DeliveryGuarantee.NONE:
            message = "A MySqlSink is at-least-once or exactly-once: rows are always sent before a checkpoint."
            raise ProgramError(message)
        if self._batch_size < 1 or self._batch_interval < 0:
            message = f"A batch has at least one row and waits for no negative time: {self._batch_size} rows, "
            message += f"{self._batch_interval} ms."
            raise ProgramError(message)
        settings = MySqlSinkSettings(
            connection=self._connection,
            statement=SqlStatement.parse(self._sql()),
            columns=self._columns,
            builder=self._builder,
            batch_size=self._batch_size,
            batch_interval=self._batch_interval,
        )
        if self._columns is not None and settings.statement.parameters != len(self._columns):
            message = f"{len(self._columns)} columns are named for {settings.statement.parameters} placeholders."
            raise ProgramError(message)
        return MySqlSink(settings, self._guarantee, self._transaction_prefix)

    def _sql(self) -> str:
        if (self._statement is None) == (self._table is None):
            message = "Set either a table or a statement."
            raise ProgramError(message)
        if self._statement is not None:
            if self._key_columns:
                message = "Key columns belong to set_table; a statement of your own says itself what it does with keys."
                raise ProgramError(message)
            return self._statement
        assert self._table is not None
        columns = self._columns or ()
        if self._key_columns:
            return upsert_statement(self._table, columns, self._key_columns)
        return insert_statement(self._table, columns)
