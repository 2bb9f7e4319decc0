"""A ``TwoPhaseCommitSinkFunction`` as a sink: its transactions are what is committed."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.sinks.functions import SinkContext
from penstock.vocabulary.sinks.protocol import Committer, Delivery, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from penstock.vocabulary.sinks.two_phase_commit import TwoPhaseCommitSinkFunction
    from penstock.vocabulary.types.serializer import TypeSerializer

__all__ = ["TwoPhaseCommitSink"]

_log = logging.getLogger("penstock.job")


@dataclass(frozen=True)
class _Prepared:
    """A transaction that waits for its checkpoint, as checkpoints hold it."""

    transaction: Any
    begun: int


class _RecordContext(SinkContext):
    """What the function sees of the record it writes."""

    __slots__ = ("_context", "time")

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self.time: int | None = None

    def current_processing_time(self) -> int:
        return self._context.now()

    def current_watermark(self) -> int:
        return self._context.current_watermark()

    def timestamp(self) -> int | None:
        return self.time


class TwoPhaseCommitSink(Sink[Any]):
    """Drives the function's transactions in step with checkpoints."""

    delivery = Delivery.TRANSACTIONAL

    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any, Any]) -> None:
        self.function = function
        self._handled: list[Any] = []

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Begin the first transaction."""
        self.function._user_context = self.function.initialize_user_context()
        return _TransactionWriter(self.function, context)

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[Any]:
        """Abort the transactions that were open, and begin the first one of this attempt."""
        function = self.function
        for state in states:
            if state["user_context"] is not None:
                function._user_context = _load(state["user_context"], function.context_serializer)
            if state["open"] is not None:
                transaction = _load(state["open"], function.transaction_serializer)
                function.recover_and_abort(transaction)
                self._handled.append(transaction)
        if function._user_context is None:
            function._user_context = function.initialize_user_context()
        function.finish_recovering_context(self._handled)
        return _TransactionWriter(function, context)

    def create_committer(self, context: WriterContext) -> Committer:
        """Return what commits transactions."""
        return _TransactionCommitter(self.function, context, self._handled)


class _TransactionWriter(SinkWriter[Any]):
    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any, Any], context: WriterContext) -> None:
        self._function = function
        self._context = context
        self._record = _RecordContext(context)
        self._has_ended = False
        self._is_open = False
        self._unsaved: list[Any] = []
        """Transactions that are prepared, but that no snapshot holds yet."""
        self._begin()

    def _begin(self) -> None:
        self._transaction = self._function.begin_transaction()
        self._begun = self._context.now()
        self._is_open = True

    def write(self, element: Any, timestamp: int | None) -> None:
        self._record.time = timestamp
        self._function.invoke(self._transaction, element, self._record)

    def flush(self, *, end_of_input: bool) -> None:
        self._has_ended = end_of_input

    def prepare_commit(self) -> list[Any]:
        if not self._is_open:
            return []
        self._function.pre_commit(self._transaction)
        self._is_open = False
        self._unsaved.append(self._transaction)
        prepared = _Prepared(_dump(self._transaction, self._function.transaction_serializer), self._begun)
        if not self._has_ended:
            self._begin()
        return [prepared]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        function = self._function
        user_context = function.get_user_context()
        self._unsaved = []
        return [
            {
                "open": _dump(self._transaction, function.transaction_serializer) if self._is_open else None,
                "user_context": None if user_context is None else _dump(user_context, function.context_serializer),
            }
        ]

    def close(self) -> None:
        lost = [*self._unsaved, self._transaction] if self._is_open else self._unsaved
        self._is_open, self._unsaved = False, []
        for transaction in lost:
            self._function.abort(transaction)


class _TransactionCommitter(Committer):
    def __init__(
        self, function: TwoPhaseCommitSinkFunction[Any, Any, Any], context: WriterContext, handled: list[Any]
    ) -> None:
        self._function = function
        self._context = context
        self._handled = handled

    def commit(self, committables: list[Any]) -> list[Any]:
        first_error: Exception | None = None
        for prepared in committables:
            self._warn_if_late(prepared)
            try:
                self._function.commit(_load(prepared.transaction, self._function.transaction_serializer))
            except Exception as error:  # the others are committed all the same
                first_error = first_error or error
        if first_error is not None:
            raise first_error
        return []

    def recover(self, committables: list[Any]) -> list[Any]:
        function = self._function
        for prepared in committables:
            self._warn_if_late(prepared)
            transaction = _load(prepared.transaction, function.transaction_serializer)
            try:
                function.recover_and_commit(transaction)
            except Exception:
                if not function.ignores_failures_after_timeout or not self._is_over(prepared, 1.0):
                    raise
                _log.exception("a transaction older than its timeout cannot be committed: its records are lost")
            self._handled.append(transaction)
        return []

    def _warn_if_late(self, prepared: _Prepared) -> None:
        ratio = self._function.warning_ratio
        if ratio is not None and self._is_over(prepared, ratio):
            _log.warning(
                "a transaction of %s is committed %d ms after it began, close to or beyond its timeout of %d ms. Take"
                " checkpoints more often, or let the other system keep transactions for longer.",
                self._context.operator_id,
                self._context.now() - prepared.begun,
                self._function.transaction_timeout,
            )

    def _is_over(self, prepared: _Prepared, ratio: float) -> bool:
        timeout = self._function.transaction_timeout
        return timeout is not None and self._context.now() - prepared.begun > timeout * ratio


def _dump(value: Any, serializer: TypeSerializer[Any] | None) -> Any:
    """Return a value as checkpoints hold it: the serializer's bytes, or the value itself for pickle."""
    if serializer is None:
        return value
    stream = io.BytesIO()
    serializer.serialize(value, stream)
    return stream.getvalue()


def _load(value: Any, serializer: TypeSerializer[Any] | None) -> Any:
    return value if serializer is None else serializer.deserialize(io.BytesIO(value))
