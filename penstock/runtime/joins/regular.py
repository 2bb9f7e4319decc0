"""The join without windows: each record meets all records of its key that the other side has sent so far.

Both sides are kept, for ever or for a time to live, and so every order of arrival gives the pairs that a database would
give. In outer joins a record without a partner comes out at once, paired with ``None``; when its first partner comes,
that result was wrong. With row kinds it is then taken back (``DELETE``), without them only the new pair comes out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.foundation.failure_context import NO_RECORD, note_record, noting
from penstock.runtime.calls.record_calls import gather_all
from penstock.runtime.joins.functions import pair_call
from penstock.runtime.operators.operator import Operator
from penstock.runtime.task.context import open_function
from penstock.runtime.time.timers import InternalTimers, one_by_one
from penstock.statestore.copying import copied
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.state.descriptors import ListStateDescriptor
from penstock.vocabulary.types.rows import RowKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.graph.multi_input_steps import JoinStep
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.vocabulary.state.handles import ListState

__all__ = ["JoinOperator"]


class _Side:
    """One input of the join. A kept record is ``(record, when it expires or None, has a partner)``."""

    def __init__(self, name: str, key: Callable[[Any], Any], state: ListState[Any], *, is_padded: bool) -> None:
        self.name = name
        self.is_left = name == "left"
        self.key = key
        self.state = state
        self.is_padded = is_padded
        """Whether a record without partner comes out."""

    def live(self, now: int) -> list[Any]:
        """Return what has not expired yet; records expire in the order they came."""
        kept = list(self.state.get())
        if kept and kept[0][1] is not None and kept[0][1] <= now:
            kept = [entry for entry in kept if entry[1] > now]
            self.state.update(kept)
        return kept


class JoinOperator(Operator):
    """A join driven by arrival, from both sides."""

    timers: InternalTimers

    def __init__(self, step: JoinStep) -> None:
        self.step = step
        self.function = step.function

    def open(self) -> None:
        """Get the state and resolve the function."""
        step, context = self.step, self.context
        backend = context.keyed_state()
        self.timers = InternalTimers(
            context.keys,
            context.processing_time,
            on_event_time=one_by_one(self._expire),
            on_processing_time=noting(self, one_by_one(self._expire)),
        )
        self._left, self._right = (
            _Side(name, key, backend.list_state(ListStateDescriptor(f"join-{name}")), is_padded=is_padded)  # type: ignore[arg-type]
            for name, key, is_padded in (
                ("left", step.key, step.kind.keeps_left),
                ("right", step.second_key, step.kind.keeps_right),
            )
        )
        self._results: Values = []
        open_function(self.function, context)
        self._call = pair_call(self.function)

    def close(self) -> None:
        """Close the function."""
        if isinstance(self.function, Function):
            self.function.close()

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Pair records of the left side."""
        self._join(values, timestamps, self._left, self._right)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Pair records of the right side."""
        self._join(values, timestamps, self._right, self._left)

    def process_watermark(self, timestamp: int) -> None:
        """Pass time on; the join itself does not depend on it."""
        self.timers.advance_watermark(timestamp)
        self.output.emit_watermark(timestamp)

    def _join(self, values: Values, timestamps: Timestamps, own: _Side, other: _Side) -> None:
        keys, ttl, results = self.context.keys, self.step.state_ttl, self._results
        times: Timestamps = None if timestamps is None else []
        value = NO_RECORD
        try:
            for position, value in enumerate(values):
                keys.key = own.key(value)
                now = self.context.clock.now()
                partners = other.live(now)
                if partners:
                    self._pair_with(value, partners, own, other)
                elif own.is_padded:
                    self._emit(RowKind.INSERT, value, None, own)
                expiry = None if ttl is None else now + ttl
                own.state.add((value, expiry, bool(partners)))
                if expiry is not None:
                    self.timers.register_processing_time_timer(expiry, own.name)
                if times is not None and timestamps is not None:
                    times.extend([timestamps[position]] * (len(results) - len(times)))
        except BaseException as error:
            note_record(error, value)
            raise
        if results:
            self._results = []
            self.output.emit(results, times)

    def _pair_with(self, value: Any, partners: list[Any], own: _Side, other: _Side) -> None:
        for partner, _, has_partner in partners:
            if other.is_padded and not has_partner and self.step.has_row_kinds:
                self._emit(RowKind.DELETE, partner, None, other)
            self._emit(RowKind.INSERT, value, partner, own)
        if other.is_padded and not all(entry[2] for entry in partners):
            other.state.update([(partner, expiry, True) for partner, expiry, _ in partners])

    def _emit(self, kind: RowKind, value: Any, partner: Any, side: _Side) -> None:
        if self.protects:  # each pair is made of the records as they came
            value, partner = copied(value), copied(partner)
        made = self._call(value, partner) if side.is_left else self._call(partner, value)
        if self.step.has_row_kinds:
            made = ((kind, result) for result in made)
        gather_all(made, None, self._results, None, protects=self.protects)

    def _expire(self, timestamp: int, key: Any, name: str) -> None:
        self.context.keys.key = key
        side = self._left if name == "left" else self._right
        if not side.live(timestamp):
            side.state.clear()
