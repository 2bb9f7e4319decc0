"""Processes what an unaligned checkpoint holds in flight, before anything else, also after a change of the parallelism.

After such a change a subtask may go on with the records of several former ones. Each of them had an event time of its
own, and its records must be on time, or late, as they were. All began behind the same watermarks and end with the same
ones, as every sender tells its time to all. So it is always the turn of the one whose time is earliest, and the time of
the subtask is the earliest of all: each record meets the time it would have met.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from penstock.runtime.checkpoint.recording import read_recording
from penstock.runtime.exchange.elements import MIN_TIMESTAMP, RECORDS, WATERMARK
from penstock.runtime.exchange.partitioners import make_writer
from penstock.runtime.exchange.writer import ChannelWriter
from penstock.runtime.time.valve import WatermarkValve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.checkpoint.subtask_state import InFlight
    from penstock.graph.partitioning import Partitioning
    from penstock.runtime.exchange.elements import Element, Timestamps, Values
    from penstock.runtime.task.context import SubtaskInfo
    from penstock.statestore.handles import StateFiles

__all__ = ["Process", "Replay"]

Process: TypeAlias = "Callable[[Values, Timestamps], None]"
"""Takes a run of records."""


class _Part:
    """What was in flight to one former subtask, and the event time it has there."""

    def __init__(self, former: int, elements: list[tuple[int, Element]], channels: int) -> None:
        self.former = former
        self.elements = deque(elements)
        self.valve = WatermarkValve(channels)


class Replay:
    """Replays what was in flight to one operator, as far as it belongs to one subtask.

    ``ways`` has, per input of the operator, how records are spread over its subtasks.
    """

    def __init__(
        self,
        in_flight: InFlight,
        files: StateFiles,
        info: SubtaskInfo,
        ways: Sequence[Partitioning],
    ) -> None:
        self.watermark = MIN_TIMESTAMP
        """The event time that was reached."""
        self._in_flight = in_flight
        self._info = info
        self._pickers = [_Picker(way, info) if way.is_by_record else None for way in ways]
        self._parts = [
            _Part(former, read_recording(files.read(stored), info.name, files.classes), len(in_flight.channels))
            for former, stored in in_flight.parts
        ]

    def run(self, entries: Sequence[Process], advance: Callable[[int], None]) -> None:
        """Give all records to the entry of their input, and each new time to ``advance``."""
        while waiting := [part for part in self._parts if part.elements]:
            part = min(waiting, key=lambda each: each.valve.watermark)
            channel, element = part.elements.popleft()
            if element[0] == RECORDS:
                position = self._in_flight.channels[channel][0]
                values, timestamps = self._own(part.former, position, element)
                if values:
                    entries[position](values, timestamps)
                continue
            if element[0] == WATERMARK:
                part.valve.on_watermark(channel, element[1])
            else:
                part.valve.on_status(channel, is_idle=element[1])
            time = min(each.valve.watermark for each in self._parts)
            if time > self.watermark:
                self.watermark = time
                advance(time)

    def watermark_of(self, position: int, sender: int) -> int:
        """Return the time of a channel of today: with other senders than before, the one that all had reached."""
        if position not in self._in_flight.same_senders:
            return self.watermark
        channel = self._in_flight.channels.index((position, sender))
        return min(part.valve.channels[channel].watermark for part in self._parts)

    def _own(self, former: int, position: int, element: Element) -> tuple[Values, Timestamps]:
        """Return the records of a run that belong to this subtask."""
        _, values, timestamps = element
        if not self._in_flight.is_rescaled:
            return values, timestamps
        picker = self._pickers[position]
        if picker is not None:
            return picker.pick(values, timestamps)
        return (values, timestamps) if former % self._info.parallelism == self._info.index else ([], None)


class _Picker:
    """Picks the records of one subtask, by the writer that senders have."""

    def __init__(self, way: Partitioning, info: SubtaskInfo) -> None:
        self._index = info.index
        self._runs = [_Run(target, _refuse) for target in range(info.parallelism)]
        self._writer = make_writer(way, self._runs, subtask=0, max_parallelism=info.max_parallelism)

    def pick(self, values: Values, timestamps: Timestamps) -> tuple[Values, Timestamps]:
        """Return the records that belong to the subtask."""
        self._writer.process(values, timestamps)
        return [run.take() for run in self._runs][self._index]


class _Run(ChannelWriter):
    """The records for one subtask, which go nowhere."""

    __slots__ = ()

    def is_full(self) -> bool:
        """Tell that there is room for all."""
        return False

    def take(self) -> tuple[Values, Timestamps]:
        """Return the records, and begin anew."""
        values, self._values = self._values, []
        timestamps, self._timestamps = self._timestamps, []
        return values, timestamps if self.has_timestamps else None


def _refuse(target: int, data: bytes) -> None:
    message = f"records in flight are not sent again (subtask {target}, {len(data)} bytes)"
    raise AssertionError(message)
