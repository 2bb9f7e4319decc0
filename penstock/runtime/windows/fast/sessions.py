"""Event-time sessions with a fixed gap, under the trigger they come with: the common case, made fast.

Nearly every record belongs to the latest session of its key and makes it longer. The general operator sets the timers
anew for each such record. Here a session has one timer, set when it begins, and is asked for its present end when that
fires. Results, and the state left behind, are those of :class:`~penstock.runtime.windows.operator.WindowOperator`; only
the order among keys whose sessions end at the same moment may be another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.exchange.elements import MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.windows.contents import ACCUMULATOR, ELEMENTS, adding_of
from penstock.runtime.windows.merging import SessionWindows
from penstock.runtime.windows.operator import WindowOperator, WindowTimer
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.triggers import EventTimeTrigger
from penstock.vocabulary.windows.windows import TimeWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.graph.steps import WindowStep

__all__ = ["SessionOperator", "has_plain_sessions"]

_make_tuple = tuple.__new__  # a window is a tuple; made this way it costs half


def has_plain_sessions(step: WindowStep) -> bool:
    """Tell whether a step can be run by :class:`SessionOperator`."""
    return (
        type(step.assigner) is EventTimeSessionWindows
        and (step.trigger is None or type(step.trigger) is EventTimeTrigger)
        and step.evictor is None
        and step.allowed_lateness == 0
    )


class SessionOperator(WindowOperator):
    """Sessions by the records' timestamps, on the heap state backend.

    Without lateness a session is removed when it fires. So every session in the state ends after the watermark, and no
    record fires one by itself.
    """

    def open(self) -> None:
        """Find the ways into the state."""
        super().open()
        backend = self.context.keyed_state()
        self._heap_state = backend if isinstance(backend, HeapStateBackend) else None
        self._gap: int = self.step.assigner.session_gap
        self._descriptor = ELEMENTS if self._accumulation is None else ACCUMULATOR
        self._put = adding_of(self._accumulation)
        # The contents of each state window, as they are in the state.
        self._cells: dict[TimeWindow, dict[Any, Any]] = {}

    @property
    def _sessions(self) -> SessionWindows:
        assert isinstance(self._merging, SessionWindows)
        return self._merging

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put a run of records into their sessions."""
        if self._heap_state is None or timestamps is None:
            super().process(values, timestamps)
            return
        if self._unchecked is not None:
            self._check_first(values)
        key_of, keys, put, cells, gap = self._key, self.context.keys, self._put, self._cells, self._gap
        sessions_of = self._sessions.by_key().get
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                keys.key = key = key_of(value)
                sessions = sessions_of(key)
                if sessions is not None:
                    (start, end), state_window = sessions[-1]
                    if start <= timestamp <= end:
                        if timestamp + gap > end:
                            sessions[-1] = (_make_tuple(TimeWindow, (start, timestamp + gap)), state_window)
                        put(cells[state_window], key, value)
                        continue
                self._add_elsewhere(key, value, timestamp)
        except BaseException as error:
            note_record(error, value)
            raise
        self._flush()

    def _add_elsewhere(self, key: Any, value: Any, timestamp: int) -> None:
        """Begin a session, or add to an earlier one, which may join it with its neighbours."""
        if timestamp == MIN_TIMESTAMP:
            raise self._missing_timestamp(value)
        window = TimeWindow(timestamp, timestamp + self._gap)
        session, state_window = self._sessions.add(window, self._on_merge)
        watermark = self.timers.current_watermark
        if self._cleanup_time(session) <= watermark:
            self._sessions.retire(session)
            self._late.take(value, timestamp, watermark)
            return
        if state_window is window:
            self.timers.register_event_time_timer(window.max_timestamp(), window)
        self._put(self._cell(state_window), key, value)

    def _cell(self, state_window: TimeWindow) -> dict[Any, Any]:
        cell = self._cells.get(state_window)
        if cell is None:
            assert self._heap_state is not None
            cell = self._cells[state_window] = self._heap_state.entries(self._descriptor, state_window)
        return cell

    def _on_merge(
        self, window: Any, replaced: Sequence[Any], state_window: Any, other_state_windows: Sequence[Any]
    ) -> None:
        if self._heap_state is None:
            super()._on_merge(window, replaced, state_window, other_state_windows)
        elif other_state_windows:
            self._contents.merge(state_window, other_state_windows)
            for other in other_state_windows:
                self._drop_if_empty(other)

    def _on_event_time(self, timestamp: int, key: Any, window: Any) -> None:
        """Fire the session that uses a state window, unless it has become longer or has joined another one."""
        if self._heap_state is None:
            super()._on_event_time(timestamp, key, window)
            return
        self.context.keys.key = key
        session = self._sessions.session_of(window)
        if session is None:
            return
        last_moment = session.max_timestamp()
        if last_moment > timestamp:
            self.timers.register_event_time_timer(last_moment, window)
            return
        elements = self._contents.get(window)
        if elements is not None:
            self._emit_window(session, self._evaluate(session, elements))
        self._cells[window].pop(key, None)
        self._drop_if_empty(window)
        if self._frees_state:
            self._clear_function(session)
        self._sessions.retire(session)

    def _drop_if_empty(self, state_window: TimeWindow) -> None:
        if not self._cells[state_window]:
            del self._cells[state_window]
            assert self._heap_state is not None
            self._heap_state.drop_namespace(self._descriptor.name, state_window)

    def event_timers(self) -> list[WindowTimer]:
        """Return a timer at the end of each session, as the general operator has them."""
        if self._heap_state is None:
            return super().event_timers()
        sessions = [(key, window) for key, pairs in self._sessions.by_key().items() for window, _ in pairs]
        return sorted(((window.max_timestamp(), key, window) for key, window in sessions), key=lambda timer: timer[0])

    def restore_event_timers(self, timers: Sequence[WindowTimer]) -> None:
        """Rebuild from the timers of a snapshot what this operator keeps beside the state."""
        if self._heap_state is None:
            super().restore_event_timers(timers)
            return
        for timestamp, key, session in timers:
            self.context.keys.key = key
            state_window = self._sessions.state_window(session)
            if state_window is not None:
                self._cell(state_window)
                self.timers.register_event_time_timer(timestamp, state_window)
