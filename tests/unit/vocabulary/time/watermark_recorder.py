"""A watermark output for tests: keeps what a generator says, monotone as the runtime is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.vocabulary.time.generators import WatermarkOutput
from penstock.vocabulary.time.timestamp_assigners import NO_TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.vocabulary.time.generators import Watermark
    from penstock.vocabulary.time.strategy import WatermarkStrategy


class WatermarkRecorder(WatermarkOutput):
    """Keeps the watermarks that advance and the changes of activity."""

    def __init__(self) -> None:
        self.emitted: list[int] = []
        self.statuses: list[str] = []

    def emit_watermark(self, watermark: Watermark) -> None:
        if not self.emitted or watermark.timestamp > self.emitted[-1]:
            self.emitted.append(watermark.timestamp)

    def mark_idle(self) -> None:
        self.statuses.append("idle")

    def mark_active(self) -> None:
        self.statuses.append("active")


def watermark_after_each(strategy: WatermarkStrategy, values: Iterable[Any]) -> list[int | None]:
    """Returns the watermark after every record, with a periodic emission after every record."""
    own = strategy.isolated()
    generator, recorder = own.create_generator(), WatermarkRecorder()
    assigner = own.timestamp_assigner
    assert assigner is not None
    after: list[int | None] = []
    for value in values:
        generator.on_event(value, assigner.extract_timestamp(value, NO_TIMESTAMP), recorder)
        generator.on_periodic_emit(recorder)
        after.append(recorder.emitted[-1] if recorder.emitted else None)
    return after
