"""Commits what the sinks of a batch job have prepared, once all of its tasks have succeeded.

Until then nothing is visible. Each subtask has one set of committables: that of the attempt whose result was taken.
Whatever other attempts have prepared is never committed, and is removed by the attempts behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import JobFailedError, PenstockError
from penstock.graph.packing import own_copy
from penstock.runtime.calls.unusable_results import listed
from penstock.runtime.diagnostics.failure import explain_unusable
from penstock.runtime.task.context import OperatorContext, SubtaskInfo, open_function
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.statestore.backend import KeyContext
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.metrics import MetricGroup
from penstock.vocabulary.program_checks import UnusableValueError
from penstock.vocabulary.sinks.protocol import WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.graph.nodes import Node
    from penstock.runtime.batch.outcome import Committables

__all__ = ["commit_all"]

_RETRY_SECONDS = 1.0
_ATTEMPTS = 60


def commit_all(job: Job, prepared: Iterable[Committables], clock: Clock, wait: Callable[[float], Any]) -> None:
    """Commit everything, sink by sink and subtask by subtask.

    Args:
        job: The job.
        prepared: What the subtasks of all sinks have prepared.
        clock: The clock.
        wait: Waits for so many seconds.

    Raises:
        PenstockError: Something cannot be committed.
    """
    nodes = {node.id: (node, vertex) for vertex in job.plan.vertices.values() for node in vertex.nodes}
    by_node: dict[int, list[Committables]] = {}
    for each in prepared:
        by_node.setdefault(each.node, []).append(each)
    for node_id, parts in sorted(by_node.items()):
        node, vertex = nodes[node_id]
        sink = _Sink(job, node, vertex.parallelism, vertex.max_parallelism, clock, wait)
        try:
            sink.commit(sorted(parts, key=lambda part: part.subtask))
        except UnusableValueError as error:
            raise explain_unusable(error, node.label) from error
        except PenstockError:
            raise
        except Exception as error:
            message = f"The sink {node.label!r} cannot commit: {type(error).__name__}: {error}"
            raise JobFailedError(message) from error


class _Sink:
    """The committing half of one sink."""

    def __init__(
        self, job: Job, node: Node, parallelism: int, max_parallelism: int, clock: Clock, wait: Callable[[float], Any]
    ) -> None:
        self._job = job
        self._node = node
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._clock = clock
        self._wait = wait
        self._processing_time = ProcessingTimeService(clock)

    def commit(self, parts: list[Committables]) -> None:
        """Commit for each subtask, then, where the sink has it, for all of them together."""
        for part in parts:
            if part.prepared:
                self._commit_subtask(part)
        if self._node.step.emits_committables:  # type: ignore[attr-defined]
            self._commit_globally([committable for part in parts for committable in part.prepared])

    def _commit_subtask(self, part: Committables) -> None:
        sink: Any = own_copy(self._node.step).sink  # type: ignore[attr-defined]
        function = sink.function
        if function is not None:
            open_function(function, self._context(part.subtask))
        committer = None
        try:
            committer = sink.create_committer(self._writer_context(part.subtask))
            if committer is not None:
                self._commit_until_done(committer.commit, part.prepared)
        finally:
            if committer is not None:
                committer.close()
            if isinstance(function, Function):
                function.close()

    def _commit_globally(self, committables: list[Any]) -> None:
        sink: Any = own_copy(self._node.step).sink  # type: ignore[attr-defined]
        committer = sink.create_global_committer(self._writer_context(0))
        try:
            if committables:
                self._commit_until_done(committer.commit, [committer.combine(committables)])
            committer.end_of_input()
        finally:
            committer.close()

    def _commit_until_done(self, commit: Callable[[list[Any]], list[Any]], committables: list[Any]) -> None:
        left = listed(commit(committables), "commit", commit)
        for _ in range(_ATTEMPTS):
            if not left:
                return
            self._wait(_RETRY_SECONDS)
            left = listed(commit(left), "commit", commit)
        message = f"The sink {self._node.label!r} could not commit {len(left)} transactions in {_ATTEMPTS} attempts."
        raise JobFailedError(message)

    def _context(self, subtask: int) -> OperatorContext:
        info = SubtaskInfo(self._node.name, subtask, self._parallelism, self._max_parallelism)
        return OperatorContext(
            info=info,
            operator_id=self._node.operator_id,
            clock=self._clock,
            processing_time=self._processing_time,
            metrics=MetricGroup(self._clock.now),
            execution_config=self._job.execution_config,
            keys=KeyContext(),
        )

    def _writer_context(self, subtask: int) -> WriterContext:
        return WriterContext(
            subtask=subtask,
            parallelism=self._parallelism,
            attempt=0,
            job_name=self._job.name,
            operator_id=self._node.operator_id,
            now=self._clock.now,
            schedule=self._processing_time.schedule,
            metrics=MetricGroup(self._clock.now),
            job_id=self._job.id,
        )
