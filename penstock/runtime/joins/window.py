"""Window joins and co-groups: the window operators, filled from two inputs.

A window holds the records of both streams as :class:`~penstock.vocabulary.windows.windows.TaggedUnion`. Assigner,
trigger, evictor and lateness work as for any window; when it fires, its records are divided into the two sides again.
"""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.graph.steps import WindowStep
from penstock.runtime.joins.functions import group_call
from penstock.runtime.task.context import open_function
from penstock.runtime.windows.fast.aligned import AlignedWindowOperator, has_aligned_windows
from penstock.runtime.windows.fast.sessions import SessionOperator, has_plain_sessions
from penstock.runtime.windows.operator import WindowOperator
from penstock.statestore.copying import are_fixed, copied
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.windows.windows import TaggedUnion

if TYPE_CHECKING:
    from penstock.graph.multi_input_steps import CoGroupStep
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.vocabulary.windows.windows import TimeWindow

__all__ = ["build_plain_window_join", "build_window_join"]

_tagged = partial(tuple.__new__, TaggedUnion)  # half the price of calling the class


class _CoGroupOperator(WindowOperator):
    """Windows over two streams."""

    def __init__(self, step: CoGroupStep) -> None:
        self._kind = step.kind
        super().__init__(
            WindowStep(
                key=step.key,
                assigner=step.assigner,
                trigger=step.trigger,
                evictor=step.evictor,
                allowed_lateness=step.allowed_lateness,
                late_tag=step.late_tag,
                function=lambda key, window, elements: self._call(*_sides(elements)),
            )
        )
        self.function = step.function
        self._keys_of = step.input_keys

    def open(self) -> None:
        """Open the function, then the windows."""
        self._call = group_call(self.function, self._kind, protects=self.protects)
        open_function(self.function, self.context)
        super().open()

    def close(self) -> None:
        """Close the function."""
        if isinstance(self.function, Function):
            self.function.close()

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Put records of the first stream into their windows."""
        self._process_tagged(0, values, timestamps)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Put records of the second stream into their windows."""
        self._process_tagged(1, values, timestamps)

    def _process_tagged(self, number: int, values: Values, timestamps: Timestamps) -> None:
        super().process(list(map(_tagged, zip(repeat(number), values, strict=False))), timestamps)


class _AlignedCoGroupOperator(_CoGroupOperator, AlignedWindowOperator):
    """Tumbling and sliding event-time windows over two streams."""

    def _process_tagged(self, number: int, values: Values, timestamps: Timestamps) -> None:
        if self._heap_state is None or timestamps is None:
            super()._process_tagged(number, values, timestamps)
            return
        key_of, keys = self._keys_of[number], self.context.keys
        copies = self._slide < self._size and self.protects and not are_fixed(values)
        low = high = 0
        windows: list[dict[Any, Any]] = []
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if not low <= timestamp < high:
                    low, high, windows = self._pane_at(timestamp)
                keys.key = key = key_of(value)
                if not windows:
                    self._add_singly(key, _tagged((number, value)), timestamp)
                for entries in windows:
                    given = copied(value) if copies else value
                    known = entries.get(key)
                    if known is None:
                        entries[key] = [(number, given)]
                    else:
                        known.append((number, given))
        except BaseException as error:
            note_record(error, value)
            raise
        self._flush()

    def _fire(self, window: TimeWindow, entries: dict[Any, Any]) -> None:
        """Evaluate a window for some keys; the same as for any window function, with fewer calls per key."""
        keys, call = self.context.keys, self._call
        for key, known in entries.items():
            if known is not None:
                keys.key = key
                elements = self._copied_run(known) if self._lateness else known
                self._emit_window(window, call(*_sides(elements)))


class _SessionCoGroupOperator(_CoGroupOperator, SessionOperator):
    """Event-time sessions of two streams together."""


def build_plain_window_join(step: CoGroupStep) -> WindowOperator:
    """Return the operator that takes windows of any kind, whatever they are."""
    return _CoGroupOperator(step)


def build_window_join(step: CoGroupStep) -> WindowOperator:
    """Return the operator of a window join or co-group."""
    if has_aligned_windows(step):
        return _AlignedCoGroupOperator(step)
    return _SessionCoGroupOperator(step) if has_plain_sessions(step) else _CoGroupOperator(step)


def _sides(elements: list[Any]) -> tuple[Values, Values]:
    """Divide the records of a window into those of the first and those of the second stream."""
    lefts: Values = []
    rights: Values = []
    for number, record in elements:
        (rights if number else lefts).append(record)
    return lefts, rights
