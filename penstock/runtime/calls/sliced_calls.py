"""Operators whose functions return any number of results per record: large numbers of them go on in slices.

A function may yield millions of results for one record, or never come to an end. The operator then emits what has come
and leaves the call where it is. The task takes no more input, sends what it has, fires timers, takes commands, and
comes back for the next slice. Whatever reaches the operator meanwhile waits until the call has ended.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from penstock.foundation.failure_context import note_record
from penstock.runtime.calls.record_calls import call_for_each, gather_more
from penstock.runtime.calls.results import PendingResults
from penstock.runtime.operators.stateless import FunctionOperator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from penstock.runtime.calls.record_calls import TimedContext, Unfinished
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.task.context import OperatorContext
    from penstock.runtime.task.output import Output

__all__ = ["SlicedCallsOperator", "UnfinishedRun"]


class _Part(Protocol):
    """Something that an operator has yet to do."""

    def __call__(self) -> bool | None:
        """Do a slice of it; a false answer says that nothing is left."""


class SlicedCallsOperator(FunctionOperator):
    """Calls a function for each record and emits what it returns, slice by slice where that is much or slow."""

    def setup(self, context: OperatorContext, output: Output) -> None:
        """Prepare for results."""
        super().setup(context, output)
        self.unfinished: deque[_Part] = deque()
        self.results = PendingResults(output, protects=self.protects)

    @property
    def is_unfinished(self) -> bool:
        """Tell whether a call has not ended yet."""
        return bool(self.unfinished)

    def work_off(self) -> None:
        """Do the next slice of what has not ended yet."""
        if not self.unfinished[0]():
            self.unfinished.popleft()

    def put_through(
        self,
        call: Callable[..., Any],
        values: Values,
        timestamps: Timestamps,
        context: TimedContext | None,
        record_keys: Iterable[Any] | None,
    ) -> None:
        """Call the function for each record of a run, with its key, if there is one, and its time."""
        if self.unfinished:
            self.unfinished.append(UnfinishedRun(self, call, values, timestamps, context, record_keys))
            return
        left = self.call_for_each(call, values, timestamps, context, record_keys)
        if left is not None:
            self.unfinished.append(UnfinishedRun(self, call, values, timestamps, context, record_keys, left))

    def call_for_each(
        self,
        call: Callable[..., Any],
        values: Values,
        timestamps: Timestamps,
        context: TimedContext | None,
        record_keys: Iterable[Any] | None,
    ) -> Unfinished | None:
        """Emit the results for each record; return the call that has not ended yet, if there is one."""
        pending, keys, protects = self.results, self.context.keys, self.protects
        pending.begin(has_timestamps=timestamps is not None)
        results, times = pending.values, pending.times
        try:
            left = call_for_each(
                call, values, timestamps, context, record_keys, keys, results, times, protects=protects
            )
        except Exception:
            pending.emit()  # what came before the record that fails is no worse for it
            raise
        pending.emit()
        return left

    def take_slice(
        self,
        iterator: Iterator[Any],
        value: Any,
        time: int | None,
        *,
        has_timestamps: bool,
    ) -> tuple[int, bool]:
        """Emit more results of the call for a value; return how many, and whether there may be more."""
        pending = self.results
        pending.begin(has_timestamps=has_timestamps)
        try:
            has_more = gather_more(iterator, time, pending.values, pending.times, protects=self.protects)
        except Exception as error:
            note_record(error, value)
            pending.emit()
            raise
        count = len(pending.values)
        pending.emit()
        return count, has_more

    def process_watermark(self, timestamp: int) -> None:
        """Advance event time, once the calls under way have ended."""
        if self.unfinished:
            self.unfinished.append(partial(self.on_watermark, timestamp))
        else:
            self.on_watermark(timestamp)

    def on_watermark(self, timestamp: int) -> None:
        """Advance event time; what this causes is emitted before the watermark goes on."""
        self.output.emit_watermark(timestamp)

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Pass on that the input became idle or active, once the calls under way have ended."""
        if self.unfinished:
            self.unfinished.append(partial(self.output.emit_status, is_idle))
        else:
            self.output.emit_status(is_idle)


class UnfinishedRun:
    """A run of records in the middle of which a call has not ended yet, or which waits behind such a one."""

    __slots__ = (
        "_call", "_context", "_iterator", "_key", "_operator", "_record_keys", "_skipped", "originals", "position",
        "taken", "timestamps", "values",
    )  # fmt: skip

    def __init__(
        self,
        operator: SlicedCallsOperator,
        call: Callable[..., Any],
        values: Values,
        timestamps: Timestamps,
        context: TimedContext | None,
        record_keys: Iterable[Any] | None,
        left: Unfinished | None = None,
        *,
        skipped: int = 0,
    ) -> None:
        self._operator = operator
        self._skipped = skipped
        self._call = call
        self._context = context
        self._record_keys = record_keys
        self._iterator: Iterator[Any] | None = None
        self.values = values
        self.originals = values
        """The records as they came, where the function may have changed those that it was called for."""
        self.timestamps = timestamps
        self.position = 0
        """The record whose call has not ended yet, or the first one that was not put through the function."""
        self.taken = 0
        """How many results of that call have been emitted."""
        self._leave(left)

    def _leave(self, left: Unfinished | None) -> None:
        if left is not None:
            self.position, self._iterator, self.taken = left
            self._key = None if self._record_keys is None else self._operator.context.keys.key

    def __call__(self) -> bool:
        """Emit a slice; tell whether something is left."""
        if self._iterator is not None:
            self._go_on(self._iterator, self.values[self.position])
        elif self.values:
            self._begin()
        return bool(self.values)

    def _begin(self) -> None:
        left = self._operator.call_for_each(self._call, self.values, self.timestamps, self._context, self._record_keys)
        if left is None:
            self.values = self.originals = []
        self._leave(left)

    def _go_on(self, iterator: Iterator[Any], value: Any) -> None:
        """Take more results of the call for a value."""
        # Timers and other calls have had their turn.
        keys = self._operator.context.keys
        if self._record_keys is None:
            keys.forget()
        else:
            keys.key = self._key
        time = None if self.timestamps is None else self.timestamps[self.position]
        if self._context is not None:
            self._context.time = time
        has_timestamps = self.timestamps is not None
        count, has_more = self._operator.take_slice(iterator, value, time, has_timestamps=has_timestamps)
        self.taken += count
        if not has_more:
            done = self.position + 1
            self.values = self.values[done:]
            self.originals = self.originals[done:]
            self.timestamps = None if self.timestamps is None else self.timestamps[done:]
            if isinstance(self._record_keys, list):  # an iterator has come so far by itself
                self._record_keys = self._record_keys[done:]
            self.position = self.taken = self._skipped = 0
            self._iterator = None

    def records(self) -> list[tuple[Any, int | None, int]]:
        """Return the records that are left, with their timestamps and how many of their results were emitted."""
        times: list[int | None] = [None] * len(self.originals) if self.timestamps is None else list(self.timestamps)
        left = [(value, time, 0) for value, time in zip(self.originals, times, strict=True)][self.position :]
        if left:
            left[0] = (*left[0][:2], self._skipped + self.taken)
        return left
