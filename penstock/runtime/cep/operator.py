"""The operator that matches a pattern: brings events into their order, keeps half matches by key, wakes up for windows.

In event time, events wait until the watermark has passed them. Then each key takes all of its events that are due, and
what is kept of the key is looked up once. In processing time they are matched as they come.
"""

from __future__ import annotations

from functools import cmp_to_key
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.errors import MissingTimestampError, ProgramError
from penstock.runtime.cep.half_matches import Ended, HalfMatch, half_matches, why_no_match
from penstock.runtime.cep.match_output import MatchOutput, open_in_pattern
from penstock.runtime.cep.matcher import Matcher
from penstock.runtime.cep.restored_pattern import pattern_of, restored_runs
from penstock.runtime.cep.run_store import run_store
from penstock.runtime.cep.runs import KeyRuns, events_of
from penstock.runtime.cep.stored_runs import RunCodec
from penstock.runtime.cep.waiting_events import Due, WaitingEvents
from penstock.runtime.elements import MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.key_functions import keys_of
from penstock.runtime.late_records import LateRecords
from penstock.runtime.operator import Operator
from penstock.runtime.timers import InternalTimers, one_by_one
from penstock.vocabulary.cep.pattern_functions import EventComparator
from penstock.vocabulary.functions import Function

if TYPE_CHECKING:
    from penstock.graph.cep.step import PatternStep
    from penstock.runtime.timers import Bucket

__all__ = ["PatternOperator"]

_REMEMBERED_KEYS = 1024
"""Of how many keys the last event is remembered, for explanations."""


