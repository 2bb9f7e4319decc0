"""The sink for tables of MySQL and MariaDB, and its builder."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from penstock.connectors.mysql.connection_options import MySqlConnectionOptions
from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
from penstock.connectors.mysql.statement import SqlStatement, insert_statement, upsert_statement
from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery, DeliveryGuarantee, Sink
from penstock.vocabulary.time.durations import to_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.connectors.mysql.xa_session import XaSession
    from penstock.vocabulary.sinks.protocol import Committer, SinkWriter, WriterContext
    from penstock.vocabulary.time.durations import TimeLength

__all__ = ["MySqlSink", "MySqlSinkBuilder"]


# Programs that describe a sink need not load what runs it; methods that run in subtasks import it themselves.


class MySqlSink(Sink[Any]):
    """Writes records as rows of a table; made by ``MySqlSink.builder()``.

    At least once: rows are sent in batches, at the latest before each checkpoint. As an upsert, which writes a row
    under its key, sending rows again changes nothing. Exactly once: rows are sent into XA transactions that are
    prepared with a checkpoint and committed when it is complete.

    Args:
        settings: What is written, and how.
        guarantee: What is promised.
        transaction_prefix: Tells the transactions of this job from those of others; by default the job's name.
    """

    shares_writer_state = True

    def __init__(
        self,
        settings: MySqlSinkSettings,
        guarantee: DeliveryGuarantee = DeliveryGuarantee.AT_LEAST_ONCE,
        transaction_prefix: str | None = None,
    ) -> None:
        self.settings = settings
        self.guarantee = guarantee
        self.transaction_prefix = transaction_prefix
        if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            self.delivery = Delivery.TRANSACTIONAL
        elif settings.statement.is_repeatable:
            self.delivery = Delivery.IDEMPOTENT

    @staticmethod
    def builder() -> MySqlSinkBuilder:
        """Start to describe a sink."""
        return MySqlSinkBuilder()

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Start writing."""
        return self.restore_writer(context, [])

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[Any]:
        """Go on writing, after what is in no checkpoint was rolled back."""
        from penstock.connectors.mysql.batch_writer import BatchWriter
        from penstock.connectors.mysql.connection import MySqlConnection
        from penstock.connectors.mysql.xa_branch import BranchNames
        from penstock.connectors.mysql.xa_writer import XaWriter

        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return BatchWriter(self.settings, context, MySqlConnection(self.settings.connection))
        names = BranchNames.of(context, self.transaction_prefix)
        return XaWriter(self.settings, context, names, self.open_session(), states)

    def create_committer(self, context: WriterContext) -> Committer | None:
        """Return what commits transactions, if there are any."""
        if self.guarantee is not DeliveryGuarantee.EXACTLY_ONCE:
            return None
        from penstock.connectors.mysql.xa_branch import BranchNames
        from penstock.connectors.mysql.xa_committer import XaCommitter

        session = self.open_session()
        # What cannot be committed now is handed back and tried again later, while records go on.
        session.options = replace(session.options, retries=0)
        return XaCommitter(BranchNames.of(context, self.transaction_prefix), session)

    def open_session(self) -> XaSession:
        """Return a connection for transactions; a test's subclass returns one whose steps fail."""
        from penstock.connectors.mysql.xa_session import XaSession

        return XaSession(self.settings.connection)

    def check(self, *, checkpoint_interval: int | None, checkpoint_timeout: int) -> None:
        """Refuse exactly-once without checkpoints."""
        if self.guarantee is DeliveryGuarantee.EXACTLY_ONCE and checkpoint_interval is None:
            message = (
                "An exactly-once MySqlSink commits rows with checkpoints, and this job takes none: its rows would "
                "never be seen. Call env.enable_checkpointing(...), or ask for at-least-once."
            )
            raise ProgramError(message)


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
