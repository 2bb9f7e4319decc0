"""The operator of interval joins.

Each side is buffered until the watermark says that no partner can come any more: a left record until
``its timestamp + upper``, a right one until ``its timestamp - lower``. An arriving record is paired with what the other
side has buffered; the results carry the later timestamp of the pair, so none of them is late.

In outer joins a record that has found no partner comes out when its buffer time is over, with its own timestamp. Time
goes on behind the operator with the delay that this takes, so that these results are not late either.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from penstock.errors import MissingTimestampError, ProgramError
from penstock.foundation.failure_context import NO_RECORD, note_record
from penstock.runtime.calls.record_calls import gather_all
from penstock.runtime.calls.results import PendingResults
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.runtime.joins.buffer import HeapJoinBuffer, JoinBuffer, join_buffer
from penstock.runtime.operators.operator import Operator
from penstock.runtime.operators.process import with_collector
from penstock.runtime.task.context import open_function
from penstock.runtime.time.cleanup_times import Cleanups
from penstock.runtime.windows.late_records import LateRecords
from penstock.statestore.copying import are_fixed, copied
from penstock.statestore.snapshot_format import EVENT_TIME, Timer
from penstock.vocabulary.functions.basic import Function
from penstock.vocabulary.functions.process import ProcessJoinFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from penstock.graph.multi_input_steps import IntervalJoinStep
    from penstock.runtime.exchange.elements import Timestamps, Values
    from penstock.runtime.joins.buffer import Entry
    from penstock.vocabulary.functions.output_tag import OutputTag

__all__ = ["IntervalJoinOperator"]

_CLEANUPS_PER_INTERVAL = 4
"""How often a side without padding is cleaned up by marks in the time that a record is kept."""


_AFTER_ALL = MAX_TIMESTAMP << 1
"""Behind the end of time, by more than a record at the end of time is kept."""


class _PairContext(ProcessJoinFunction.Context):
    """What a join function sees; one object, renewed for each pair."""

    def __init__(self, results: PendingResults) -> None:
        self.results = results
        self.left: int | None = None
        self.right: int | None = None
        self.time = 0

    def get_left_timestamp(self) -> int:
        """Return the event time of the left record."""
        return self._known(self.left, "left")

    def get_right_timestamp(self) -> int:
        """Return the event time of the right record."""
        return self._known(self.right, "right")

    def get_timestamp(self) -> int:
        """Return the event time of the results."""
        return self.time

    def output(self, output_tag: OutputTag[Any], value: Any) -> None:
        """Send a value to a side output, with the event time of the results."""
        self.results.emit_aside(output_tag, value, self.time)

    @staticmethod
    def _known(timestamp: int | None, side: str) -> int:
        if timestamp is None:
            message = f"This outer join found no {side} record, so there is no timestamp of it; test for None first."
            raise ProgramError(message)
        return timestamp


class _Side:
    """One input of the join: how long its records are kept, and which of the other side they look for."""

    def __init__(
        self,
        name: str,
        *,
        key: Callable[[Any], Any],
        buffer: JoinBuffer,
        life: int,
        low: int,
        high: int,
        is_padded: bool,
        late: LateRecords,
    ) -> None:
        self.name = name
        self.is_left = name == "left"
        self.key = key
        self.buffer = buffer
        self.life = life
        """How long a record is kept, measured from its timestamp."""
        self.low = low
        self.high = high
        """A record at t is paired with the other side's from ``t + low`` to ``t + high``."""
        self.is_padded = is_padded
        """Whether a record without partner comes out; then each is kept as ``[record, has a partner]``."""
        self.late = late
        self.is_changeable = isinstance(buffer, HeapJoinBuffer) and not buffer.is_fixed
        """Whether records that can change have come."""
        self.cleanups = Cleanups()
        # The moment at which a record of an outer join comes out can be seen, that at which one is forgotten cannot.
        self.cleanup_step = 1 if is_padded else max(1, (high - low) // _CLEANUPS_PER_INTERVAL)

    def cleanup_time(self, timestamp: int) -> int:
        """Return when the record of a time can be forgotten."""
        return -(-(timestamp + self.life) // self.cleanup_step) * self.cleanup_step

    def swept(self) -> HeapJoinBuffer | None:
        """Return the buffer if it is cleaned up as a whole, without a mark for each record."""
        return self.buffer if isinstance(self.buffer, HeapJoinBuffer) and not self.is_padded else None

    def cleanup_times(self) -> Iterable[tuple[int, Any]]:
        """Return when which keys have something to clean up."""
        swept = self.swept()
        if swept is None:
            return self.cleanups.all()
        # As another backend would have marked them.
        times = ((self.cleanup_time(time), key) for key, entries in swept.entries.items() for time, _ in entries)
        return dict.fromkeys(times)


def _next_cleanup(side: _Side) -> int:
    time = side.cleanups.first()
    return MAX_TIMESTAMP if time is None else time


class IntervalJoinOperator(Operator):
    """Pairs records of two keyed streams by the distance of their timestamps."""

    def __init__(self, step: IntervalJoinStep) -> None:
        self.step = step
        self.function = step.function

    def open(self) -> None:
        """Prepare buffers and timers and resolve the function."""
        step, context = self.step, self.context
        backend = context.keyed_state()
        self.watermark = MIN_TIMESTAMP
        self._results = PendingResults(self.output, protects=self.protects)
        self._results.begin(has_timestamps=True)
        self._pair = _PairContext(self._results)
        self._left, self._right = (
            _Side(
                name,
                key=key,  # type: ignore[arg-type]
                buffer=join_buffer(backend, context.keys, f"interval-join-{name}", is_padded=is_padded),
                life=max(0, high),
                low=low,
                high=high,
                is_padded=is_padded,
                late=LateRecords(context, self.output, tag, 0, f"side_output_{name}_late_data() on the join"),
            )
            for name, key, low, high, is_padded, tag in (
                ("left", step.key, step.lower, step.upper, step.kind.keeps_left, step.left_late_tag),
                ("right", step.second_key, -step.upper, -step.lower, step.kind.keeps_right, step.right_late_tag),
            )
        )
        self._delay = max((side.life for side in (self._left, self._right) if side.is_padded), default=0)
        open_function(self.function, context)
        self._call = with_collector(self.function.process_element, 3, self._results)

    def close(self) -> None:
        """Close the function."""
        if isinstance(self.function, Function):
            self.function.close()

    def process(self, values: Values, timestamps: Timestamps) -> None:
        """Pair records of the left side with the buffered ones of the right side."""
        self._join(values, timestamps, self._left, self._right)

    def process_second(self, values: Values, timestamps: Timestamps) -> None:
        """Pair records of the right side with the buffered ones of the left side."""
        self._join(values, timestamps, self._right, self._left)

    def _join(self, values: Values, timestamps: Timestamps, own: _Side, other: _Side) -> None:
        if timestamps is None or MIN_TIMESTAMP in timestamps:
            raise self._missing_timestamp(values[0 if timestamps is None else timestamps.index(MIN_TIMESTAMP)])
        if not own.is_changeable and not are_fixed(values):
            own.is_changeable = True
        if isinstance(own.buffer, HeapJoinBuffer) and isinstance(other.buffer, HeapJoinBuffer):
            self._join_on_heap(values, timestamps, own, other, own.buffer, other.buffer)
        else:
            self._join_on_state(values, timestamps, own, other)
        own.late.flush()
        self._results.emit()

    def _join_on_state(self, values: Values, timestamps: list[int], own: _Side, other: _Side) -> None:
        keys, watermark, emit_pairs = self.context.keys, self.watermark, self._pairing(own, other)
        # What the watermark has ended is gone, even if the cleanup has not come by yet.
        oldest = watermark - other.life + 1
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if timestamp < watermark:
                    own.late.take(value, timestamp, watermark)
                    continue
                keys.key = key = own.key(value)
                start, end = max(timestamp + own.low, oldest), timestamp + own.high
                found = other.buffer.between(key, start, end)
                if found:
                    emit_pairs(value, timestamp, found)
                    if other.is_padded:
                        other.buffer.mark(key, start, end)
                own.buffer.add(key, timestamp, [value, bool(found)] if own.is_padded else value)
                own.cleanups.at(own.cleanup_time(timestamp))[key] = None
        except BaseException as error:
            note_record(error, value)
            raise

    def _join_on_heap(
        self,
        values: Values,
        timestamps: list[int],
        own: _Side,
        other: _Side,
        own_buffer: HeapJoinBuffer,
        other_buffer: HeapJoinBuffer,
    ) -> None:
        """Do the same on the sorted lists themselves."""
        keys, watermark, key_of, emit_pairs = self.context.keys, self.watermark, own.key, self._pairing(own, other)
        ours, theirs, low, high, is_padded = own_buffer.entries, other_buffer.entries, own.low, own.high, own.is_padded
        oldest = watermark - other.life + 1
        value = NO_RECORD
        try:
            for value, timestamp in zip(values, timestamps, strict=True):
                if timestamp < watermark:
                    own.late.take(value, timestamp, watermark)
                    continue
                keys.key = key = key_of(value)
                found: Sequence[Entry] = ()
                partners = theirs.get(key)
                if partners is not None:
                    start, end = timestamp + low, timestamp + high
                    if start < oldest:
                        start = oldest
                    first, last = partners[0][0], partners[-1][0]
                    if last >= start and first <= end:
                        # Where keys are many, all that is kept of one is near in time: nothing is searched for then.
                        begin = 0 if first >= start else bisect_left(partners, (start,))
                        stop = len(partners) if last <= end else bisect_left(partners, (end + 1,))
                        found = partners[begin:stop]
                        if found:
                            emit_pairs(value, timestamp, found)
                entry = (timestamp, [value, bool(found)] if is_padded else value)
                known = ours.get(key)
                if known is None:
                    ours[key] = [entry]
                elif known[-1][0] <= timestamp:
                    known.append(entry)
                else:
                    known.insert(bisect_left(known, (timestamp + 1,)), entry)
                if is_padded:
                    own.cleanups.at(timestamp + own.life)[key] = None
        except BaseException as error:
            note_record(error, value)
            raise
        own_buffer.added += len(values)
        own_buffer.newest = max(own_buffer.newest, max(timestamps, default=MIN_TIMESTAMP))

    def _pairing(self, own: _Side, other: _Side) -> Callable[[Any, int, Sequence[Entry]], None]:
        """Return what calls the function for a record and its partners, for a run of records of one side."""
        pair, call, results, protects = self._pair, self._call, self._results, self.protects
        is_left, is_padded = own.is_left, other.is_padded
        copies = protects and (own.is_changeable or other.is_changeable)

        def emit_pairs(value: Any, timestamp: int, found: Sequence[Entry]) -> None:
            for other_time, partner in found:
                pair.time = time = timestamp if timestamp > other_time else other_time
                pair.left, pair.right = (timestamp, other_time) if is_left else (other_time, timestamp)
                if is_padded:
                    partner[1] = True
                    partner = partner[0]
                # The function may change what it is given, and both records may meet others.
                given = copied(value) if copies else value
                partner = copied(partner) if copies else partner
                made = call(given, partner, pair) if is_left else call(partner, given, pair)
                if made is not None:
                    gather_all(made, time, results.values, results.times, protects=protects)

        return emit_pairs

    def process_watermark(self, timestamp: int) -> None:
        """Forget what can find no partner any more; in outer joins it comes out first."""
        self.watermark = timestamp
        self._clean_up(timestamp)
        self._results.emit()
        if self._delay and timestamp != MAX_TIMESTAMP:
            timestamp = max(timestamp - self._delay, MIN_TIMESTAMP)
        self.output.emit_watermark(timestamp)

    def end_key(self) -> None:
        """Let out what has found no partner, and forget the key."""
        self._clean_up(_AFTER_ALL)
        self._results.emit()

    def _clean_up(self, limit: int) -> None:
        """Forget what is over; what comes out does so in the order of time."""
        for side in (self._left, self._right):
            swept = side.swept()
            if swept is not None:
                swept.forget(limit - side.life)
            if isinstance(side.buffer, HeapJoinBuffer):
                side.buffer.release()
        while True:
            side = min((self._left, self._right), key=_next_cleanup)
            time = side.cleanups.first()
            if time is None or time > limit:
                return
            self._let_out(side, side.cleanups.take(), time - side.life)

    def _let_out(self, side: _Side, keys: Iterable[Any], limit: int) -> None:
        """Forget the records of some keys up to a time; in outer joins those without a partner come out."""
        for key in keys:
            self.context.keys.key = key
            gone = side.buffer.expire(key, limit)
            if side.is_padded:
                for timestamp, (value, has_partner) in gone:
                    if not has_partner:
                        self._emit_alone(value, timestamp, side)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Put what is not over yet into the state."""
        for side in (self._left, self._right):
            if isinstance(side.buffer, HeapJoinBuffer):
                if not side.is_padded:
                    side.buffer.walk(self.watermark - side.life)
                side.buffer.store()

    def snapshot_timers(self) -> list[Timer]:
        """Return the cleanups to come as timers."""
        return [
            Timer(time, key, side.name, EVENT_TIME)
            for side in (self._left, self._right)
            for time, key in side.cleanup_times()
        ]

    def restore_timers(self, timers: list[Timer]) -> None:
        """Take back the cleanups of a snapshot."""
        for timestamp, key, name, _ in timers:
            side = self._left if name == self._left.name else self._right
            if side.swept() is None:
                side.cleanups.at(timestamp)[key] = None

    def _emit_alone(self, value: Any, timestamp: int, side: _Side) -> None:
        pair = self._pair
        pair.time = timestamp
        pair.left, pair.right = (timestamp, None) if side.is_left else (None, timestamp)
        made = self._call(value, None, pair) if side.is_left else self._call(None, value, pair)
        results = self._results
        if made is not None:
            gather_all(made, timestamp, results.values, results.times, protects=self.protects)

    def _missing_timestamp(self, value: Any) -> MissingTimestampError:
        return MissingTimestampError(
            f"The interval join {self.context.info.name!r} works in event time, but got a record without a timestamp:"
            f" {value!r:.200}. Call assign_timestamps_and_watermarks() with a strategy that has a timestamp assigner"
            " on both streams before the join."
        )
