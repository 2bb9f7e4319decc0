"""Runs a watermark strategy: timestamps for records, watermarks and idleness for one split or subtask."""

from __future__ import annotations

from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.foundation.failure_context import NO_RECORD, note_function, note_record
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamps, Values, are_all
from penstock.runtime.interpreter_tricks.parts_taken import simplified_extractor
from penstock.vocabulary.program_checks import UnusableValueError, shown
from penstock.vocabulary.time.generators import MaxTimestampGenerator, Watermark, WatermarkOutput
from penstock.vocabulary.time.time_values import whole_millis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.foundation.clock import Clock
    from penstock.runtime.task.output import Emit
    from penstock.vocabulary.time.strategy import WatermarkStrategy

__all__ = ["AssignerState", "WatermarkAssigner"]

AssignerState: TypeAlias = tuple[int, int, bool]
"""The watermark, the largest timestamp, and whether the stream is idle."""


class WatermarkAssigner(WatermarkOutput):
    """Puts one stream of records through a strategy.

    Watermarks that do not advance are dropped here, so what comes out is monotone. ``on_watermark`` and ``on_status``
    are told at once, after the records that caused it were emitted.
    """

    def __init__(
        self,
        strategy: WatermarkStrategy,
        clock: Clock,
        *,
        emit: Emit,
        on_watermark: Callable[[int], None],
        on_status: Callable[[bool], None],
    ) -> None:
        own = strategy.isolated()
        self._generator = own.create_generator()
        self._generator.set_clock(clock.now)
        assigner = own.timestamp_assigner
        if assigner is not None and hasattr(assigner, "set_clock"):
            assigner.set_clock(clock.now)
        self._extract: Callable[[Any, int], int] | None = None if assigner is None else assigner.extract_timestamp
        self._origin = getattr(assigner, "origin", self._extract)
        self._part = None if self._extract is None else simplified_extractor(self._extract)
        self._idle_timeout = own.idle_timeout_ms
        self._clock = clock
        self._emit = emit
        self._on_watermark = on_watermark
        self._on_status = on_status
        self._last_activity = clock.elapsed()
        self._pending: int | None = None
        self._pending_idle: bool | None = None
        self.watermark = MIN_TIMESTAMP
        self.max_timestamp = MIN_TIMESTAMP
        self.is_idle = False

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Emit records with their timestamps, and the watermarks they cause right behind them."""
        if self._idle_timeout is not None:
            self._last_activity = self._clock.elapsed()
        self._set_idle(is_idle=False)
        generator = self._generator
        if isinstance(generator, MaxTimestampGenerator) and not generator.per_record:
            times = self._timestamps(values, timestamps)
            if times is not None:
                highest = max(times)
                self.max_timestamp = max(self.max_timestamp, highest)
                generator.observe(highest)
            self._emit(values, times)
        else:
            self._process_each(values, timestamps)

    def _timestamps(self, values: Values, timestamps: Timestamps) -> Timestamps:
        extract = self._extract
        if extract is None:
            return timestamps
        remaining = iter(values)
        try:
            if self._part is not None:
                times = list(map(self._part, remaining))
            elif timestamps is None:
                times = [extract(value, MIN_TIMESTAMP) for value in remaining]
            else:
                times = [extract(value, time) for value, time in zip(remaining, timestamps, strict=True)]
        except BaseException as error:
            note_record(error, values[len(values) - length_hint(remaining) - 1])
            if self._part is not None:
                note_function(error, self._origin)
            raise
        return self._checked(times, values)

    def _checked(self, times: list[Any], values: Values) -> list[int]:
        return times if are_all(times, int) else list(map(self._whole, times, values))

    def _whole(self, time: Any, value: Any) -> int:
        return whole_millis(time, "The timestamp assigner returned", self._origin, value)

    def _process_each(self, values: Values, timestamps: Timestamps) -> None:
        """Extract and ask record by record, as an assigner may remember what it saw; cut the run at each watermark."""
        extract, on_event = self._extract, self._generator.on_event
        has_times = extract is not None or timestamps is not None
        run: Values = []
        times: list[int] = []
        value = NO_RECORD
        try:
            for position, value in enumerate(values):
                time = MIN_TIMESTAMP if timestamps is None else timestamps[position]
                if extract is not None:
                    time = extract(value, time)
                    if type(time) is not int:
                        time = self._whole(time, value)
                if self.is_idle:  # said by the generator for the record before
                    self._set_idle(is_idle=False)
                run.append(value)
                times.append(time)
                if time > self.max_timestamp:
                    self.max_timestamp = time
                on_event(value, time, self)
                if self._pending is not None or self._pending_idle is not None:
                    self._emit(run, times if has_times else None)
                    run, times = [], []
                    self._advance()
        except BaseException as error:
            note_record(error, value)
            raise
        if run:
            self._emit(run, times if has_times else None)

    def on_periodic_emit(self) -> None:
        """Ask the generator, as happens once per auto-watermark interval."""
        timeout = self._idle_timeout
        is_silent = timeout is not None and self._clock.elapsed() - self._last_activity >= timeout
        if self.watermark == MAX_TIMESTAMP:
            return
        if is_silent and self.is_idle:
            return  # a generator that goes by the clock must not make a silent stream count again
        self._generator.on_periodic_emit(self)
        self._advance()
        if is_silent:
            self._set_idle(is_idle=True)

    def snapshot(self) -> AssignerState:
        """Return how far event time has come."""
        return self.watermark, self.max_timestamp, self.is_idle

    def restore(self, states: Sequence[AssignerState]) -> None:
        """Go on where event time was; where several streams have become one, with the least of them.

        The generator of a program starts anew, but its watermarks count only once they are later.
        """
        if not states:
            return
        watermark = min(state[0] for state in states)
        self.max_timestamp = min(state[1] for state in states)
        if isinstance(self._generator, MaxTimestampGenerator):
            self._generator.observe(self.max_timestamp)
        if watermark > MIN_TIMESTAMP:
            self.watermark = watermark
            self._on_watermark(watermark)
        if all(state[2] for state in states):
            self._set_idle(is_idle=True)

    def finish(self) -> None:
        """Let no watermark follow: event time has come to its end."""
        self._set_idle(is_idle=False)
        self.watermark = MAX_TIMESTAMP

    def emit_watermark(self, watermark: Watermark) -> None:
        """Take a watermark from the generator."""
        if not isinstance(watermark, Watermark):
            problem = f"emit_watermark() takes a Watermark, not {shown(watermark)}. Write Watermark(time)."
            raise UnusableValueError(problem, self._generator)
        timestamp = watermark.timestamp
        if type(timestamp) is not int:
            timestamp = whole_millis(timestamp, "The watermark generator emitted", self._generator)
        if timestamp > self.watermark and (self._pending is None or timestamp > self._pending):
            self._pending = timestamp
            self._pending_idle = False

    def mark_idle(self) -> None:
        """Take from the generator that this stream is to be left out of the reckoning of time."""
        self._pending_idle = True

    def mark_active(self) -> None:
        """Take from the generator that this stream counts again."""
        self._pending_idle = False

    def _advance(self) -> None:
        """Pass on what the generator has said; the records it has seen went out before."""
        timestamp, is_idle = self._pending, self._pending_idle
        self._pending = self._pending_idle = None
        if timestamp is not None:
            self.watermark = timestamp
            self._set_idle(is_idle=False)
            self._on_watermark(timestamp)
        if is_idle is not None:
            self._set_idle(is_idle=is_idle)

    def _set_idle(self, *, is_idle: bool) -> None:
        if self.is_idle is not is_idle:
            self.is_idle = is_idle
            self._on_status(is_idle)
