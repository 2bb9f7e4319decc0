"""One parallel instance of a vertex: takes elements from its channels in order and drives its chain."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from penstock.graph.partitioning import Forward
from penstock.runtime.checkpoint.barriers import BarrierGate
from penstock.runtime.exchange.elements import (
    BARRIER,
    END,
    END_OF_INPUT,
    MIN_TIMESTAMP,
    RECORDS,
    STATUS,
    WATERMARK,
    Element,
)
from penstock.runtime.sources.splits import NO_WAIT_LIMIT, Poll, SourceOperator, SplitSourceOperator
from penstock.runtime.task.output import Output, entry_of
from penstock.runtime.task.pacing import Pacer
from penstock.runtime.time.valve import WatermarkValve
from penstock.vocabulary.settings.modes import CheckpointKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.checkpoint.options import CheckpointOptions
    from penstock.foundation.clock import Clock
    from penstock.graph.partitioning import Partitioning
    from penstock.graph.plan import Edge
    from penstock.runtime.checkpoint.restoring import RestoredSubtask
    from penstock.runtime.checkpoint.subtask_snapshots import SubtaskSnapshots
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.chain import Chain
    from penstock.runtime.task.context import SubtaskInfo
    from penstock.runtime.time.processing_time import ProcessingTimeService
    from penstock.vocabulary.sources.protocol import SourceSplit

__all__ = ["ChannelKey", "Subtask"]

ChannelKey = tuple[int, int]
"""The edge and the sending subtask."""


def _never() -> bool:
    """Say that nothing is unfinished, for chains whose operators never leave anything so."""
    return False


class Subtask:
    """What Flink calls a subtask: owns state, timers and its clock, and sees records, watermarks and barriers in order.

    ``channels`` lists the input channels as ``(edge, sending subtask, input of the head operator)``, ``edges`` the
    edges in the same order. ``breathe`` is called in the middle of runs that take long: it lets timers fire and
    commands through.
    """

    def __init__(
        self,
        vertex: int,
        info: SubtaskInfo,
        chain: Chain,
        channels: list[tuple[int, int, int]],
        *,
        edges: Sequence[Edge] = (),
        clock: Clock,
        breathe: Callable[[], object],
    ) -> None:
        self.vertex = vertex
        self.info = info
        self.chain = chain
        self.is_finished = False
        self.records_in = 0
        self._pacer = Pacer(clock)
        self._breathe = breathe
        self.valve = WatermarkValve(max(1, len(channels)))
        self.channel_names = [(edge, source) for edge, source, _ in channels]
        self._open_channels = len(channels)
        self._edges = edges
        head = chain.head
        entries = (entry_of(head), entry_of(head, head.process_second))
        self._channels = {
            (edge, source): (number, entries[input_]) for number, (edge, source, input_) in enumerate(channels)
        }
        self._entries = [process for _, process in self._channels.values()]
        self._input = Output([head])
        """What the head is told about time."""
        self._source = head if isinstance(head, SourceOperator) else None
        self._is_unfinished = partial(getattr, chain, "is_unfinished") if chain.sliced else _never
        self._gate: BarrierGate | None = None
        self._snapshots: SubtaskSnapshots | None = None
        self._stopping_with: int | None = None
        """The savepoint behind which this source emits nothing any more."""
        self._waiting: deque[Callable[[], object]] = deque()
        """What comes behind something that the chain has not finished yet."""

    def checkpoint_with(self, snapshots: SubtaskSnapshots, processing_time: ProcessingTimeService) -> None:
        """Take part in checkpoints: barriers are aligned and answered with snapshots."""
        self._snapshots = snapshots
        self._gate = BarrierGate(
            len(self._channels),
            snapshots,
            processing_time,
            self._process,
            self._event_times,
            may_overtake=not any(way.keeps_barriers_in_line for way in self._ways),
        )

    @property
    def is_source(self) -> bool:
        """Tell whether the subtask reads from outside instead of from channels."""
        return self._source is not None

    @property
    def has_running_source(self) -> bool:
        """Tell whether records may come from a thread of the source's own."""
        return self._source is not None and self._source.has_thread and not self.is_finished

    @property
    def idle_millis(self) -> int:
        """Return how long the source may be left alone when it had nothing."""
        return NO_WAIT_LIMIT if self._source is None else self._source.idle_millis

    @property
    def is_behind(self) -> bool:
        """Tell whether the chain has not finished with what it was given, so that nothing more should come."""
        return not self.is_finished and (bool(self._waiting) or self._is_unfinished())

    @property
    def is_waited_for(self) -> bool:
        """Tell whether something waits behind what the chain has not finished."""
        return not self.is_finished and bool(self._waiting)

    def work_off(self) -> bool:
        """Go on with what is unfinished, or with what waits behind it; tell whether there was something."""
        if self.is_finished or (self._stopping_with is not None and not self._waiting):
            return False  # what is left after a savepoint belongs to whoever goes on from it
        if self.chain.is_unfinished:
            self.chain.work_off()
            return True
        if self._waiting:
            self._waiting.popleft()()
            return True
        return False

    def add_splits(self, splits: dict[int, SourceSplit]) -> None:
        """Have the source read more splits, by their numbers; one that is about to end does not begin with them."""
        if isinstance(self._source, SplitSourceOperator) and not self.is_finished and self._stopping_with is None:
            self._source.add_splits(splits)

    def open(self, restored: RestoredSubtask | None = None) -> None:
        """Open the chain, with restored state if there is some; a subtask without any channel is finished at once."""
        if restored is None:
            self.chain.open()
        else:
            restored.open_chain(self.chain, self.info)
            self._replay(restored)
        if self._source is None and not self._channels:
            self.finish()

    def _replay(self, restored: RestoredSubtask) -> None:
        """Process what was in flight, the last operators first: what is on its way to them is older."""
        for operator in reversed(self.chain.operators[1:]):
            replay = restored.replay(operator, [Forward()])
            if replay is not None:
                replay.run([operator.process], operator.process_watermark)
        head = self.chain.head
        replay = restored.replay(head, self._ways)
        if replay is not None:
            entries = (entry_of(head), entry_of(head, head.process_second))
            replay.run([entries[edge.input] for edge in self._edges], self._input.emit_watermark)
            edges = [edge.id for edge in self._edges]
            times = [replay.watermark_of(edges.index(edge), sender) for edge, sender in self.channel_names]
            self.valve.begin_with(replay.watermark, times)

    @property
    def _ways(self) -> list[Partitioning]:
        return [edge.partitioning for edge in self._edges]

    def receive(self, channel: ChannelKey, elements: list[Element]) -> None:
        """Take the elements of a block."""
        number = self._channels[channel][0]
        gate = self._gate
        if gate is not None and gate.held and number in gate.held:
            gate.held[number].append(elements)
        else:
            self._process(number, elements)

    def _process(self, number: int, elements: list[Element]) -> None:
        process, gate, pacer = self._entries[number], self._gate, self._pacer
        is_unfinished = self._is_unfinished
        for position, element in enumerate(elements):
            if is_unfinished() or self._waiting:
                self._waiting.append(partial(self._process_waiting, number, elements[position:]))
                return
            kind = element[0]
            if gate is not None and gate.recording and number in gate.recording and kind < BARRIER:
                gate.record(number, element)
            if kind == RECORDS:
                self.records_in += len(element[1])
                pacer.begin()
                if len(element[1]) <= pacer.limit:
                    process(element[1], element[2])
                    pacer.end(len(element[1]))
                else:
                    self._process_in_parts(number, element[1], element[2])
            elif kind == WATERMARK:
                advanced = self.valve.on_watermark(number, element[1])
                if advanced is not None:
                    self._input.emit_watermark(advanced)
            elif kind == STATUS:
                self._on_status(number, is_idle=element[1])
            elif kind == BARRIER and gate is not None:
                gate.on_barrier(number, element)
                if number in gate.held:
                    gate.held[number].appendleft(elements[position + 1 :])
                    return
            elif kind == END:
                self._end_channel(number)

    def _process_waiting(self, number: int, elements: list[Element]) -> None:
        """Process elements that had to wait; what waits behind them waits on."""
        behind, self._waiting = self._waiting, deque()
        self._process(number, elements)
        self._waiting.extend(behind)

    def _process_in_parts(self, number: int, values: Values, timestamps: Timestamps) -> None:
        """Process a long run piece by piece, with what is due in between."""
        process, gate = self._entries[number], self._gate
        recorded_for = None if gate is None else gate.recording.get(number)
        start = 0
        while start < len(values):
            part = slice(start, start + self._pacer.limit)
            self._pacer.begin()
            process(values[part], None if timestamps is None else timestamps[part])
            start = part.stop
            self._pacer.end(part.stop - part.start)
            if self._is_unfinished() and start < len(values):
                left = (RECORDS, values[start:], None if timestamps is None else timestamps[start:])
                self.records_in -= len(left[1])
                self._waiting.append(partial(self._process_waiting, number, [left]))
                return
            self._breathe()
            if gate is not None and gate.recording.get(number) != recorded_for:
                # An unaligned snapshot was taken in between: the rest of the run is behind it and not in it.
                recorded_for = gate.recording.get(number)
                if recorded_for is not None and start < len(values):
                    rest = None if timestamps is None else timestamps[start:]
                    gate.record(number, (RECORDS, values[start:], rest))

    def _end_channel(self, number: int) -> None:
        self._open_channels -= 1
        if self._gate is not None:
            self._gate.on_channel_end(number)
        if self._open_channels == 0:
            self.finish()

    def _event_times(self) -> list[tuple[int, Element]]:
        """Return elements that bring the event time of each channel back to where it is now."""
        times: list[tuple[int, Element]] = []
        returning: list[tuple[int, Element]] = []
        for number, channel in enumerate(self.valve.channels):
            if channel.watermark > MIN_TIMESTAMP:
                times.append((number, (WATERMARK, channel.watermark)))
            if not channel.is_aligned:
                # Idle, or back from idleness and behind the others still.
                times.append((number, (STATUS, True)))
                if not channel.is_idle:
                    returning.append((number, (STATUS, False)))
        return times + returning

    def _on_status(self, number: int, *, is_idle: bool) -> None:
        advanced, changed = self.valve.on_status(number, is_idle=is_idle)
        if advanced is not None:
            self._input.emit_watermark(advanced)
        if changed is not None:
            self._input.emit_status(changed)

    def poll(self) -> Poll:
        """Ask the source for records; without a source there is nothing to ask."""
        if self._source is None or self.is_finished:
            return Poll.FINISHED
        if self._stopping_with is not None:
            return Poll.NOTHING
        try:
            answer = self._source.poll()
            if answer is Poll.FINISHED:
                self._source.finish()
        except BaseException as error:
            self._source.note_failure(error)
            raise
        if answer is Poll.FINISHED:
            self._in_turn(self.finish)
        return answer

    def _in_turn(self, call: Callable[[], object]) -> None:
        """Do something behind everything that was begun before it."""
        if self.is_behind:
            self._waiting.append(call)
        else:
            call()

    def trigger(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Begin a checkpoint here, in a source, or take part in one after the end.

        A subtask whose senders have all finished is told as well, because no barrier will reach it. It need not do
        anything: there may be records in its channels yet, and behind them comes the end of its input.
        """
        if self._snapshots is None:
            return
        if self.is_finished:
            self._snapshots.take_last(checkpoint_id, options)
            return
        if self._source is None or self._stopping_with is not None:
            return
        if self._waiting or not self.chain.may_be_left or (options.is_draining and self.chain.is_unfinished):
            self._waiting.append(partial(self.trigger, checkpoint_id, options))
            return
        if options.is_draining:
            self._source.finish()
            if self.chain.is_unfinished:
                self._waiting.append(partial(self._begin, self._source, checkpoint_id, options))
                return
        self._begin(self._source, checkpoint_id, options)

    def _begin(self, source: SourceOperator, checkpoint_id: int, options: CheckpointOptions) -> None:
        assert self._snapshots is not None
        with source.held_for_snapshot():
            if not self.chain.may_be_left:  # what the source still had to emit has led to something that takes longer
                self._waiting.append(partial(self._begin, source, checkpoint_id, options))
                return
            self._snapshots.take(checkpoint_id, options, has_recording=False)
        if options.kind is CheckpointKind.STOP:
            self._stopping_with = checkpoint_id

    def on_complete(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint is complete; a source that has stopped with it ends the stream."""
        if self._snapshots is not None:
            self._snapshots.completed(checkpoint_id)
        if self._stopping_with == checkpoint_id and not self.is_finished:
            self.cancel()
            self.finish()

    def on_abort(self, checkpoint_id: int) -> None:
        """Take note that a checkpoint was given up: channels that wait for it go on, a stopped source reads on."""
        if self._snapshots is not None and self._gate is not None:
            if self._stopping_with == checkpoint_id:
                self._stopping_with = None
            self._snapshots.aborted(checkpoint_id)
            self._gate.on_abort(checkpoint_id)

    def cancel(self) -> None:
        """Make the source stop; the end of its input then runs through the job."""
        if self._source is not None and not self.is_finished:
            self._source.cancel()

    def finish(self) -> None:
        """End the input: emit what is held back and tell the successors."""
        if self._snapshots is None or not self._snapshots.is_suspended:
            self.chain.end_input()
        self.chain.quiesce()
        self.chain.broadcast(END_OF_INPUT)
        self.chain.flush()
        self.is_finished = True
        if self._snapshots is not None:
            self._snapshots.finish()

    def close(self) -> None:
        """Close the chain."""
        self.chain.close()
