"""What runs in one Spark task: subtask i of every vertex of a stage, and the relay for records of deeper stages."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from penstock.graph.partitioning import sources_of, targets_of
from penstock.runtime.checkpoint.subtask_snapshots import SubtaskSnapshots
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.partitioners import make_writer
from penstock.runtime.exchange.record_size import most_record_bytes
from penstock.runtime.exchange.writer import ChannelWriter, ExchangeWriter
from penstock.runtime.operators.operator import Operator
from penstock.runtime.sources.splits import Poll
from penstock.runtime.task.chain import build_chain
from penstock.runtime.task.context import JobInfo, OperatorContext, SubtaskInfo
from penstock.runtime.task.subtask import Subtask
from penstock.runtime.time.processing_time import ProcessingTimeService
from penstock.statestore.backend import KeyContext
from penstock.statestore.open_backend import open_backend
from penstock.vocabulary.metrics import MetricGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.graph.nodes import Node
    from penstock.graph.plan import Edge, Vertex
    from penstock.runtime.checkpoint.restoring import RestoredSubtask
    from penstock.runtime.checkpoint.subtask_snapshots import CheckpointLink
    from penstock.runtime.task.services import TaskServices

__all__ = ["Task"]

_HEADER = struct.Struct("<HHH")
"""The edge, the sending subtask, the receiving subtask."""


class Task:
    """Hosts subtasks, hands them their blocks and gathers the blocks they send.

    ``outbox`` holds ``(task of the next stage, block)`` pairs; whoever drives the task takes them from there.
    """

    def __init__(
        self,
        job: Job,
        stage: int,
        index: int,
        *,
        clock: Clock,
        services: TaskServices,
        attempt: int = 0,
        link: CheckpointLink | None = None,
    ) -> None:
        self.job = job
        self.stage = stage
        self.index = index
        self.clock = clock
        self.processing_time = ProcessingTimeService(clock, fires_timers=not job.is_batch)
        self.outbox: list[tuple[int, bytes]] = []
        self.metrics = MetricGroup(clock.elapsed)
        self._services = services
        checkpoints = job.checkpoints
        self._job_info = JobInfo(
            job.name,
            job.id,
            checkpoints.is_checkpointing_enabled(),
            is_batch=job.is_batch,
            checkpoint_timeout=checkpoints.get_checkpoint_timeout(),
        )
        self._attempt = attempt
        self._most_record_bytes = most_record_bytes(job.settings.options)
        self._link = link
        self._is_released = link is None
        plan = job.plan
        self._edges = {edge.id: edge for edge in plan.edges}
        self._target_stage = {edge.id: plan.vertices[edge.target].stage for edge in plan.edges}
        is_last = stage + 1 >= len(plan.stages)
        self._next_parallelism = 1 if is_last else plan.stages[stage + 1].parallelism
        vertices = [plan.vertices[vertex] for vertex in plan.stages[stage].vertices]
        self.subtasks = {vertex.id: self._build(vertex) for vertex in vertices if index < vertex.parallelism}
        self._sources = [subtask for subtask in self.subtasks.values() if subtask.is_source]
        operators = [operator for subtask in self.subtasks.values() for operator in subtask.chain.operators]
        self._limited = [operator for operator in operators if type(operator).is_full is not Operator.is_full]
        self._sliced = [subtask for subtask in self.subtasks.values() if subtask.chain.sliced]
        self._ending = [operator for operator in operators if type(operator).may_end is not Operator.may_end]
        self._buffer_timeout = min((vertex.buffer_timeout for vertex in vertices), default=0)

    @property
    def buffer_timeout(self) -> int:
        """Return how long a record may wait in an unfilled block, in milliseconds."""
        return self._buffer_timeout

    @property
    def is_finished(self) -> bool:
        """Tell whether every subtask has seen the end of its input."""
        return all(subtask.is_finished for subtask in self.subtasks.values())

    @property
    def may_end(self) -> bool:
        """Tell whether the task has finished and is not needed for the last checkpoint any more."""
        return self._is_released and self.is_finished and not self.has_unfinished_commits

    @property
    def has_unfinished_commits(self) -> bool:
        """Tell whether a sink still has to commit what belongs to a complete checkpoint."""
        return not all(operator.may_end for operator in self._ending)

    def release(self) -> None:
        """Let the task end once it has finished: the coordinator needs it no longer."""
        self._is_released = True

    @property
    def has_running_source(self) -> bool:
        """Tell whether records may come at any time: a source function runs, or a request is under way."""
        return any(subtask.has_running_source for subtask in self._sources) or any(
            operator.is_waiting for operator in self._limited
        )

    @property
    def is_full(self) -> bool:
        """Tell whether the task should get no more input, from outside or from its sources, for now."""
        return any(operator.is_full for operator in self._limited) or any(
            subtask.is_behind and not subtask.is_source for subtask in self._sliced
        )

    def work_off(self) -> bool:
        """Go on with what operators have left unfinished; tell whether there was something."""
        has_worked = False
        for subtask in self._sliced:
            has_worked = subtask.work_off() or has_worked
        return has_worked

    @property
    def is_waited_for(self) -> bool:
        """Tell whether input or a checkpoint waits for something unfinished."""
        return any(subtask.is_waited_for for subtask in self._sliced)

    def open(self, restored: Mapping[int, RestoredSubtask] | None = None) -> None:
        """Open all subtasks, each with the state it is restored from, if any."""
        for vertex, subtask in self.subtasks.items():
            subtask.open(None if restored is None else restored.get(vertex))

    def receive(self, block: bytes) -> None:
        """Take a block: for a subtask of this task, or to pass on."""
        edge_id, source, target = _HEADER.unpack_from(block)
        if self._target_stage[edge_id] == self.stage:
            subtask = self.subtasks[self._edges[edge_id].target]
            subtask.receive((edge_id, source), decode(memoryview(block)[_HEADER.size :]))
        else:
            self.outbox.append((self._hop(edge_id, target), block))

    def poll_sources(self) -> bool:
        """Ask every source once; tell whether one had something."""
        has_emitted = False
        if any(operator.is_full for operator in self._limited):
            return False
        for subtask in self._sources:
            if not (subtask.is_finished or subtask.is_behind) and subtask.poll() is not Poll.NOTHING:
                has_emitted = True
        return has_emitted

    def flush(self) -> None:
        """Send all unfilled blocks."""
        for subtask in self.subtasks.values():
            if not subtask.is_finished:
                subtask.chain.flush()

    @property
    def idle_millis(self) -> int | None:
        """Return how long sources that had nothing may be left alone, ``None`` if they say when they have something."""
        return min((subtask.idle_millis for subtask in self._sources if not subtask.is_finished), default=None)

    def take_outbox(self) -> list[tuple[int, bytes]]:
        """Return the blocks to send and start a new outbox."""
        # The list object stays the same: channel writers hold on to its append.
        blocks = self.outbox[:]
        self.outbox.clear()
        return blocks

    def cancel(self) -> None:
        """Make the sources stop."""
        for subtask in self._sources:
            subtask.cancel()

    def close(self) -> None:
        """Close all subtasks; raise the first error after all are closed."""
        first_error: Exception | None = None
        for subtask in self.subtasks.values():
            try:
                subtask.close()
            except Exception as error:
                first_error = first_error or error
        if first_error is not None:
            raise first_error

    def _hop(self, edge_id: int, target: int) -> int:
        """Return the task of the next stage that a block goes to: the same one for all of a channel, to keep order."""
        is_next = self._target_stage[edge_id] == self.stage + 1
        return target if is_next else target % self._next_parallelism

    def _build(self, vertex: Vertex) -> Subtask:
        plan = self.job.plan

        def writer_of(edge: Edge) -> ExchangeWriter:
            receiver = plan.vertices[edge.target]
            linked = targets_of(edge.partitioning, self.index, vertex.parallelism, receiver.parallelism)
            channels = self._channels(edge, linked)
            writer = make_writer(
                edge.partitioning, channels, subtask=self.index, max_parallelism=receiver.max_parallelism
            )
            writer.receiver = receiver.nodes[0].label
            if self.job.is_batch:
                writer.gather()
            return writer

        chain = build_chain(
            vertex,
            plan.outputs_of(vertex.id),
            make_context=lambda node: self._context(vertex, node),
            make_writer=writer_of,
            is_batch=self.job.is_batch,
        )
        channels = [
            (edge.id, source, edge.input)
            for edge in plan.inputs_of(vertex.id)
            for source in sources_of(
                edge.partitioning, self.index, plan.vertices[edge.source].parallelism, vertex.parallelism
            )
        ]
        subtask = Subtask(
            vertex.id,
            self._info(vertex, vertex.name),
            chain,
            channels,
            edges=plan.inputs_of(vertex.id),
            clock=self.clock,
            breathe=self._do_what_is_due,
        )
        if self._link is not None:
            subtask.checkpoint_with(SubtaskSnapshots((vertex.id, self.index), chain, self._link), self.processing_time)
        return subtask

    def _do_what_is_due(self) -> None:
        """Run commands and let timers fire in the middle of a run that takes long."""
        self._services.run_commands()
        self.processing_time.fire_due()

    def _channels(self, edge: Edge, targets: Iterable[int]) -> list[ChannelWriter]:
        """Return what fills the blocks for each target of an edge."""
        return [self._channel(edge, target) for target in targets]

    def _channel(self, edge: Edge, target: int) -> ChannelWriter:
        header = _HEADER.pack(edge.id, self.index, target)
        hop = self._hop(edge.id, target)
        outbox = self.outbox
        return ChannelWriter(target, lambda _, data: outbox.append((hop, header + data)), self._most_record_bytes)

    def _info(self, vertex: Vertex, name: str) -> SubtaskInfo:
        return SubtaskInfo(name, self.index, vertex.parallelism, vertex.max_parallelism, self._attempt)

    def _context(self, vertex: Vertex, node: Node) -> OperatorContext:
        keys = KeyContext()
        backend = None
        if node.step.has_keyed_state:
            backend = open_backend(
                None if self.job.is_batch else self.job.state_backend,  # one key at a time needs no disk
                keys,
                operator=node.operator_id,
                max_parallelism=vertex.max_parallelism,
                now=self.clock.now,
                compresses=self.job.execution_config.is_use_snapshot_compression(),
            )
        return OperatorContext(
            info=self._info(vertex, node.name),
            operator_id=node.operator_id,
            clock=self.clock,
            processing_time=self.processing_time,
            metrics=self.metrics.add_group(f"{node.name}.{node.id}"),
            execution_config=self.job.execution_config,
            keys=keys,
            state=backend,
            services=self._services,
            job=self._job_info,
        )
