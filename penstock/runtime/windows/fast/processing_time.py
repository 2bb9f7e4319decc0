"""Tumbling and sliding windows by the clock under the trigger they come with: the common case, made fast.

All records of a run come at the same moment, so they have the same windows, which are asked for once. A key needs its
timer when it first comes into a window and never again. Everything else, firing and restoring above all, is left to
:class:`~penstock.runtime.windows.operator.WindowOperator`, whose state and timers these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.exchange.elements import MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.exchange.key_functions import keys_of
from penstock.runtime.windows.contents import ACCUMULATOR, ELEMENTS, adding_of
from penstock.runtime.windows.operator import WindowOperator
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.vocabulary.windows.assigners import SlidingProcessingTimeWindows, TumblingProcessingTimeWindows
from penstock.vocabulary.windows.triggers import ProcessingTimeTrigger

if TYPE_CHECKING:
    from penstock.graph.steps import WindowStep
    from penstock.vocabulary.windows.windows import TimeWindow

__all__ = ["ClockWindowOperator", "has_clock_windows"]


def has_clock_windows(step: WindowStep) -> bool:
    """Tell whether a step can be run by :class:`ClockWindowOperator`."""
    return (
        type(step.assigner) in (TumblingProcessingTimeWindows, SlidingProcessingTimeWindows)
        and (step.trigger is None or type(step.trigger) is ProcessingTimeTrigger)
        and step.evictor is None
    )


class ClockWindowOperator(WindowOperator):
    """Windows that begin and end at the same time of the clock for all keys, on the heap state backend."""

    def open(self) -> None:
        """Choose the way a record is added."""
        super().open()
        backend = self.context.keyed_state()
        self._heap_state = backend if isinstance(backend, HeapStateBackend) else None
        self._descriptor = ELEMENTS if self._accumulation is None else ACCUMULATOR
        self._put = adding_of(self._accumulation)
        self._keys_of = keys_of(self._key)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put a run of records into the windows of this moment."""
        if self._heap_state is None:
            super().process(values, timestamps)
            return
        windows = self.step.assigner.assign_windows(values[0], MIN_TIMESTAMP, self._assigner_context)
        for number, window in enumerate(windows):
            # Each window has records of its own, as a function may change what its window holds.
            self._add_run(window, self._copied_run(values) if number else values, self._heap_state)

    def _add_run(self, window: TimeWindow, values: Values, backend: HeapStateBackend) -> None:
        entries, put, keys = backend.entries(self._descriptor, window), self._put, self.context.keys
        register, last_moment = self.timers.register_processing_time_timer, window.max_timestamp()
        value = NO_RECORD
        try:
            for value, key in zip(values, self._keys_of(values), strict=True):
                keys.key = key
                if key not in entries:
                    register(last_moment, window)
                put(entries, key, value)
        except BaseException as error:
            note_record(error, value)
            raise
