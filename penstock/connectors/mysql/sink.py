"""The sink for tables of MySQL and MariaDB."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.sinks.protocol import Delivery, DeliveryGuarantee, Sink

if TYPE_CHECKING:
    from penstock.connectors.mysql.sink_builder import MySqlSinkBuilder
    from penstock.connectors.mysql.sink_settings import MySqlSinkSettings
    from penstock.connectors.mysql.xa_session import XaSession
    from penstock.vocabulary.sinks.protocol import Committer, SinkWriter, WriterContext

__all__ = ["MySqlSink"]


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
        from penstock.connectors.mysql.sink_builder import MySqlSinkBuilder

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
