"""Sinks of the program's own that show their output once, with the checkpoint it belongs to."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.vocabulary.sinks.functions import SinkFunction
from penstock.vocabulary.sinks.protocol import Delivery

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.vocabulary.sinks.functions import SinkContext
    from penstock.vocabulary.types.serializer import TypeSerializer

__all__ = ["TwoPhaseCommitSinkFunction"]

In = TypeVar("In")
Transaction = TypeVar("Transaction")
UserContext = TypeVar("UserContext")


class TwoPhaseCommitSinkFunction(SinkFunction[In], Generic[In, Transaction, UserContext]):
    """Writes into transactions that are committed when the checkpoint they belong to is complete.

    A transaction is begun with the first checkpoint period and with each one after; records go into it. When a barrier
    comes it is flushed and closed (``pre_commit``) and becomes part of the checkpoint; when the checkpoint is complete
    it is committed. After a failure, transactions of the restored checkpoint are committed and the one that was open
    is aborted, both from another process than the one that began them: a transaction is a description that can be
    pickled (a name, an id, a path), connections are opened in ``open``.

    Args:
        transaction_serializer: How transactions are stored in checkpoints, pickle if not given.
        context_serializer: How the user context is stored in checkpoints, pickle if not given.
    """

    delivery = Delivery.TRANSACTIONAL

    def __init__(
        self,
        transaction_serializer: TypeSerializer[Any] | None = None,
        context_serializer: TypeSerializer[Any] | None = None,
    ) -> None:
        self.transaction_serializer = transaction_serializer
        self.context_serializer = context_serializer
        self.transaction_timeout: int | None = None
        self.ignores_failures_after_timeout = False
        self.warning_ratio: float | None = None
        self._user_context: UserContext | None = None

    @abstractmethod
    def invoke(  # type: ignore[override] # as in Flink, the transaction comes first
        self, transaction: Transaction, value: In, context: SinkContext
    ) -> None:
        """Write one record into the open transaction."""

    @abstractmethod
    def begin_transaction(self) -> Transaction:
        """Open a transaction for the records up to the next checkpoint."""

    @abstractmethod
    def pre_commit(self, transaction: Transaction) -> None:
        """Flush and close a transaction: after this, committing it must not fail any more."""

    @abstractmethod
    def commit(self, transaction: Transaction) -> None:
        """Make the records of a transaction visible; is called again if it is not certain whether it was done."""

    @abstractmethod
    def abort(self, transaction: Transaction) -> None:
        """Drop the records of a transaction."""

    def recover_and_commit(self, transaction: Transaction) -> None:
        """Commit a transaction of the restored checkpoint, which may have been committed before."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: Transaction) -> None:
        """Abort the transaction that was open when the restored checkpoint was taken."""
        self.abort(transaction)

    def initialize_user_context(self) -> UserContext | None:
        """Return what is to be stored beside the transactions, None for nothing."""
        return None

    def finish_recovering_context(self, handled_transactions: Collection[Transaction]) -> None:
        """Do what is left to do after all transactions of the restored checkpoint were committed or aborted."""

    def get_user_context(self) -> UserContext | None:
        """Return what is stored beside the transactions."""
        return self._user_context

    def set_transaction_timeout(self, transaction_timeout: int) -> Self:
        """Say after how many milliseconds the other system gives a transaction up by itself."""
        self.transaction_timeout = transaction_timeout
        return self

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Let recovery go on without a transaction that is older than the timeout and cannot be committed any more."""
        self.ignores_failures_after_timeout = True
        return self

    def enable_transaction_timeout_warnings(self, warning_ratio: float) -> Self:
        """Log a warning when a transaction is committed, also at a restart, after more than this part of the timeout.

        Raises:
            ValueError: The part is not between 0 and 1.
        """
        if not 0 <= warning_ratio <= 1:
            message = f"The warning ratio is a part of the transaction timeout, from 0 to 1, not {warning_ratio!r}."
            raise ValueError(message)
        self.warning_ratio = warning_ratio
        return self
