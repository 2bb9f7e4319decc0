"""What happens to records that come after all their windows are gone: a side output, or a counter and a warning."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.runtime.exchange.elements import Values
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["LateRecords"]

_LOG = logging.getLogger("penstock.late")
_WARN_EVERY_MS = 10_000
_SHOWN_LENGTH = 200
_WINDOW_ADVICE = "allowed_lateness() or side_output_late_data() on the window"


class LateRecords:
    """Takes the late records of one operator; ``advice`` names the calls that would keep them."""

    def __init__(
        self,
        context: OperatorContext,
        output: Output,
        tag: OutputTag[Any] | None,
        lateness: int,
        advice: str = _WINDOW_ADVICE,
    ) -> None:
        self._advice = advice
        self._step = context.info.label
        self._clock = context.clock
        self._emit = None if tag is None else output.side(tag.tag_id)
        self._lateness = lateness
        self._dropped = context.metrics.counter("numLateRecordsDropped")
        self._dropped_when_warned = 0
        self._next_warning: int | None = None
        self._values: Values = []
        self._timestamps: list[int] = []

    def take(self, value: Any, timestamp: int, watermark: int) -> None:
        """Take a record that no window accepted; one that is merely outside of all windows is not late."""
        if timestamp + self._lateness > watermark:
            return
        if self._emit is not None:
            self._values.append(value)
            self._timestamps.append(timestamp)
            return
        self._dropped.inc()
        now = self._clock.elapsed()
        if self._next_warning is None or now >= self._next_warning:
            self._next_warning = now + _WARN_EVERY_MS
            self._warn(value, timestamp, watermark)

    def flush(self) -> None:
        """Emit what has been gathered for the side output."""
        if self._values and self._emit is not None:
            values, timestamps = self._values, self._timestamps
            self._values, self._timestamps = [], []
            self._emit(values, timestamps)

    def _warn(self, value: Any, timestamp: int, watermark: int) -> None:
        total = self._dropped.get_count()
        dropped, self._dropped_when_warned = total - self._dropped_when_warned, total
        _LOG.warning(
            "Step %r dropped %d late record%s (%d in all). Example: %s with timestamp %d came %d ms behind the"
            " watermark %d, and the allowed lateness is %d ms. To keep such records call %s, or give the watermark"
            " strategy a larger out-of-orderness bound.",
            self._step,
            dropped,
            "" if dropped == 1 else "s",
            total,
            _shown(value),
            timestamp,
            watermark - timestamp,
            watermark,
            self._lateness,
            self._advice,
        )


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        return f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."
