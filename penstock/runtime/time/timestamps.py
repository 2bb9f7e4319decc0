"""The operator of ``assign_timestamps_and_watermarks``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.foundation.failure_context import noting
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, Timestamps, Values
from penstock.runtime.operators.operator import Operator
from penstock.runtime.time.watermark_assigner import WatermarkAssigner

if TYPE_CHECKING:
    from penstock.runtime.time.watermark_assigner import AssignerState
    from penstock.vocabulary.time.strategy import WatermarkStrategy

__all__ = ["TimestampOperator"]


class TimestampOperator(Operator):
    """Gives records timestamps and replaces the stream's watermarks by its own."""

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy
        self._restored: list[AssignerState] = []

    def snapshot(self, checkpoint_id: int) -> AssignerState:
        """Return how far event time has come."""
        return self.assigner.snapshot()

    def restore(self, snapshots: list[AssignerState]) -> None:
        """Go on where event time was.

        A subtask whose input had ended, or whose job was drained, has no time to go on from: if records come all the
        same, from a source that others shared with it or that reads on, they are not late.
        """
        self._restored = [state for state in snapshots if state[0] < MAX_TIMESTAMP]

    def open(self) -> None:
        """Create the assigner and ask it at every auto-watermark interval, also while no data comes."""
        context = self.context
        self.assigner = WatermarkAssigner(
            self._strategy,
            context.clock,
            emit=self.output.emit,
            on_watermark=self.output.emit_watermark,
            on_status=self.output.emit_status,
        )
        self.assigner.restore(self._restored)
        interval = context.execution_config.get_auto_watermark_interval()
        if interval > 0:
            context.processing_time.schedule_every(interval, noting(self, lambda _: self.assigner.on_periodic_emit()))

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Give each record its timestamp."""
        self.assigner.process(values, timestamps)

    def process_watermark(self, timestamp: int) -> None:
        """Drop watermarks from upstream, except the one that says that the input has ended."""
        if timestamp == MAX_TIMESTAMP:
            self.assigner.finish()
            self.output.emit_watermark(timestamp)

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Ignore the status from upstream: the strategy decides about idleness."""
