"""The operator that reads the splits of a source."""

from __future__ import annotations

import enum
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.foundation.failure_context import noting
from penstock.runtime.calls.unusable_results import require_made
from penstock.runtime.checkpoint.awaiting_completion import AwaitingCompletion
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.interpreter_tricks.handover import protect_run
from penstock.runtime.operators.operator import Operator
from penstock.runtime.sources.enumeration import SplitEnumeration
from penstock.runtime.sources.read_checks import checked_read
from penstock.runtime.task.pacing import LONGEST_RUN, Pacer
from penstock.runtime.time.valve import WatermarkValve
from penstock.runtime.time.watermark_assigner import WatermarkAssigner
from penstock.vocabulary.sources.protocol import ReaderContext, Source, SourceSplit, SplitReader

if TYPE_CHECKING:
    from penstock.runtime.time.watermark_assigner import AssignerState
    from penstock.vocabulary.time.strategy import WatermarkStrategy

__all__ = ["NO_WAIT_LIMIT", "READ_LIMIT", "Poll", "SourceOperator", "SplitSourceOperator"]

READ_LIMIT = LONGEST_RUN
"""Records asked of a split at a time."""
NO_WAIT_LIMIT = 1 << 31
"""The milliseconds after which a source that wakes its task up itself is asked again."""


class Poll(enum.Enum):
    """What asking a source has led to."""

    EMITTED = "emitted"
    NOTHING = "nothing"
    FINISHED = "finished"


class SourceOperator(Operator):
    """The head of a chain without input; the task's loop asks it for records."""

    has_thread: ClassVar[bool] = False
    """Whether records come from a thread of the source's own, at any time."""

    @property
    def idle_millis(self) -> int:
        """Return after how many milliseconds a source that had nothing is asked again, if it is not heard of before."""
        return NO_WAIT_LIMIT

    @abstractmethod
    def poll(self) -> Poll:
        """Emit the next records, if there are some, without waiting."""

    def held_for_snapshot(self) -> AbstractContextManager[Any]:
        """Keep what the source has emitted and its own state in step while a snapshot is taken."""
        return nullcontext()

    def cancel(self) -> None:
        """Stop reading; ``poll`` says FINISHED from now on."""

    def finish(self) -> None:
        """Say that event time is over: everything that waits for time fires."""
        self.output.emit_watermark(MAX_TIMESTAMP)


@dataclass
class _OpenSplit:
    split: SourceSplit
    reader: SplitReader[Any]
    index: int
    assigner: WatermarkAssigner | None