class PatternOperator(Operator):
    """Matches the records of each key against a pattern."""

    def __init__(self, step: PatternStep) -> None:
        if step.key is None:
            message = "A pattern step needs a key; a stream without keys is matched under one constant key."
            raise ProgramError(message)
        self.step = step
        self.function = step.function
        self._keys_of = keys_of(step.key)
        self._restored_pattern: dict[str, Any] | None = None

    def open(self) -> None:
        """Prepare state, timers and functions."""
        step, context = self.step, self.context
        backend = context.keyed_state()
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=self._on_event_time,
            on_processing_time=one_by_one(self._on_processing_time),
        )
        self.matcher = Matcher(step.automaton, context.clock.now, step.max_runs)
        codec = RunCodec(step.automaton)
        self.runs = restored_runs(
            lambda: run_store(backend, context.keys, codec), step.automaton, self._restored_pattern
        )
        self.waiting = WaitingEvents(backend, context.keys)
        self._late = LateRecords(
            context, self.output, step.late_tag, 0, "side_output_late_data() on the pattern stream"
        )
        compare = step.comparator.compare if isinstance(step.comparator, EventComparator) else step.comparator
        self._sort_key = None if compare is None else cmp_to_key(compare)
        self._woken: dict[Any, None] = {}
        self._recent: dict[Any, tuple[int, Any]] = {}
        self._ended: dict[Any, Ended] = {}
        self._most_runs = 0
        self._dropped = context.metrics.counter("numRunsDropped")
        context.metrics.gauge("maxRunsPerKey", lambda: self._most_runs)
        for function in step.functions:
            open_in_pattern(function, context)
        self._matches = MatchOutput(step, context, self.output)

    def close(self) -> None:
        """Close the functions."""
        for function in self.step.functions:
            _close(function)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Let a run of records wait for their time, or match them at once in processing time."""
        if not self.step.is_event_time:
            self._process_now(values)
            return
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            raise self._missing_timestamp(values[0 if timestamps is None else timestamps.index(MIN_TIMESTAMP)])
        watermark, waiting = self.timers.current_watermark, self.waiting
        buckets, bucket_of = waiting.buckets, waiting.bucket
        for key, value, timestamp in zip(self._keys_of(values), values, timestamps, strict=True):
            if timestamp <= watermark:
                self._late.take(value, timestamp, watermark)
                continue
            bucket = buckets.get(timestamp)
            if bucket is None:
                bucket = bucket_of(timestamp)
            bucket.append((key, value))
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

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Put half matches and waiting events into the state."""
        self.runs.store()
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
        if self._sort_key is None:
            try:
                for key, value in zip(self._keys_of(values), values, strict=True):
                    self._match(key, [(now, value)], now)
            except Exception as error:
                self._blame(error)
                raise
            self._matches.flush()
            return
        bucket = self.waiting.bucket(now)
        for key, value in zip(self._keys_of(values), values, strict=True):
            keys.key = key
            bucket.append((key, value))
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
        try:
            for key, events in due.items():
                self._match(key, events, now)
        except Exception as error:
            self._blame(error)
            raise
        self._matches.flush()

    def _blame(self, error: Exception) -> None:
        """Find out whether a condition failed, or a function that sees matches, for the explanation of the failure."""
        trace = error.__traceback__
        self.function = self.step.function
        while trace is not None:
            if trace.tb_frame.f_code is Matcher._decide.__code__:
                condition = self.step.automaton.atoms[trace.tb_frame.f_locals["node"].atom].condition
                self.function = getattr(condition, "function", condition)
            trace = trace.tb_next

    def _match(self, key: Any, events: list[tuple[int, Any]], now: int) -> None:
        """Take the events of a key that are due, then let its time be now."""
        self.context.keys.key = key
        found = kept = self.runs.get(key)
        if self._sort_key is not None and len(events) > 1:
            events = self._sorted(events, self._sort_key)
        matcher, out = self.matcher, self._matches
        for timestamp, value in events:
            if kept is None:
                begun = matcher.begins(value, timestamp)
                if not begun[0].branches:
                    continue
                kept = KeyRuns()
                matches = matcher.process(kept, value, timestamp, begun)
            else:
                self._advance(kept, timestamp)
                matches = matcher.process(kept, value, timestamp)
            if matches:
                out.matches(matches, timestamp)
            if not kept.runs and not kept.held:
                self._delete_timer(kept)
                kept = None
        if kept is not None:
            self._advance(kept, now)
            if kept.runs or kept.held:
                self._keep(key, kept, now)
            else:
                self._delete_timer(kept)
                kept = None
        if kept is None and found is not None:
            self.runs.remove(key)
        if events:
            _remember(self._recent, key, events[-1])
        if matcher.ended is not None:
            _remember(self._ended, key, matcher.ended)
            matcher.ended = None
        if matcher.dropped:
            self._drop()

    def half_matches(self, key: Any) -> list[HalfMatch]:
        """Return the half matches of a key."""
        return half_matches(self.step.automaton, self._kept_of(key))

    def why_no_match(self, key: Any) -> str:
        """Return a text that says how far the pattern is for a key."""
        now = self.timers.current_watermark if self.step.is_event_time else self.context.clock.now()
        return why_no_match(
            self.matcher,
            self._kept_of(key),
            key=key,
            now=None if now == MIN_TIMESTAMP else now,
            last=self._recent.get(key),
            ended=self._ended.get(key),
        )

    def _kept_of(self, key: Any) -> KeyRuns | None:
        current = self.context.keys.current()
        self.context.keys.key = key
        kept = self.runs.get(key)
        self.context.keys.restore(current)
        return kept

    def _advance(self, kept: KeyRuns, time: int) -> None:
        matches, timed_out = self.matcher.advance(kept, time)
        if matches:
            self._matches.matches(matches, time)
        if timed_out:
            self._matches.timed_out(timed_out)

    def _keep(self, key: Any, kept: KeyRuns, now: int) -> None:
        if kept.timer is not None and kept.timer <= now:
            kept.timer = None
            kept.is_changed = True
        if kept.is_changed:
            self._set_timer(kept)
            self._most_runs = max(self._most_runs, len(kept.runs))
            kept.is_changed = False
            self.runs.put(key, kept)

    def _set_timer(self, kept: KeyRuns) -> None:
        """Be woken when the time of the first half match of the current key is over, or earlier, as it is already."""
        deadline = self.matcher.deadline(kept)
        if deadline is None:
            return
        if not self.step.is_event_time:
            deadline += 1  # when the clock has passed it
        if kept.timer is None or deadline < kept.timer:
            self._delete_timer(kept)
            kept.timer = deadline
            if self.step.is_event_time:
                self.timers.register_event_time_timer(deadline)
            else:
                self.timers.register_processing_time_timer(deadline)

    def _delete_timer(self, kept: KeyRuns) -> None:
        time, kept.timer = kept.timer, None
        if time is None:
            return
        if self.step.is_event_time:
            self.timers.delete_event_time_timer(time)
        else:
            self.timers.delete_processing_time_timer(time)

    @staticmethod
    def _sorted(events: list[tuple[int, Any]], key: Any) -> list[tuple[int, Any]]:
        """Sort the events of each timestamp by the comparator."""
        return [
            (timestamp, value)
            for timestamp, group in groupby(events, itemgetter(0))
            for value in sorted((event[1] for event in group), key=key)
        ]

    def _drop(self) -> None:
        """Say which half matches were given up because there were too many."""
        dropped, self.matcher.dropped = self.matcher.dropped, []
        self._dropped.inc(len(dropped))
        tag = self.step.dropped_tag
        if tag is not None:
            times = [cell.event.timestamp for cell in dropped] if self.step.is_event_time else None
            self.output.side(tag.tag_id)([events_of(cell) for cell in dropped], times)

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        return MissingTimestampError(
            f"The pattern step {self.context.info.name!r} works in event time, but got a record without a timestamp:"
            f" {value!r:.200}. Call assign_timestamps_and_watermarks() with a strategy that has a timestamp assigner"
            " before it, or in_processing_time() on the pattern stream."
        )


def _remember(memory: dict[Any, Any], key: Any, what: Any) -> None:
    """Keep what is only wanted for explanations, of a limited number of keys."""
    if len(memory) >= _REMEMBERED_KEYS and key not in memory:
        del memory[next(iter(memory))]
    memory[key] = what


def _close(function: Any) -> None:
    if isinstance(function, Function):
        function.close()
        for nested in getattr(function, "nested", ()):
            _close(nested)
