"""The operator that matches a pattern: brings events into their order and lets each key take those that are due.

In event time, events wait until the watermark has passed them. Then each key takes all of its events that are due, and
what is kept of the key is looked up once. In processing time they are matched as they come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import MissingTimestampError, ProgramError
from penstock.foundation.failure_context import noting
from penstock.runtime.cep.engine import PatternEngine
from penstock.runtime.cep.restored_pattern import pattern_of
from penstock.runtime.cep.waiting_events import Due, WaitingEvents
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.exchange.key_functions import keys_of
from penstock.runtime.operators.operator import Operator
from penstock.runtime.time.timers import InternalTimers, one_by_one
from penstock.runtime.windows.late_records import LateRecords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.graph.cep.steps import PatternStep
    from penstock.runtime.cep.half_matches import HalfMatch
    from penstock.runtime.time.timers import Bucket

__all__ = ["PatternOperator"]


class PatternOperator(Operator):
    """Matches the records of each key against a pattern."""

    timers: InternalTimers

    def __init__(self, step: PatternStep) -> None:
        if step.key is None:
            message = "A pattern step needs a key; a stream without keys is matched under one constant key."
            raise ProgramError(message)
        self.step = step
        self.function = step.function
        self._keys_of = keys_of(step.key)
        self._restored_pattern: dict[str, Any] | None = None
        self._is_open = False

    def open(self) -> None:
        """Prepare state, timers and functions."""
        step, context = self.step, self.context
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=self._on_event_time,
            on_processing_time=noting(self, one_by_one(self._on_processing_time)),
        )
        self.waiting = WaitingEvents(context.keyed_state(), context.keys)
        self._late = LateRecords(
            context, self.output, step.late_tag, 0, "side_output_late_data() on the pattern stream"
        )
        self._woken: dict[Any, None] = {}
        self._open_engines()
        self._is_open = True

    def _open_engines(self) -> None:
        self.engine = PatternEngine(
            self.step, self.context, self.output, self.timers, restored_pattern=self._restored_pattern
        )
        self.context.metrics.gauge("maxRunsPerKey", lambda: self.engine.most_runs)

    def close(self) -> None:
        """Close the functions."""
        if self._is_open:
            self.engine.close()

    def half_matches(self, key: Any) -> list[HalfMatch]:
        """Return the half matches of a key."""
        return self.engine.half_matches(key)

    def why_no_match(self, key: Any) -> str:
        """Return a text that says how far the pattern is for a key."""
        return self.engine.why_no_match(key)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Let a run of records wait for their time, or match them at once in processing time."""
        if not self.step.is_event_time:
            self._process_now(values)
            return
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            raise self._missing_timestamp(values[0 if timestamps is None else timestamps.index(MIN_TIMESTAMP)])
        watermark, arrivals = self.timers.current_watermark, self.waiting.arrivals
        events = zip(timestamps, self._keys_of(values), values, strict=True)
        if min(timestamps) > watermark:
            arrivals.extend(events)
            return
        for event in events:
            if event[0] > watermark:
                arrivals.append(event)
            else:
                self._late.take(event[2], event[0], watermark)
        self._late.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Match what the watermark has passed; results go out before it."""
        self.waiting.release()
        self.timers.advance_watermark(timestamp)
        due = self.waiting.take(timestamp)
        for key in self._woken:
            if key not in due:
                due[key] = []
        self._woken.clear()
        self._match_all(due, timestamp)
        self.output.emit_watermark(timestamp)

    def end_key(self) -> None:
        """Match what has come, let time run out, and forget what is still half a match."""
        timers = self.timers
        timers.end_event_time()
        due = self.waiting.take(MAX_TIMESTAMP) if self.step.is_event_time else {}
        for key in self._woken:
            due.setdefault(key, [])
        self._woken.clear()
        if due:
            self._match_all(due, MAX_TIMESTAMP)
        timers.end_processing_time()
        for engine in self._all_engines():
            engine.forget_all()
        timers.begin_key()

    def _all_engines(self) -> Iterable[PatternEngine]:
        return (self.engine,)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Put half matches and waiting events into the state."""
        self.engine.runs.store()
        self.waiting.store()

    def snapshot(self, checkpoint_id: int) -> Any:
        """Return the pattern, for comparison when the snapshot is restored."""
        return pattern_of(self.step.automaton)

    def restore(self, snapshots: list[Any]) -> None:
        """Take back the pattern that the half matches of a snapshot belong to."""
        self._restored_pattern = next(iter(snapshots), None)

    def _process_now(self, values: Values) -> None:
        now = self.context.clock.now()
        keys = self.context.keys
        if self.engine.sort_key is None:
            for key, value in zip(self._keys_of(values), values, strict=True):
                self.engine.match(key, [(now, key, value)], now)
            self.engine.flush()
            return
        for key, value in zip(self._keys_of(values), values, strict=True):
            keys.key = key
            self.waiting.arrivals.append((now, key, value))
            self.timers.register_processing_time_timer(now + 1)

    def _on_event_time(self, _: int, bucket: Bucket) -> None:
        self._woken.update((key, None) for key, _ in bucket)
        bucket.clear()

    def _on_processing_time(self, timestamp: int, key: Any, _: Any) -> None:
        now = max(timestamp, self.context.clock.now())
        due = self.waiting.take(now - 1)
        due.setdefault(key, [])
        self._match_all(due, now)

    def _match_all(self, due: Due, now: int) -> None:
        self.engine.match_all(due, now)
        self.engine.flush()

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        return MissingTimestampError(
            f"The pattern step {self.context.info.name!r} works in event time, but got a record without a timestamp:"
            f" {value!r:.200}. Call assign_timestamps_and_watermarks() with a strategy that has a timestamp assigner"
            " before it, or in_processing_time() on the pattern stream."
        )
