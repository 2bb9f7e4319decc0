"""A source that replays a script: records, watermarks and idleness of one or more channels, in one order over all."""

from __future__ import annotations

import enum
import uuid
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from penstock.runtime.exchange.elements import MIN_TIMESTAMP
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from penstock.vocabulary.time.generators import Watermark, WatermarkGenerator, WatermarkOutput
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.time.timestamp_assigners import TimestampAssigner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Event", "EventKind", "Script", "ScriptedSource", "ScriptedTime", "values_of"]


class EventKind(enum.IntEnum):
    """What happens in a channel."""

    RECORD = 0
    WATERMARK = 1
    IDLE = 2
    END = 3


class Event(NamedTuple):
    """One thing that happens in a channel; travels as a record up to the step that gives records their time."""

    kind: EventKind
    value: Any = None
    timestamp: int | None = None


class Script:
    """The events of all channels in their order; a channel reads on only when its turn has come.

    All copies of a script in one process are one object. So sources that share a script and run in one task emit in the
    order of the script, and a script can be written on while a job in this process reads it.
    """

    def __init__(self, *, run_length: int = 1, script_id: str | None = None) -> None:
        self.run_length = run_length
        self._id = script_id or uuid.uuid4().hex
        _scripts[self._id] = self
        self._events: deque[tuple[str, Event]] = deque()
        self._ended: set[str] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return _shared, (self._id, self.run_length, list(self._events))

    @property
    def is_read(self) -> bool:
        """Tell whether nothing is left to read."""
        return not self._events

    def add(self, channel: str, event: Event) -> None:
        """Write on."""
        self._events.append((channel, event))

    def read(self, channel: str) -> list[Event] | None:
        """Return the next events of a channel, none if it is not its turn, ``None`` after its end."""
        if channel in self._ended:
            return None
        taken: list[Event] = []
        while self._events and len(taken) < self.run_length:
            owner, event = self._events[0]
            if owner != channel or (event.kind is EventKind.END and taken):
                break
            self._events.popleft()
            if event.kind is EventKind.END:
                self._ended.add(channel)
                return None
            taken.append(event)
        return taken

    def skip(self, channel: str, count: int) -> None:
        """Leave out the first events of a channel: they were read before a restart."""
        kept: deque[tuple[str, Event]] = deque()
        for owner, event in self._events:
            if owner == channel and count > 0:
                count -= 1
            else:
                kept.append((owner, event))
        self._events = kept


_scripts: weakref.WeakValueDictionary[str, Script] = weakref.WeakValueDictionary()


def _shared(script_id: str, run_length: int, events: list[tuple[str, Event]]) -> Script:
    """Return the script of that id in this process; a new one holds what was written so far."""
    script = _scripts.get(script_id)
    if script is None:
        script = Script(run_length=run_length, script_id=script_id)
        for channel, event in events:
            script.add(channel, event)
    return script


class ScriptedSource(Source[Event]):
    """Reads channels of a script, each as a split of its own."""

    boundedness = Boundedness.BOUNDED
    is_parallel = False

    def __init__(self, script: Script, channels: Sequence[str]) -> None:
        self._script = script
        self._channels = channels

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        """Return one split per channel."""
        return [SourceSplit(channel) for channel in self._channels]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[Event]:
        """Start reading a channel."""
        if position:
            self._script.skip(split.id, position)
        return _ChannelReader(self._script, split.id, position or 0)


class _ChannelReader(SplitReader[Event]):
    def __init__(self, script: Script, channel: str, position: int) -> None:
        self._script = script
        self._channel = channel
        self._position = position

    def read(self, limit: int) -> tuple[list[Event], list[int] | None] | None:
        events = self._script.read(self._channel)
        if events is None:
            return None
        self._position += len(events)
        return events, None

    def position(self) -> int:
        return self._position


def values_of(event: Event) -> Iterable[Any]:
    """Return the record in an event; a watermark or idleness has none."""
    return (event.value,) if event.kind is EventKind.RECORD else ()


class ScriptedTime(WatermarkStrategy):
    """Takes timestamps, watermarks and idleness from a script; a strategy may derive more watermarks from its records.

    The strategy sees events, not their values. With ``after_each`` it is asked after every record, as if the
    auto-watermark interval passed between any two of them.
    """

    def __init__(self, strategy: WatermarkStrategy, *, after_each: bool) -> None:
        self._strategy = strategy
        self._after_each = after_each
        self.idle_timeout_ms = strategy.idle_timeout_ms

    def isolated(self) -> Self:
        """Return the same with a strategy of its own."""
        return self._with(_strategy=self._strategy.isolated(), _made_timestamp_assigner=None)

    def create_timestamp_assigner(self, context: Any) -> TimestampAssigner:
        """Return what reads timestamps off events."""
        return _EventTimestamps(self._strategy.timestamp_assigner)

    def create_watermark_generator(self, context: Any) -> WatermarkGenerator[Event]:
        """Return what reads watermarks off events."""
        return _EventWatermarks(self._strategy.create_generator(), after_each=self._after_each)


class _EventTimestamps(TimestampAssigner):
    def __init__(self, assigner: TimestampAssigner | None) -> None:
        self._assigner = assigner

    def extract_timestamp(self, value: Event, record_timestamp: int) -> int:
        timestamp = MIN_TIMESTAMP if value.timestamp is None else value.timestamp
        if value.kind is not EventKind.RECORD:
            return MIN_TIMESTAMP
        return timestamp if self._assigner is None else self._assigner.extract_timestamp(value, timestamp)


class _EventWatermarks(WatermarkGenerator[Event]):
    def __init__(self, generator: WatermarkGenerator[Any], *, after_each: bool) -> None:
        self._generator = generator
        self._after_each = after_each

    def set_clock(self, clock: Callable[[], int]) -> None:
        self._generator.set_clock(clock)

    def on_event(self, event: Event, event_timestamp: int, output: WatermarkOutput) -> None:
        if event.kind is EventKind.WATERMARK:
            assert event.timestamp is not None
            output.emit_watermark(Watermark(event.timestamp))
        elif event.kind is EventKind.IDLE:
            output.mark_idle()
        else:
            self._generator.on_event(event, event_timestamp, output)
            if self._after_each:
                self._generator.on_periodic_emit(output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if not self._after_each:
            self._generator.on_periodic_emit(output)
