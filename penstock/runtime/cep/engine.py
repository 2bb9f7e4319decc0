"""One pattern at work for all keys: the matcher, the half matches it keeps, its timers, and what comes out."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_function, note_record
from penstock.runtime.cep.half_matches import Ended, HalfMatch, half_matches, why_no_match
from penstock.runtime.cep.match_output import MatchOutput, open_in_pattern
from penstock.runtime.cep.matcher import Matcher
from penstock.runtime.cep.restored_pattern import restored_runs
from penstock.runtime.cep.run_store import run_store
from penstock.runtime.cep.runs import KeyRuns, events_of
from penstock.runtime.cep.stored_runs import RunCodec
from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.vocabulary.cep.pattern_functions import EventComparator
from penstock.vocabulary.functions.basic import Function

if TYPE_CHECKING:
    from penstock.graph.cep.steps import PatternStep
    from penstock.runtime.cep.waiting_events import Due, Waiting
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output
    from penstock.runtime.time.timers import InternalTimers

__all__ = ["PatternEngine"]

_REMEMBERED_KEYS = 10_000
"""Of how many keys the last event is remembered, for explanations."""


class PatternEngine:
    """Matches one pattern; ``namespace`` keeps its state and timers apart from those of other patterns of the step."""

    def __init__(
        self,
        step: PatternStep,
        context: OperatorContext,
        output: Output,
        timers: InternalTimers,
        *,
        namespace: str | None = None,
        restored_pattern: dict[str, Any] | None = None,
    ) -> None:
        self.step = step
        self.context = context
        self.output = output
        self.timers = timers
        self._namespace = namespace
        self.matcher = Matcher(step.automaton, context.clock.now, step.max_runs)
        backend, codec = context.keyed_state(), RunCodec(step.automaton)
        self.runs = restored_runs(
            lambda: run_store(backend, context.keys, codec, namespace), step.automaton, restored_pattern
        )
        compare = step.comparator.compare if isinstance(step.comparator, EventComparator) else step.comparator
        self._is_first = self.matcher.start_test()
        self.sort_key = None if compare is None else cmp_to_key(compare)
        self._recent: dict[Any, Waiting] = {}
        self._ended: dict[Any, tuple[Any, ...]] = {}
        self.most_runs = 0
        self._dropped = context.metrics.counter("numRunsDropped")
        for function in step.functions:
            open_in_pattern(function, context)
        self._matches = MatchOutput(step, context, output)

    def close(self) -> None:
        """Close the functions."""
        for function in self.step.functions:
            _close(function)

    def flush(self) -> None:
        """Emit the results of matches."""
        self._matches.flush()
        for memory in (self._recent, self._ended):
            if len(memory) > _REMEMBERED_KEYS:
                memory.clear()

    def forget_all(self) -> None:
        """Drop all half matches and timers: the pattern is no longer wanted."""
        for key in list(self.runs.keys()):
            self.context.keys.key = key
            kept = self.runs.get(key)
            if kept is not None:
                self._delete_timer(kept)
            self.runs.remove(key)
        self.runs.store()

    def _note_first(self, error: BaseException, value: Any) -> None:
        """Note that it was the first condition that failed."""
        note_record(error, value)
        if self.matcher.start_atom is not None:
            note_function(error, self.matcher.condition(self.matcher.start_atom))

    def match_all(self, due: Due, now: int) -> None:
        """Take the events of all keys that are due, then let time be now."""
        match, is_first, recent, entries = self.match, self._is_first, self._recent, self.runs.entries
        if is_first is None or entries is None:
            for key, events in due.items():
                match(key, events, now)
            return
        for key, events in due.items():
            # Most events begin nothing and meet nothing.
            if len(events) == 1 and key not in entries:
                event = events[0]
                value = event[2]
                recent[key] = event
                try:
                    if not is_first(value):
                        continue
                except BaseException as error:
                    self._note_first(error, value)
                    raise
                self._begin(key, value, event[0], now)
            else:
                match(key, events, now)

    def _begin(self, key: Any, value: Any, timestamp: int, now: int) -> None:
        """Take an event of a key of which nothing is kept, for which the first condition holds."""
        self.context.keys.key = key
        kept = KeyRuns()
        try:
            matches = self.matcher.begin(kept, value, timestamp)
        except BaseException as error:
            note_record(error, value)
            raise
        if matches:
            self._matches.matches(matches, timestamp)
        if self.matcher.is_over(kept, now):
            self._advance(kept, now)
        if kept.runs or kept.held:
            self._keep(key, kept, now)
        if self.matcher.dropped:
            self._drop()

    def match(self, key: Any, events: list[Waiting], now: int) -> None:
        """Take the events of a key that are due, then let its time be now."""
        self.context.keys.key = key
        found = kept = self.runs.get(key)
        if self.sort_key is not None and len(events) > 1:
            events = self._sorted(events, self.sort_key)
        matcher, out, is_first, is_over = self.matcher, self._matches, self._is_first, self.matcher.is_over
        value = NO_RECORD
        try:
            for timestamp, _, value in events:
                if kept is None:
                    if is_first is not None:
                        try:
                            if not is_first(value):
                                continue
                        except BaseException as error:
                            self._note_first(error, value)
                            raise
                        kept = KeyRuns()
                        matches = matcher.begin(kept, value, timestamp)
                    else:
                        begun = matcher.begins(value, timestamp)
                        if not begun[0].branches:
                            continue
                        kept = KeyRuns()
                        matches = matcher.process(kept, value, timestamp, begun)
                else:
                    if is_over(kept, timestamp):
                        self._advance(kept, timestamp)
                    matches = matcher.process(kept, value, timestamp)
                if matches:
                    out.matches(matches, timestamp)
                if not kept.runs and not kept.held:
                    self._delete_timer(kept)
                    kept = None
        except BaseException as error:
            note_record(error, value)
            raise
        if kept is not None:
            if is_over(kept, now):
                self._advance(kept, now)
            if kept.runs or kept.held:
                self._keep(key, kept, now)
            else:
                self._delete_timer(kept)
                kept = None
        if kept is None and found is not None:
            self.runs.remove(key)
        if events:
            self._recent[key] = events[-1]
        if matcher.ended is not None:
            self._ended[key] = matcher.ended
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
            last=None if key not in self._recent else (self._recent[key][0], self._recent[key][2]),
            ended=None if key not in self._ended else Ended(*self._ended[key]),
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
            self.most_runs = max(self.most_runs, len(kept.runs))
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
                self.timers.register_event_time_timer(deadline, self._namespace)
            else:
                self.timers.register_processing_time_timer(deadline, self._namespace)

    def _delete_timer(self, kept: KeyRuns) -> None:
        time, kept.timer = kept.timer, None
        if time is None:
            return
        if self.step.is_event_time:
            self.timers.delete_event_time_timer(time, self._namespace)
        else:
            self.timers.delete_processing_time_timer(time, self._namespace)

    @staticmethod
    def _sorted(events: list[Waiting], key: Any) -> list[Waiting]:
        """Sort the events of each timestamp by the comparator."""
        return [
            event
            for _, group in groupby(events, itemgetter(0))
            for event in sorted(group, key=lambda event: key(event[2]))
        ]

    def _drop(self) -> None:
        """Say which half matches were given up because there were too many."""
        dropped, self.matcher.dropped = self.matcher.dropped, []
        self._dropped.inc(len(dropped))
        tag = self.step.dropped_tag
        if tag is not None:
            times = [cell.event.timestamp for cell in dropped] if self.step.is_event_time else None
            self.output.side(tag.tag_id)([events_of(cell) for cell in dropped], times)


def _close(function: Any) -> None:
    if isinstance(function, Function):
        function.close()
        for nested in getattr(function, "nested", ()):
            _close(nested)