class SplitSourceOperator(SourceOperator):
    """Reads its share of a source's splits in turn; event time is the minimum over the splits."""

    def __init__(self, source: Source[Any], strategy: WatermarkStrategy | None) -> None:
        self._source = source
        self._strategy = strategy
        self._splits: dict[int, SourceSplit] = {}
        self._restored: dict[int, SourceSplit] | None = None
        self._positions: dict[str, Any] = {}
        self._times: dict[str, AssignerState] = {}
        self._open: list[_OpenSplit] = []
        self._finished: list[SplitReader[Any]] = []
        self._awaiting: AwaitingCompletion[list[tuple[SplitReader[Any], Any]]] = AwaitingCompletion()
        self._turn = 0
        self._is_cancelled = False
        self._read_up_to = MAX_TIMESTAMP
        self._is_discovering = source.discovery_interval is not None

    def open(self) -> None:
        """Open the splits of this subtask."""
        info = self.context.info
        self._pacer = Pacer(self.context.clock)
        self._valve = WatermarkValve(0)
        self._reader_context = ReaderContext(
            info.index,
            info.parallelism,
            now=self.context.clock.now,
            elapsed=self.context.clock.elapsed,
            wake_up=self.context.services.wake_up,
            side_output=self._emit_aside,
            is_checkpointed=self.context.job.is_checkpointed,
        )
        splits = self._find_splits()
        mine = {split.id for split in splits.values()}
        # What the other subtasks had read is theirs to keep.
        self._positions = {split: position for split, position in self._positions.items() if split in mine}
        self._read_splits(splits)
        if self._is_discovering and not self._open:
            self._become_idle()
        interval = self.context.execution_config.get_auto_watermark_interval()
        if self._strategy is not None and interval > 0:
            self.context.processing_time.schedule_every(interval, noting(self, lambda _: self._on_periodic_emit()))
        alignment = None if self._strategy is None else self._strategy.alignment
        if alignment is not None:
            report = noting(self, lambda _: self._align())
            self.context.processing_time.schedule_every(alignment.update_interval_ms, report)

    def _emit_aside(self, tag: str, records: list[Any]) -> None:
        if self.protects:
            protect_run(records)
        self.output.side(tag)(records, None)

    def _find_splits(self) -> dict[int, SourceSplit]:
        """Return the splits of this subtask, by their numbers among all; an executor has numbered them already."""
        info = self.context.info
        numbered = self.context.services.splits.get(self.context.operator_id)
        if numbered is None:
            numbered = SplitEnumeration(self._source, info.parallelism, self._restored).splits
        return {number: split for number, split in numbered.items() if number % info.parallelism == info.index}

    @property
    def named_part(self) -> Source[Any]:
        """Return the source, which has the program's formats and readers in it."""
        return self._source

    def add_splits(self, splits: dict[int, SourceSplit]) -> None:
        """Read more splits, which were found while the job runs."""
        self._read_splits({number: split for number, split in splits.items() if number not in self._splits})

    def _read_splits(self, splits: dict[int, SourceSplit]) -> None:
        added: list[_OpenSplit] = []
        for number, split in splits.items():
            position = self._positions.get(split.id)
            reader = self._source.open_split(split, position, self._reader_context)
            require_made(reader, SplitReader, "open_split", self._source)
            index = len(self._valve.channels)
            changed = self._valve.add_channel()
            if changed is not None:
                self.output.emit_status(changed)
            opened = _OpenSplit(split, reader, index, self._assigner(index))
            self._splits[number] = split
            self._positions[split.id] = position
            added.append(opened)
        self._open += added
        # Event time goes on once all are there: it is the least of them.
        for opened in added:
            if opened.assigner is not None and opened.split.id in self._times:
                opened.assigner.restore([self._times[opened.split.id]])

    def _align(self, *, is_leaving: bool = False) -> None:
        """Tell the alignment group how far this source is, and learn how far it may go."""
        alignment = None if self._strategy is None else self._strategy.alignment
        align = self.context.services.align
        if alignment is None or align is None:
            return
        member = f"{self.context.operator_id}-{self.context.info.index}"
        watermark = None if is_leaving or self._valve.is_idle or not self._open else self._valve.watermark
        self._read_up_to = align(alignment.group, member, watermark, alignment.max_drift_ms)

    def _assigner(self, index: int) -> WatermarkAssigner | None:
        if self._strategy is None:
            return None
        return WatermarkAssigner(
            self._strategy,
            self.context.clock,
            emit=self.output.emit,
            on_watermark=lambda timestamp: self._on_watermark(index, timestamp),
            on_status=lambda is_idle: self._on_status(index, is_idle=is_idle),
        )

    def poll(self) -> Poll:
        """Emit records of the next split that has some."""
        for _ in range(len(self._open)):
            if self._is_cancelled:
                break
            self._turn = (self._turn + 1) % len(self._open)
            current = self._open[self._turn]
            if current.assigner is not None and current.assigner.watermark > self._read_up_to:
                continue  # ahead of the others of its alignment group
            self._pacer.begin()
            records = current.reader.read(self._pacer.limit)
            if records is None:
                self._finish_split(current)
                return Poll.EMITTED
            values, timestamps = checked_read(records, current.reader.read)
            if values:
                if self.protects:
                    protect_run(values)
                if current.assigner is None:
                    self.output.emit(values, timestamps)
                else:
                    current.assigner.process(values, timestamps)
                self._pacer.end(len(values))
                return Poll.EMITTED
        return Poll.FINISHED if self._is_cancelled or not (self._open or self._is_discovering) else Poll.NOTHING

    @property
    def idle_millis(self) -> int:
        """Return how soon one of the readers wants to be asked again."""
        return min((opened.reader.wait_millis for opened in self._open), default=NO_WAIT_LIMIT)

    def cancel(self) -> None:
        """Stop reading."""
        self._is_cancelled = True

    def finish(self) -> None:
        """Say that event time is over, also for those who thought this source idle."""
        self._align(is_leaving=True)
        self._is_cancelled = True  # no watermark may follow the last one
        if self._valve.is_idle:
            self.output.emit_status(False)  # noqa: FBT003 - the element has exactly this one field
        super().finish()

    def watermarks(self) -> dict[str, tuple[int, int, bool]]:
        """Return, per open split, its watermark, its highest timestamp and whether it is idle."""
        return {
            opened.split.id: (opened.assigner.watermark, opened.assigner.max_timestamp, opened.assigner.is_idle)
            for opened in self._open
            if opened.assigner is not None
        }

    def snapshot(self, checkpoint_id: int) -> dict[str, Any]:
        """Return the splits, finished ones included, their positions, and how far their event time has come."""
        positions = {**self._positions, **{opened.split.id: opened.reader.position() for opened in self._open}}
        times = {each.split.id: each.assigner.snapshot() for each in self._open if each.assigner is not None}
        readers = [(each.reader, positions[each.split.id]) for each in self._open]
        self._awaiting.add(checkpoint_id, [*readers, *((reader, reader.position()) for reader in self._finished)])
        return {"splits": dict(self._splits), "positions": positions, "times": times}

    def notify_complete(self, checkpoint_id: int) -> None:
        """Tell the readers that what they have read is safe; those that are done with it can go."""
        for readers in self._awaiting.completed(checkpoint_id):
            for reader, position in readers:
                reader.committed(position)
                if reader in self._finished:
                    self._finished.remove(reader)
                    reader.close()

    def restore(self, snapshots: list[Any]) -> None:
        """Read on from these positions; each split has one, whichever subtask read it before."""
        self._restored = {}
        for snapshot in snapshots:
            self._restored.update(snapshot["splits"])
            self._positions.update(snapshot["positions"])
            self._times.update(snapshot["times"])

    def close(self) -> None:
        """Close all readers, and then what they share."""
        for reader in [*(opened.reader for opened in self._open), *self._finished]:
            reader.close()
        for shared in self._reader_context.shared.values():
            shared.close()

    def _finish_split(self, finished: _OpenSplit) -> None:
        self._positions[finished.split.id] = finished.reader.position()
        self._open.remove(finished)
        # A reader that wants to hear of checkpoints stays until one holds its last position.
        if type(finished.reader).committed is SplitReader.committed:
            finished.reader.close()
        else:
            self._finished.append(finished.reader)
        if self._open or self._is_discovering:
            # Idle, not at the end of time: while all others are idle, time stays where it is.
            self._on_status(finished.index, is_idle=True)

    def _become_idle(self) -> None:
        """Say that nothing comes from here until there is a split: time must not wait for it."""
        self._valve.is_idle = True
        self.output.emit_status(True)  # noqa: FBT003 - the element has exactly this one field

    def _on_periodic_emit(self) -> None:
        for opened in self._open:
            if opened.assigner is not None and not self._is_cancelled:
                opened.assigner.on_periodic_emit()

    def _on_watermark(self, index: int, timestamp: int) -> None:
        advanced = self._valve.on_watermark(index, timestamp)
        if advanced is not None:
            self.output.emit_watermark(advanced)

    def _on_status(self, index: int, *, is_idle: bool) -> None:
        advanced, changed = self._valve.on_status(index, is_idle=is_idle)
        if advanced is not None:
            self.output.emit_watermark(advanced)
        if changed is not None:
            self.output.emit_status(changed)
