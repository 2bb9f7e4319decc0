"""The operators behind ``sink_to``: writers, and commits in step with checkpoints.

Why nothing is lost and nothing is seen twice: what a writer prepares for a checkpoint is part of that checkpoint's
state before anybody commits it, and it is committed only after the checkpoint is complete. A crash before that point
leaves it out of every checkpoint: it is never committed, and its records are written again. A crash after that point
finds it in the restored state, and it is committed (again) before anything is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import noting
from penstock.runtime.calls.unusable_results import listed, require_made
from penstock.runtime.checkpoint.awaiting_completion import AwaitingCompletion
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import open_function
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.sinks.protocol import Committer, GlobalCommitter, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.exchange.elements import Timestamps, Values

__all__ = ["GlobalCommitOperator", "SinkOperator"]

_RETRY_MILLIS = 1000


class _Commits:
    """Commits in order, and again after a while what could not be committed yet."""

    def __init__(
        self, operator: Operator, commit: Callable[[list[Any]], list[Any]], *, waits_for_checkpoints: bool = False
    ) -> None:
        self._operator = operator
        self._commit = commit
        self._waits_for_checkpoints = waits_for_checkpoints
        self._is_scheduled = False
        self.left: list[Any] = []

    def add(self, committables: list[Any]) -> None:
        if committables or self.left:
            self.run([*self.left, *committables], self._commit)

    def run(self, committables: list[Any], commit: Callable[[list[Any]], list[Any]]) -> None:
        self.left = listed(commit(committables), "commit", commit) if committables else []
        self._try_again_later()

    def input_ends(self) -> None:
        """Wait for no checkpoint any more."""
        self._waits_for_checkpoints = False
        self._try_again_later()

    def _try_again_later(self) -> None:
        if self.left and not self._waits_for_checkpoints and not self._is_scheduled:
            self._is_scheduled = True
            self._operator.context.processing_time.after(
                _RETRY_MILLIS, noting(self._operator, lambda _: self._try_again())
            )

    def _try_again(self) -> None:
        self._is_scheduled = False
        if self.left:
            self.run(self.left, self._commit)


class _SinkPart(Operator):
    """What both operators of a sink have in common: a context for the sink's objects, and state per former subtask."""

    _watermark = MIN_TIMESTAMP
    _commits: _Commits | None = None

    @property
    def may_end(self) -> bool:
        """Tell whether everything that is complete is committed."""
        return self._commits is None or not self._commits.left

    def process_watermark(self, timestamp: int) -> None:
        """Remember event time; nobody comes behind a sink but the one who commits for all."""
        self._watermark = timestamp

    def _writer_context(self) -> WriterContext:
        context, info = self.context, self.context.info
        return WriterContext(
            subtask=info.index,
            parallelism=info.parallelism,
            attempt=info.attempt,
            job_name=context.job.name,
            operator_id=context.operator_id,
            now=context.clock.now,
            schedule=lambda time, call: context.processing_time.schedule(time, noting(self, call)),
            metrics=context.metrics,
            restored_checkpoint=context.restored_checkpoint_id,
            shared_savepoint=context.shared_savepoint,
            job_id=context.job.id,
            checkpoint_timestamp=lambda: context.checkpoint_timestamp,
            current_watermark=lambda: self._watermark,
            patience=context.job.checkpoint_timeout,
        )

    def _taken_over(self, snapshots: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the snapshots of those former subtasks that this one stands for, each with exactly one successor."""
        info = self.context.info
        return [each for each in snapshots if each["subtask"] % info.parallelism == info.index]


class SinkOperator(_SinkPart):
    """Drives the writer and the committer of one subtask of a sink."""

    def __init__(self, sink: Sink[Any], *, emits_committables: bool = False) -> None:
        self.function = sink.function
        self._sink = sink
        self._emits_committables = emits_committables
        self._states: list[Any] | None = None
        self._recovered: list[Any] = []
        self._prepared: list[Any] = []
        self._awaiting: AwaitingCompletion[list[Any]] = AwaitingCompletion()
        self._committer: Committer | None = None
        self._writer: SinkWriter[Any] | None = None
        self._has_ended = False

    def restore(self, snapshots: list[dict[str, Any]]) -> None:
        """Take back what is to be committed, and the states of the writers this one goes on for."""
        mine = self._taken_over(snapshots)
        self._recovered = [committable for each in mine for committable in each["committables"]]
        states = snapshots if self._sink.shares_writer_state else mine
        self._states = [state for each in states for state in each["states"]]

    def open(self) -> None:
        """Commit what the restored checkpoint holds, then begin to write."""
        if self.function is not None:
            open_function(self.function, self.context)
        context = self._writer_context()
        self._committer = self._sink.create_committer(context)
        if self._committer is not None:
            committer = self._committer
            self._commits = _Commits(self, committer.commit, waits_for_checkpoints=committer.waits_for_checkpoints)
            self._commits.run(self._recovered, self._committer.recover)
        if self._states is None:
            self._writer = self._sink.create_writer(context)
        else:
            self._writer = self._sink.restore_writer(context, self._states)
        require_made(self._writer, SinkWriter, "create_writer", self._sink)
        self._write_run = self._writer.write_run

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Write a run of records."""
        self._write_run(values, timestamps)

    def end_input(self) -> None:
        """Prepare the last records: they are committed with the last checkpoint."""
        self._prepare(end_of_input=True)
        self._has_ended = True

    def quiesce(self) -> None:
        """Try commits again by the clock from now on: there may be no other checkpoint."""
        super().quiesce()
        if self._commits is not None:
            self._commits.input_ends()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Make durable what was written so far; what follows belongs to the next checkpoint."""
        if not self._has_ended:
            self._prepare(end_of_input=False)

    def _prepare(self, *, end_of_input: bool) -> None:
        assert self._writer is not None
        self._writer.flush(end_of_input=end_of_input)
        prepare = self._writer.prepare_commit
        committables = listed(prepare(), "prepare_commit", prepare)
        if self._emits_committables and committables:
            self.output.emit(committables, None)
        if self._committer is not None or self.context.job.is_batch:
            self._prepared += committables  # in batch, one place commits for all when the job has ended

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """Return the writer's state and everything that is not committed yet."""
        assert self._writer is not None
        take = self._writer.snapshot_state
        states = listed(take(checkpoint_id), "snapshot_state", take)
        self._awaiting.add(checkpoint_id, self._prepared)
        self._prepared = []
        left = [] if self._commits is None else self._commits.left
        waiting = [committable for each in self._awaiting.items() for committable in each]
        return {"subtask": self.context.info.index, "states": states, "committables": [*left, *waiting]}

    def notify_complete(self, checkpoint_id: int) -> None:
        """Commit what a complete checkpoint holds."""
        ready = self._awaiting.completed(checkpoint_id)
        if self._commits is not None:
            self._commits.add([committable for each in ready for committable in each])

    def close(self) -> None:
        """Close writer, committer and function; the first error is raised after all are closed."""
        closing = [part.close for part in (self._writer, self._committer) if part is not None]
        if isinstance(self.function, Function):
            closing.append(self.function.close)
        _close_all(closing)


class GlobalCommitOperator(_SinkPart):
    """Commits for all writers of a sink; the committables come as records, in front of the barriers."""

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self._recovered: list[Any] = []
        self._prepared: list[Any] = []
        self._awaiting: AwaitingCompletion[list[Any]] = AwaitingCompletion()
        self._committer: GlobalCommitter | None = None
        self._has_ended = False

    def restore(self, snapshots: list[dict[str, Any]]) -> None:
        """Take back what is to be committed."""
        self._recovered = [committable for each in self._taken_over(snapshots) for committable in each["committables"]]

    def open(self) -> None:
        """Commit what the restored checkpoint holds and is not committed yet."""
        committer = self._sink.create_global_committer(self._writer_context())
        require_made(committer, GlobalCommitter, "create_global_committer", self._sink)
        assert committer is not None
        self._committer = committer
        self._commits = _Commits(self, committer.commit)
        if self._recovered:
            chosen = listed(committer.filter_recovered(self._recovered), "filter_recovered", committer.filter_recovered)
            self._commits.run(chosen, committer.commit)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Gather what the writers have prepared."""
        self._prepared += values

    def end_input(self) -> None:
        """Take note that no more will come."""
        self._has_ended = True

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """Return everything that is not committed yet, what came for this checkpoint as one."""
        assert self._committer is not None
        assert self._commits is not None
        combined = [self._committer.combine(self._prepared)] if self._prepared else []
        self._prepared = []
        self._awaiting.add(checkpoint_id, combined)
        waiting = [committable for each in self._awaiting.items() for committable in each]
        return {"subtask": self.context.info.index, "committables": [*self._commits.left, *waiting]}

    def notify_complete(self, checkpoint_id: int) -> None:
        """Commit what a complete checkpoint holds."""
        assert self._committer is not None
        assert self._commits is not None
        ready = self._awaiting.completed(checkpoint_id)
        self._commits.add([committable for each in ready for committable in each])
        if self._has_ended and not self._commits.left and not self._awaiting.items():
            self._committer.end_of_input()

    def close(self) -> None:
        """Close the committer."""
        if self._committer is not None:
            self._committer.close()


def _close_all(closing: list[Callable[[], None]]) -> None:
    first_error: Exception | None = None
    for close in closing:
        try:
            close()
        except Exception as error:
            first_error = first_error or error
    if first_error is not None:
        raise first_error
