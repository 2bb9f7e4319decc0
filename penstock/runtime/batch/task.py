"""What runs in one task of a batch stage: its subtasks one after the other, and the relay for deeper stages.

The rows of a task come in their order (:mod:`penstock.runtime.batch.rows`). So a subtask is opened, gets all its input,
ends and is closed before the next one begins, and a task holds the state of one key at a time.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from penstock.runtime.batch.channels import bucket_channels
from penstock.runtime.batch.keyed_input import KeyedInput
from penstock.runtime.batch.outcome import CollectedPart, Committables, Part, PrintedPart
from penstock.runtime.batch.rows import KEYED, Place, Row, place_of
from penstock.runtime.exchange.codec import decode
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, RECORDS
from penstock.runtime.sinks.writing import SinkOperator
from penstock.runtime.sources.splits import Poll
from penstock.runtime.task.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.foundation.clock import Clock
    from penstock.graph.job import Job
    from penstock.graph.plan import Edge
    from penstock.runtime.exchange.writer import ChannelWriter
    from penstock.runtime.task.services import TaskServices
    from penstock.runtime.task.subtask import Subtask

__all__ = ["BatchTask"]

_ROWS_AT_A_TIME = 16
_LONGEST_WAIT_SECONDS = 1.0
_ONLY_CHECKPOINT = 1


class BatchTask(Task):
    """Runs the subtasks of one index of a stage.

    Args:
        job: The job.
        stage: The number of the stage.
        index: The number of the task.
        clock: The clock.
        services: What the executor lends to operators.
        attempt: How often the task has been begun before.
    """

    def __init__(
        self, job: Job, stage: int, index: int, *, clock: Clock, services: TaskServices, attempt: int = 0
    ) -> None:
        self.rows: list[Row] = []
        self.parts: list[Part] = []
        """What the program gets of this task: printed lines, collected records, what is to be committed."""
        self._woken = threading.Event()
        services = replace(
            services,
            wake_up=self._woken.set,
            print_lines=lambda lines: self.parts.append(PrintedPart(lines)),
            collect=lambda collection, values: self.parts.append(CollectedPart(collection, values)),
        )
        super().__init__(job, stage, index, clock=clock, services=services, attempt=attempt)

    def run(self, rows: Iterable[Row]) -> Iterator[list[Row]]:
        """Run all subtasks over the rows, which are in their order; yields rows for the next stage."""
        coming = _Coming(rows)
        for vertex in sorted(self.subtasks):
            subtask = self.subtasks[vertex]
            try:
                yield from self._run_subtask(subtask, coming.of_vertex(self.stage, vertex))
            except BaseException as error:
                subtask.chain.head.note_failure(error)  # unless it was one behind it
                raise
        for row, place in coming.rest():
            self.rows.append(Row(self._hop(place.edge, place.target), row.order, row.block))
            yield from self._full()
        yield self._taken()

    def take_parts(self) -> list[Part]:
        """Return what the program gets, and start anew."""
        parts, self.parts[:] = self.parts[:], []
        return parts

    def _run_subtask(self, subtask: Subtask, rows: Iterator[tuple[Row, Place]]) -> Iterator[list[Row]]:
        subtask.open()
        if subtask.is_source:
            yield from self._read_source(subtask)
        else:
            yield from self._read_rows(subtask, rows)
        self._settle(subtask)
        if not (subtask.is_source or subtask.is_finished):
            subtask.chain.head.process_watermark(MAX_TIMESTAMP)
            self._settle(subtask)
            subtask.finish()
        self._gather_committables(subtask)
        subtask.close()
        yield from self._full()

    def _read_source(self, subtask: Subtask) -> Iterator[list[Row]]:
        while not subtask.is_finished:
            self._woken.clear()
            if subtask.poll() is Poll.NOTHING and not self.processing_time.fire_due():
                self._wait(subtask.idle_millis / 1000)
            self._settle(subtask)
            yield from self._full()

    def _read_rows(self, subtask: Subtask, rows: Iterator[tuple[Row, Place]]) -> Iterator[list[Row]]:
        head = subtask.chain.head
        entries = (head.process, head.process_second)
        inputs = {edge.id: edge.input for edge in self.job.plan.inputs_of(subtask.vertex)}
        for row, place in rows:
            if place.phase == KEYED:
                keyed = KeyedInput(subtask, inputs, lambda: self._settle(subtask), self.job.settings.sort_memory)
                for _ in keyed.read(chain([(row, place)], rows)):
                    yield from self._full()
                return
            for element in decode(row.block):
                assert element[0] == RECORDS
                subtask.records_in += len(element[1])
                entries[inputs[place.edge]](element[1], element[2])
                self._settle(subtask)
            yield from self._full()

    def _settle(self, subtask: Subtask) -> None:
        """Finish what was begun, and wait where an operator wants no more for now."""
        operators = subtask.chain
        while operators.sliced and operators.is_unfinished:
            operators.work_off()
        self.processing_time.fire_due()
        while self._limited and any(operator.is_full for operator in self._limited):
            self._woken.clear()
            if not self.processing_time.fire_due():
                self._wait(_LONGEST_WAIT_SECONDS)

    def _wait(self, seconds: float) -> None:
        left = self.processing_time.wait_millis()
        if left is not None:
            seconds = min(seconds, max(0, left) / 1000)
        self._woken.wait(min(seconds, _LONGEST_WAIT_SECONDS))

    def _gather_committables(self, subtask: Subtask) -> None:
        """Take what sinks have prepared; with it the attempt that prepared it hands over the right to commit it."""
        for node, operator in zip(subtask.chain.nodes, subtask.chain.operators, strict=True):
            if isinstance(operator, SinkOperator):
                found = operator.snapshot(_ONLY_CHECKPOINT)["committables"]
                self.parts.append(Committables(node.id, self.index, found))

    def _full(self) -> Iterator[list[Row]]:
        if len(self.rows) >= _ROWS_AT_A_TIME:
            yield self._taken()

    def _taken(self) -> list[Row]:
        rows = self.rows[:]
        self.rows.clear()
        return rows

    def _channels(self, edge: Edge, targets: Iterable[int]) -> list[ChannelWriter]:
        receiver = self.job.plan.vertices[edge.target]
        return bucket_channels(
            edge, receiver, self.index, targets, hop=lambda target: self._hop(edge.id, target), put=self.rows.append
        )


class _Coming:
    """The rows of a task, handed out vertex by vertex."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = ((row, place_of(row.order)) for row in rows)
        self._next = next(self._rows, None)

    def of_vertex(self, stage: int, vertex: int) -> Iterator[tuple[Row, Place]]:
        """Yield the rows of one vertex, which are the next ones."""
        while self._next is not None and self._next[1][:2] == (stage, vertex):
            current = self._next
            yield current
            self._next = next(self._rows, None)

    def rest(self) -> Iterator[tuple[Row, Place]]:
        """Yield all that is left."""
        while self._next is not None:
            yield self._next
            self._next = next(self._rows, None)
