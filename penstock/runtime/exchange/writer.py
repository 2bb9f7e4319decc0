"""The sending end of an exchange: spreads records over targets and fills blocks.

A block holds the elements for one channel in their order. It is sent when it is full, or when the task flushes: at once
when there is nothing else to do, after the buffer timeout otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.errors import SerializationError
from penstock.foundation.failure_context import note_writer
from penstock.runtime.exchange.codec import encode
from penstock.runtime.exchange.elements import RECORDS, STATUS, WATERMARK, Element, Timestamps, Values
from penstock.runtime.exchange.key_selection import close_functions, open_functions
from penstock.runtime.exchange.record_size import DEFAULT_RECORD_BYTES, too_large

if TYPE_CHECKING:
    from penstock.runtime.exchange.key_selection import KeyFunction
    from penstock.runtime.task.context import OperatorContext

__all__ = ["BLOCK_RECORDS", "ChannelWriter", "ExchangeWriter", "Send"]

BLOCK_RECORDS = 4096
"""Most records of a block, unless they are small."""
_BLOCK_BYTES = 1 << 18
"""Size a block should not grow far beyond; large records make blocks of fewer records."""

_SMALL_BLOCK_BYTES = 1 << 16
_SMALL_BLOCK_RECORDS = 1 << 14
"""Numbers and short texts make blocks of more records: a block has a price, and so many of them fit into the cache."""

_TOLERANCE = 2
"""How many times the limit a block may hold before it is cut: cutting costs copies."""

Send = Callable[[int, bytes], None]
"""Takes the target subtask and the bytes of a block."""


class ChannelWriter:
    """Fills the blocks for one target."""

    __slots__ = ("_elements", "_most_bytes", "_send", "_timestamps", "_values", "has_timestamps", "limit", "target")

    def __init__(self, target: int, send: Send, most_bytes: int = DEFAULT_RECORD_BYTES) -> None:
        self.target = target
        self.limit = BLOCK_RECORDS
        self.has_timestamps = False
        self._send = send
        self._most_bytes = most_bytes
        self._elements: list[Element] = []
        self._values: Values = []
        self._timestamps: list[int] = []

    def open_run(self, *, has_timestamps: bool) -> tuple[Values, list[int]]:
        """Return the lists to append records to; a run has timestamps for all of its records or for none."""
        if has_timestamps is not self.has_timestamps:
            self._close_run()
            self.has_timestamps = has_timestamps
        return self._values, self._timestamps

    def add(self, element: Element) -> None:
        """Put a control element behind the records so far."""
        self._close_run()
        self._elements.append(element)

    def is_full(self) -> bool:
        """Tell whether the open run has reached the size of a block."""
        return len(self._values) >= self.limit

    def flush(self) -> None:
        """Send what is there."""
        self._close_run()
        elements, self._elements = self._elements, []
        if elements:
            self._send_elements(elements)

    def _send_elements(self, elements: list[Element]) -> None:
        records = _count(elements)
        if records <= _TOLERANCE * self.limit:
            data = encode(elements)
            if records:
                self.limit = _records_of_block(len(data) / records)
            if len(data) > self._most_bytes:
                self._send_one_by_one(elements, records, len(data))
                return
            if records <= _TOLERANCE * self.limit:
                self._send(self.target, data)
                return
        # Too many for one block: known before encoding, or found out by it when records have become larger.
        for part in _cut(elements, self.limit):
            self._send_elements(part)

    def _send_one_by_one(self, elements: list[Element], records: int, size: int) -> None:
        """Send records of a block that is too large; one that is too large by itself is refused."""
        if records == 1:
            value = next(element[1][0] for element in elements if element[0] == RECORDS)
            raise too_large(value, size, self._most_bytes)
        for part in _cut(elements, 1):
            self._send_elements(part)

    def _close_run(self) -> None:
        if self._values:
            self._elements.append((RECORDS, self._values, self._timestamps if self.has_timestamps else None))
            self._values = []
            self._timestamps = []


def _records_of_block(size: float) -> int:
    """Return how many records of some size a block should have."""
    usual = min(BLOCK_RECORDS, int(_BLOCK_BYTES / size))
    return max(1, usual, min(_SMALL_BLOCK_RECORDS, int(_SMALL_BLOCK_BYTES / size)))


def _count(elements: list[Element]) -> int:
    return sum(len(element[1]) for element in elements if element[0] == RECORDS)


def _cut(elements: list[Element], limit: int) -> Iterator[list[Element]]:
    """Cut elements into parts with at most so many records each."""
    part: list[Element] = []
    room = limit
    for element in elements:
        if element[0] != RECORDS:
            part.append(element)
            continue
        values, timestamps = element[1], element[2]
        start = 0
        while start < len(values):
            end = start + room
            taken = values[start:end]
            part.append((RECORDS, taken, None if timestamps is None else timestamps[start:end]))
            start = end
            room -= len(taken)
            if room <= 0:
                yield part
                part, room = [], limit
    if part:
        yield part


class ExchangeWriter:
    """Sends the output of a chain over one edge; subclasses decide which record goes where."""

    def __init__(self, channels: Sequence[ChannelWriter]) -> None:
        self._channels = channels
        self.records = 0
        self.step = "?"
        """The step whose results are sent, for messages."""
        self.receiver = "?"
        """The step that the results are sent to, for messages."""
        self.call: str | None = None
        """How the program says which record goes where: by ``key_by`` or ``partition_custom``."""
        self.choice: Callable[..., Any] | None = None
        """The function of the program that decides which record goes where, for messages."""
        self.key_function: KeyFunction | None = None
        """What finds the keys of records, if they are sent by their keys."""
        self.context: OperatorContext | None = None
        """The surroundings of the step whose results are sent."""
        self._gathered: Values = []
        self._gathered_times: Timestamps = None

    def open(self) -> None:
        """Open the functions of the program that decide which record goes where."""
        if self.context is not None:
            open_functions(self._functions(), self.context)

    def close(self) -> None:
        """Close them."""
        close_functions(self._functions())

    def _functions(self) -> list[Callable[..., Any]]:
        selectors = [] if self.key_function is None else [self.key_function.selector]
        return selectors if self.choice is None else [*selectors, self.choice]

    def note_failure(self, error: BaseException) -> None:
        """Note on an error that it was raised on the way to the next step."""
        note_writer(error, self)

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Take a run of records."""
        self.records += len(values)
        self._spread(values, timestamps)
        for channel in self._channels:
            if channel.is_full():
                self._flush(channel)

    def gather(self) -> None:
        """Spread records only when many have come: in batch they come key by key, a few at a time."""
        self.process = self._gather  # type: ignore[method-assign]

    def _gather(self, values: Values, timestamps: Timestamps) -> None:
        if self._gathered and (timestamps is None) is not (self._gathered_times is None):
            self._spread_gathered()
        self._gathered += values
        if timestamps is not None:
            if self._gathered_times is None:
                self._gathered_times = []
            self._gathered_times += timestamps
        if len(self._gathered) >= BLOCK_RECORDS:
            self._spread_gathered()

    def _spread_gathered(self) -> None:
        values, timestamps = self._gathered, self._gathered_times
        self._gathered, self._gathered_times = [], None
        if values:
            type(self).process(self, values, timestamps)

    def _spread(self, values: Values, timestamps: Timestamps) -> None:
        """Put records into channels; here: all of them into the only channel."""
        self._append(self._channels[0], values, timestamps)

    @staticmethod
    def _append(channel: ChannelWriter, values: Values, timestamps: Timestamps) -> None:
        buffered, times = channel.open_run(has_timestamps=timestamps is not None)
        buffered.extend(values)
        if timestamps is not None:
            times.extend(timestamps)

    def process_watermark(self, timestamp: int) -> None:
        """Send a watermark to every target."""
        self.broadcast((WATERMARK, timestamp))

    def process_status(self, is_idle: bool) -> None:  # noqa: FBT001 - the element has exactly this one field
        """Tell every target that this subtask became idle or active."""
        self.broadcast((STATUS, is_idle))

    def broadcast(self, element: Element) -> None:
        """Send a control element to every target."""
        for channel in self._channels:
            channel.add(element)

    def flush(self) -> None:
        """Send all unfilled blocks."""
        if self._gathered:
            self._spread_gathered()
        for channel in self._channels:
            self._flush(channel)

    def _flush(self, channel: ChannelWriter) -> None:
        try:
            channel.flush()
        except SerializationError as error:
            message = f"{error}\n  in step    {self.step!r}"
            raise SerializationError(message) from error.__cause__
