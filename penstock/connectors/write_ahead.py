"""A ``GenericWriteAheadSink`` as a sink: its batches are what is committed.

What was written is remembered per run of the job, by checkpoint. Numbers of checkpoints mean nothing outside of their
run: another run of the program counts from 1 again, and one that goes back to an older checkpoint gives the numbers
behind it a second time. So each batch carries the run that put it together, and is looked up and remembered as one of
that run, also by a later run that finds it in the checkpoint it starts from.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.vocabulary.sinks.protocol import Committer, Delivery, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from penstock.vocabulary.sinks.write_ahead import GenericWriteAheadSink

__all__ = ["WriteAheadSink"]

_log = logging.getLogger("penstock.job")


@dataclass
class _Batch:
    """The records of one subtask between two checkpoints."""

    subtask: int
    timestamp: int
    values: list[Any] = field(default_factory=list)
    checkpoint_id: int = 0
    job_id: str = ""
    """The run that has put it together; before there was this field, all runs of a job were known by its name."""


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
        self._batch = _Batch(self._context.subtask, 0, self._values, job_id=self._context.job_id)
        self._values = []
        return [self._batch]

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        if self._batch is not None:
            self._batch.checkpoint_id = checkpoint_id
            self._batch.timestamp = self._context.checkpoint_timestamp()
            self._batch = None
        return []


class _BatchCommitter(Committer):
    """Sends batches in their order, and remembers each; one that fails is tried again before those behind it."""

    waits_for_checkpoints = True

    def __init__(self, function: GenericWriteAheadSink[Any], context: WriterContext) -> None:
        self._function = function
        self._record = function.committer
        self._record.operator_id = context.operator_id
        self._context = context
        self._opened_for: str | None = None
        self._open_for(context.job_id)

    def commit(self, committables: list[Any]) -> list[Any]:
        for number, batch in enumerate(committables):
            self._open_for(batch.job_id)
            try:
                is_sent = self._is_sent(batch)
            except Exception:
                _log.exception(
                    "the records of checkpoint %d of subtask %d of %s could not be written; they are tried again with"
                    " the next checkpoint",
                    batch.checkpoint_id,
                    batch.subtask,
                    self._context.operator_id,
                )
                is_sent = False
            if not is_sent:
                return committables[number:]  # those behind it wait: the order is kept
        return []

    def _is_sent(self, batch: _Batch) -> bool:
        """Send a batch that was not sent before; tell whether it is there now."""
        if self._record.is_checkpoint_committed(batch.subtask, batch.checkpoint_id):
            return True
        if not self._function.send_values(batch.values, batch.checkpoint_id, batch.timestamp):
            return False
        self._record.commit_checkpoint(batch.subtask, batch.checkpoint_id)
        return True

    def recover(self, committables: list[Any]) -> list[Any]:
        left = self.commit(committables)
        self._open_for(self._context.job_id)
        return left

    def _open_for(self, job_id: str) -> None:
        """Have the committer look at what it remembers of one run."""
        job_id = job_id or self._context.job_name
        if self._opened_for != job_id:
            self.close()
            self._record.job_id = job_id
            self._record.open()
            self._opened_for = job_id

    def close(self) -> None:
        if self._opened_for is not None:
            self._opened_for = None
            self._record.close()
