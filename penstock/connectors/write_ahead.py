"""A ``GenericWriteAheadSink`` as a sink: its batches are what is committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.connectors.sink_protocol import Committer, Sink, SinkWriter, WriterContext
from penstock.vocabulary.delivery import Delivery

if TYPE_CHECKING:
    from penstock.vocabulary.write_ahead_sink import GenericWriteAheadSink

__all__ = ["WriteAheadSink"]


@dataclass
class _Batch:
    """The records of one subtask between two checkpoints."""

    subtask: int
    timestamp: int
    values: list[Any] = field(default_factory=list)
    checkpoint_id: int = 0


class WriteAheadSink(Sink[Any]):
    """Keeps batches in checkpoints and sends them when the checkpoint is complete."""

    delivery = Delivery.WRITE_AHEAD

    def __init__(self, function: GenericWriteAheadSink[Any]) -> None:
        self.function = function

    def create_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """Begin the first batch."""
        return _BatchWriter(context)

    def create_committer(self, context: WriterContext) -> Committer:
        """Return what sends batches."""
        return _BatchCommitter(self.function, context)


class _BatchWriter(SinkWriter[Any]):
    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._values: list[Any] = []
        self._batch: _Batch | None = None

    def write(self, element: Any, timestamp: int | None) -> None:
        self._values.append(element)

    def write_run(self, elements: list[Any], timestamps: list[int] | None) -> None:
        self._values += elements

    def prepare_commit(self) -> list[Any]:
        if not self._values:
            return []
        self._batch = _Batch(self._context.subtask, self._context.now(), self._values)
        self._values = []
        return [self._batch]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        if self._batch is not None:
            self._batch.checkpoint_id = checkpoint_id
            self._batch = None
        return []


class _BatchCommitter(Committer):
    def __init__(self, function: GenericWriteAheadSink[Any], context: WriterContext) -> None:
        self._function = function
        self._record = function.committer
        self._record.job_id = context.job_name
        self._record.operator_id = context.operator_id
        self._record.open()

    def commit(self, committables: list[Any]) -> list[Any]:
        for number, batch in enumerate(committables):
            if self._record.is_checkpoint_committed(batch.subtask, batch.checkpoint_id):
                continue
            if not self._function.send_values(batch.values, batch.checkpoint_id, batch.timestamp):
                return committables[number:]  # those behind it wait: the order is kept
            self._record.commit_checkpoint(batch.subtask, batch.checkpoint_id)
        return []

    def close(self) -> None:
        self._record.close()
