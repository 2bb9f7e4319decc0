"""Tumbling and sliding event-time windows under the trigger they come with: the common case, made fast.

All keys share the ends of such windows, so one entry in a heap stands for what would be a timer per key, and no trigger
is asked per record. Between two neighbouring starts or ends of windows every record has the same windows; such a
stretch of time is a *pane*, and the windows of the pane of the last record are at hand for the next. Results, their
order and the state left behind are those of :class:`~penstock.runtime.windows.operator.WindowOperator`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.windows.contents import ACCUMULATOR, ELEMENTS, adding_of
from penstock.runtime.windows.functions import frees_state
from penstock.runtime.windows.grouped_fields import add_group, are_groupable, can_group
from penstock.runtime.windows.operator import WindowOperator, WindowTimer
from penstock.statestore.copying import are_fixed, copied
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.triggers import EventTimeTrigger
from penstock.vocabulary.windows.windows import TimeWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.graph.steps import WindowStep
    from penstock.vocabulary.functions.fields import FieldReducer

__all__ = ["AlignedWindowOperator", "has_aligned_windows"]

_Entries = dict[Any, Any]
_Pane = tuple[int, int, list[_Entries]]
"""The first moment of a pane, the first moment behind it, and the contents of its windows, the latest window first."""

_NO_PANE: _Pane = (0, 0, [])


def has_aligned_windows(step: WindowStep) -> bool:
    """Tell whether a step can be run by :class:`AlignedWindowOperator`."""
    return (
        type(step.assigner) in (TumblingEventTimeWindows, SlidingEventTimeWindows)
        and (step.trigger is None or type(step.trigger) is EventTimeTrigger)
        and step.evictor is None
        # With lateness, windows go away between the firings of others, in an order that only timers per key know.
        and not (step.allowed_lateness and frees_state(step.function))
    )


class AlignedWindowOperator(WindowOperator):
    """Windows that begin and end at the same time for all keys, on the heap state backend."""

    def open(self) -> None:
        """Choose the way a record is added."""
        super().open()
        assigner = self.step.assigner
        self._size: int = assigner.size
        self._slide: int = getattr(assigner, "slide", assigner.size)
        self._offset: int = assigner.offset
        backend = self.context.keyed_state()
        self._heap_state = backend if isinstance(backend, HeapStateBackend) else None
        self._descriptor = ELEMENTS if self._accumulation is None else ACCUMULATOR
        # Windows that have not fired yet and, with lateness, those that have, by start; the heaps hold the starts.
        self._open: dict[int, _Entries] = {}
        self._open_starts: list[int] = []
        self._fired: dict[int, _Entries] = {}
        self._fired_starts: list[int] = []
        self._panes: dict[int, _Pane] = {}
        self._put = adding_of(self._accumulation)
        self._add = self._way_of_adding()

    def _way_of_adding(self) -> Callable[[Values, list[int]], None]:
        if self._accumulation is None:
            return self._append
        if self._accumulation.create is not None:
            return self._aggregate
        # Worth it only where a record falls into several windows.
        is_grouped = self._slide < self._size and can_group(self._accumulation.add)
        return self._reduce_groups if is_grouped else self._reduce

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put a run of records into their windows; what fires again at once is emitted behind the run."""
        if self._heap_state is None or timestamps is None:
            super().process(values, timestamps)
            return
        if self._unchecked is not None:
            self._check_first(values)
        if self._slide < self._size and self.protects and not are_fixed(values):
            self._add_copies(values, timestamps)
        else:
            self._add(values, timestamps)
        self._flush()

    def _add_copies(self, values: Values, timestamps: list[int]) -> None:
        """Put a copy of each record into each of its windows: functions may change what a window holds."""
        key_of, keys, put = self._key, self.context.keys, self._put
        low, high, windows = _NO_PANE
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    low, high, windows = self._pane_at(timestamp)
                keys.key = key = key_of(value)
                if not windows:
                    self._add_singly(key, value, timestamp)
                for entries in windows:
                    put(entries, key, copied(value))
        except BaseException as error:
            note_record(error, value)
            raise

    def _reduce(self, values: Values, timestamps: list[int]) -> None:
        assert self._accumulation is not None
        how = self._accumulation
        key_of, keys, reduce = self._key, self.context.keys, how.add
        low, high, windows = _NO_PANE
        only: _Entries | None = None
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    low, high, windows = self._pane_at(timestamp)
                    only = windows[0] if len(windows) == 1 else None
                keys.key = key = key_of(value)
                if only is not None:  # tumbling windows are spared the loop
                    known = only.get(key)
                    if known is None:
                        only[key] = value
                    else:
                        only[key] = result = reduce(known, value)
                        if result is None:
                            raise how.returned_none(value)
                    continue
                if not windows:
                    self._add_singly(key, value, timestamp)
                for entries in windows:
                    known = entries.get(key)
                    entries[key] = result = value if known is None else reduce(known, value)
                    if result is None and known is not None:
                        raise how.returned_none(value)
        except BaseException as error:
            note_record(error, value)
            raise

    def _reduce_groups(self, values: Values, timestamps: list[int]) -> None:
        """Combine the records of a key and pane first, and add what they come to, once, to each of their windows."""
        assert self._accumulation is not None
        reducer: FieldReducer = self._accumulation.add  # type: ignore[assignment]
        if not are_groupable(values, reducer):
            self._add = self._reduce  # from now on, as a sum that was begun with floats depends on the order
            self._reduce(values, timestamps)
            return
        key_of, combine = self._key, reducer.combine_tuples
        low, high, windows = _NO_PANE
        group: _Entries = {}
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    add_group(group, windows, combine)
                    group = {}
                    low, high, windows = self._pane_at(timestamp)
                key = key_of(value)
                if windows:
                    known = group.get(key)
                    group[key] = value if known is None else combine(known, value)
                else:
                    self.context.keys.key = key
                    self._add_singly(key, value, timestamp)
        except BaseException as error:
            note_record(error, value)
            raise
        add_group(group, windows, combine)

    def _aggregate(self, values: Values, timestamps: list[int]) -> None:
        assert self._accumulation is not None
        assert self._accumulation.create is not None
        key_of, keys, add, create = self._key, self.context.keys, self._accumulation.add, self._accumulation.create
        low, high, windows = _NO_PANE
        only: _Entries | None = None
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    low, high, windows = self._pane_at(timestamp)
                    only = windows[0] if len(windows) == 1 else None
                keys.key = key = key_of(value)
                if only is not None:
                    known = only.get(key)
                    only[key] = result = add(value, create() if known is None else known)
                    if result is None:
                        raise self._accumulation.returned_none(value)
                    continue
                if not windows:
                    self._add_singly(key, value, timestamp)
                for entries in windows:
                    known = entries.get(key)
                    entries[key] = result = add(value, create() if known is None else known)
                    if result is None:
                        raise self._accumulation.returned_none(value)
        except BaseException as error:
            note_record(error, value)
            raise

    def _append(self, values: Values, timestamps: list[int]) -> None:
        key_of, keys = self._key, self.context.keys
        low, high, windows = _NO_PANE
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    low, high, windows = self._pane_at(timestamp)
                keys.key = key = key_of(value)
                if not windows:
                    self._add_singly(key, value, timestamp)
                for entries in windows:
                    known = entries.get(key)
                    if known is None:
                        entries[key] = [value]
                    else:
                        known.append(value)
        except BaseException as error:
            note_record(error, value)
            raise

    def _pane_at(self, timestamp: int) -> _Pane:
        """Return the pane of a moment; it shows no windows if one of them has fired: records are then added singly."""
        size, slide = self._size, self._slide
        latest = timestamp - (timestamp - self._offset) % slide
        # Starts run down to the last one whose window still contains the moment.
        count = (latest - timestamp + size - 1) // slide + 1
        earliest = latest - (count - 1) * slide
        low = max(latest, earliest - slide + size)
        pane = self._panes.get(low)
        if pane is None:
            high = min(latest + slide, earliest + size)
            starts = range(latest, earliest - 1, -slide)
            is_open = (
                earliest + size - 1 > self.timers.current_watermark
                and timestamp != MIN_TIMESTAMP
                # After a restart there is no watermark yet, but windows that have fired.
                and self._fired.keys().isdisjoint(starts)
            )
            pane = (low, high, [self._open_window(start) for start in starts] if is_open else [])
            if is_open:
                self._panes[low] = pane
        return pane

    def _open_window(self, start: int) -> _Entries:
        return self._entries(start, self._open, self._open_starts)

    def _fired_window(self, start: int) -> _Entries:
        return self._entries(start, self._fired, self._fired_starts)

    def _entries(self, start: int, known: dict[int, _Entries], starts: list[int]) -> _Entries:
        """Return what a window holds, by key; a new one is put to the others of its kind."""
        entries = known.get(start)
        if entries is None:
            assert self._heap_state is not None
            window = TimeWindow(start, start + self._size)
            entries = known[start] = self._heap_state.entries(self._descriptor, window)
            heapq.heappush(starts, start)
        return entries

    def _add_singly(self, key: Any, value: Any, timestamp: int) -> None:
        """Add a record some of whose windows have fired or are gone, or which has none."""
        if timestamp == MIN_TIMESTAMP:
            raise self._missing_timestamp(value)
        watermark = self.timers.current_watermark
        is_skipped = True
        latest = timestamp - (timestamp - self._offset) % self._slide
        for start in range(latest, timestamp - self._size, -self._slide):
            last_moment = start + self._size - 1
            if min(last_moment + self._lateness, MAX_TIMESTAMP) <= watermark:
                continue
            is_skipped = False
            has_fired = last_moment <= watermark or start in self._fired
            entries = self._fired_window(start) if has_fired else self._open_window(start)
            self._put(entries, key, self._copied(value))
            if has_fired:
                self._fire(TimeWindow(start, start + self._size), {key: entries[key]})
        if is_skipped:
            self._late.take(value, timestamp, watermark)

    def process_watermark(self, timestamp: int) -> None:
        """Fire the windows that end; their results go out before the watermark."""
        if self._heap_state is None:
            super().process_watermark(timestamp)
            return
        self.timers.current_watermark = timestamp
        starts = self._open_starts
        # The last moment of a window has passed, so its start is at most this.
        limit = timestamp - self._size + 1
        if starts and starts[0] <= limit:
            self._panes.clear()
            while starts and starts[0] <= limit:
                self._end_window(heapq.heappop(starts))
        kept = self._fired_starts
        while kept and kept[0] <= limit - self._lateness:
            start = heapq.heappop(kept)
            self._drop(start, self._fired.pop(start))
        self._flush()
        self.output.emit_watermark(timestamp)

    def _end_window(self, start: int) -> None:
        entries = self._open.pop(start)
        window = TimeWindow(start, start + self._size)
        if self._frees_state:
            for key in list(entries):
                self._fire(window, {key: entries.pop(key)})
                self._clear_function(window)
        else:
            self._fire(window, entries)
        if self._lateness:
            self._fired[start] = entries
            heapq.heappush(self._fired_starts, start)
        else:
            self._drop(start, entries)

    def _drop(self, start: int, entries: _Entries) -> None:
        entries.clear()
        window = TimeWindow(start, start + self._size)
        assert self._heap_state is not None
        self._heap_state.drop_namespace(self._descriptor.name, window)
        self._window_context.forget(window)

    def _fire(self, window: TimeWindow, entries: _Entries) -> None:
        """Evaluate a window for some keys, in the order in which they came into it."""
        keys, evaluate, how = self.context.keys, self._evaluate, self._accumulation
        result_of = None if how is None else how.result
        if self.step.function is None:
            accumulators = [known for known in entries.values() if known is not None]
            self._emit_window(window, accumulators if result_of is None else map(result_of, accumulators))
            return
        for key, known in entries.items():
            if known is not None:
                keys.key = key
                elements = known.copy() if how is None else [known if result_of is None else result_of(known)]
                if self._lateness:  # the function may change what it is given, and the window may be seen again
                    elements = self._copied_run(elements)
                self._emit_window(window, evaluate(window, elements))

    def event_timers(self) -> list[WindowTimer]:
        """Return a timer per key for each firing and each removal to come, as the general operator has them."""
        if self._heap_state is None:
            return super().event_timers()
        timers: list[WindowTimer] = []
        for windows, is_open in ((self._open, True), (self._fired, False)):
            for start, entries in windows.items():
                window = TimeWindow(start, start + self._size)
                cleanup_time = self._cleanup_time(window)
                times = {window.max_timestamp(), cleanup_time} if is_open else {cleanup_time}
                timers += [(time, key, window) for key in entries for time in times if time != MAX_TIMESTAMP]
        return sorted(timers, key=lambda timer: timer[0])

    def restore_event_timers(self, timers: Sequence[WindowTimer]) -> None:
        """Rebuild from the timers of a snapshot what this operator keeps beside the state."""
        if self._heap_state is None:
            super().restore_event_timers(timers)
            return
        if timers and self._add == self._reduce_groups:
            self._add = self._reduce  # the restored contents may be floats
        windows = {window: False for _, _, window in timers}
        windows.update((window, True) for time, _, window in timers if time == window.max_timestamp())
        for window, is_open in windows.items():
            if is_open:
                self._open_window(window.start)
            else:
                self._fired_window(window.start)
