"""The operator that reads the splits of a source."""

from __future__ import annotations

import enum
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.connectors.protocols import ReaderContext, Source, SourceSplit, SplitReader
from penstock.runtime.elements import MAX_TIMESTAMP
from penstock.runtime.operator import Operator
from penstock.runtime.pacing import LONGEST_RUN, Pacer
from penstock.runtime.valve import WatermarkValve
from penstock.runtime.watermark_assigner import WatermarkAssigner

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.runtime.watermark_assigner import AssignerState
    from penstock.vocabulary.watermark_strategy import WatermarkStrategy

__all__ = ["READ_LIMIT", "Poll", "SourceOperator", "SplitSourceOperator"]

READ_LIMIT = LONGEST_RUN
"""Records asked of a split at a time."""


class Poll(enum.Enum):
    """What asking a source has led to."""

    EMITTED = "emitted"
    NOTHING = "nothing"
    FINISHED = "finished"


class SourceOperator(Operator):
    """The head of a chain without input; the task's loop asks it for records."""

    has_thread: ClassVar[bool] = False
    """Whether records come from a thread of the source's own, at any time."""

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
        self._turn = 0
        self._is_cancelled = False
        self._read_up_to = MAX_TIMESTAMP

    def open(self) -> None:
        """Open the splits of this subtask."""
        info = self.context.info
        self._pacer = Pacer(self.context.clock)
        self._splits = self._find_splits()
        self._positions = {split.id: self._positions.get(split.id) for split in self._splits.values()}
        self._valve = WatermarkValve(max(1, len(self._splits)))
        reader_context = ReaderContext(info.index, info.parallelism)
        for index, split in enumerate(self._splits.values()):
            reader = self._source.open_split(split, self._positions.get(split.id), reader_context)
            self._open.append(_OpenSplit(split, reader, index, self._assigner(index)))
        for opened in self._open:
            if opened.assigner is not None and opened.split.id in self._times:
                opened.assigner.restore([self._times[opened.split.id]])
        interval = self.context.execution_config.get_auto_watermark_interval()
        if self._strategy is not None and interval > 0:
            self.context.processing_time.schedule_every(interval, lambda _: self._on_periodic_emit())
        alignment = None if self._strategy is None else self._strategy.alignment
        if alignment is not None:
            self.context.processing_time.schedule_every(alignment.update_interval_ms, lambda _: self._align())

    def _find_splits(self) -> dict[int, SourceSplit]:
        """Return the splits of this subtask, by their numbers among all."""
        parallelism, index = self.context.info.parallelism, self.context.info.index
        if self._restored is None:
            splits = self._source.create_splits(parallelism)
        else:
            known = [split for _, split in sorted(self._restored.items())]
            splits = [*known, *self._source.discover_splits(known)]
        return {number: split for number, split in enumerate(splits) if number % parallelism == index}

    def _align(self, *, is_leaving: bool = False) -> None:
        """Tell the alignment group how far this source is, and learn how far it may go."""
        alignment = None if self._strategy is None else self._strategy.alignment
        align: Callable[[str, str, int | None, int], int] | None = self.context.services.get("align")
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
            if records[0]:
                if current.assigner is None:
                    self.output.emit(*records)
                else:
                    current.assigner.process(*records)
                self._pacer.end(len(records[0]))
                return Poll.EMITTED
        return Poll.FINISHED if self._is_cancelled or not self._open else Poll.NOTHING

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
        return {"splits": self._splits, "positions": positions, "times": times}

    def restore(self, snapshots: list[Any]) -> None:
        """Read on from these positions; each split has one, whichever subtask read it before."""
        self._restored = {}
        for snapshot in snapshots:
            self._restored.update(snapshot["splits"])
            self._positions.update(snapshot["positions"])
            self._times.update(snapshot["times"])

    def close(self) -> None:
        """Close all readers."""
        for opened in self._open:
            opened.reader.close()

    def _finish_split(self, finished: _OpenSplit) -> None:
        self._positions[finished.split.id] = finished.reader.position()
        finished.reader.close()
        self._open.remove(finished)
        if self._open:
            # Idle, not at the end of time: while all others are idle, time stays where it is.
            self._on_status(finished.index, is_idle=True)

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
