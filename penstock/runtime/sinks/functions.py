"""The operators at the end: sink functions, printing, collecting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.exchange.elements import MIN_TIMESTAMP, Timestamps, Values
from penstock.runtime.operators.operator import Operator
from penstock.runtime.operators.stateless import FunctionOperator
from penstock.vocabulary.sinks.functions import SinkContext

if TYPE_CHECKING:
    from penstock.foundation.clock import Clock

__all__ = ["CollectOperator", "PrintOperator", "SinkFunctionOperator", "print_prefix"]


class _RecordSinkContext(SinkContext):
    """What a sink function sees of the record it writes."""

    __slots__ = ("_clock", "time", "watermark")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.watermark = MIN_TIMESTAMP
        self.time: int | None = None

    def current_processing_time(self) -> int:
        """Return the clock's time."""
        return self._clock.now()

    def current_watermark(self) -> int:
        """Return the event time that this subtask has reached."""
        return self.watermark

    def timestamp(self) -> int | None:
        """Return the event time of the record."""
        return self.time


class SinkFunctionOperator(FunctionOperator):
    """Hands each record to a ``SinkFunction``."""

    def open(self) -> None:
        """Prepare the context."""
        self._sink_context = _RecordSinkContext(self.context.clock)
        super().open()
        self._invoke = self.with_key(self.function.invoke)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Write each record."""
        invoke, context = self._invoke, self._sink_context
        if timestamps is None:
            context.time = None
            value = NO_RECORD
            try:
                for value in values:
                    invoke(value, context)
            except BaseException as error:
                note_record(error, value)
                raise
            return
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                context.time = timestamp
                invoke(value, context)
        except BaseException as error:
            note_record(error, value)
            raise

    def process_watermark(self, timestamp: int) -> None:
        """Remember event time for the function's context."""
        self._sink_context.watermark = timestamp
        super().process_watermark(timestamp)


def print_prefix(identifier: str, subtask: int, parallelism: int) -> str:
    """Return what Flink prints in front of a record: the identifier and, with several subtasks, the number from 1."""
    prefix = identifier
    if parallelism > 1:
        prefix += f"{':' if prefix else ''}{subtask + 1}"
    return f"{prefix}> " if prefix else ""


class PrintOperator(Operator):
    """Prints records on the driver's standard output."""

    def __init__(self, identifier: str) -> None:
        self._identifier = identifier

    def open(self) -> None:
        """Compute the prefix and find out where lines go."""
        info = self.context.info
        self._prefix = print_prefix(self._identifier, info.index, info.parallelism)
        self._print = self.context.services.print_lines

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Hand over one line per record, a run at a time so that lines are never torn."""
        prefix = self._prefix
        self._print([f"{prefix}{value}" for value in values])


class CollectOperator(Operator):
    """Sends records to the program that waits for them."""

    def __init__(self, collection: str) -> None:
        self._collection = collection

    def open(self) -> None:
        """Find out where collected records go."""
        self._collect = self.context.services.collect

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Hand over a run of records."""
        self._collect(self._collection, values)
