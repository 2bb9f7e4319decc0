"""What holds for time in whole jobs, whatever goes in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    EventTimeSessionWindows,
    KeyedProcessFunction,
    ProcessWindowFunction,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing.scripted_source import Event, EventKind
from tests.unit.property.scripted_job import ScriptedJob

few = settings(max_examples=30, deadline=None)

CHANNELS = ["a", "b", "c"]
timestamps = st.integers(-50, 50)
rules = st.one_of(
    st.none(),
    st.just(WatermarkStrategy.for_monotonous_timestamps()),
    st.builds(WatermarkStrategy.for_bounded_out_of_orderness, st.integers(0, 20)),
)
happenings = st.lists(
    st.tuples(
        st.sampled_from(CHANNELS),
        st.one_of(
            st.builds(lambda time: Event(EventKind.RECORD, ("k", time), time), timestamps),
            st.builds(lambda time: Event(EventKind.WATERMARK, None, time), timestamps),
            st.just(Event(EventKind.IDLE)),
        ),
    ),
    max_size=20,
)


class Seen(KeyedProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield ctx.timer_service().current_watermark()


@few
@given(events=happenings, rule=rules, as_splits=st.booleans(), parallelism=st.integers(1, 2))
def test_the_watermark_never_decreases(
    events: list[tuple[str, Event]], rule: WatermarkStrategy | None, as_splits: bool, parallelism: int
) -> None:
    job = ScriptedJob(
        CHANNELS,
        lambda stream: stream.key_by(0).process(Seen()),
        strategy=rule,
        as_splits=as_splits,
        parallelism=parallelism,
    )
    before = job.watermarks()
    for channel, event in events:
        job.push(channel, event)
        now = job.watermarks()
        assert all(new >= old for old, new in zip(before, now, strict=True))
        before = now
    job.end()
    assert job.watermarks() == [MAX_TIMESTAMP] * parallelism
    assert job.outputs == sorted(job.outputs)


def model_watermark(events: list[tuple[str, Event]]) -> int:
    """The minimum over channels that are not idle, of the greatest watermark that each has said."""
    said = dict.fromkeys(CHANNELS, MIN_TIMESTAMP)
    for channel, event in events:
        assert event.timestamp is not None
        said[channel] = max(said[channel], event.timestamp)
    return min(said.values())


watermarks_only = st.lists(
    st.tuples(st.sampled_from(CHANNELS), st.builds(lambda time: Event(EventKind.WATERMARK, None, time), timestamps)),
    max_size=15,
)


@few
@given(events=watermarks_only, as_splits=st.booleans())
def test_the_watermark_is_the_minimum_over_channels(events: list[tuple[str, Event]], as_splits: bool) -> None:
    job = ScriptedJob(CHANNELS, lambda stream: stream.key_by(0).process(Seen()), as_splits=as_splits)
    for position, (channel, event) in enumerate(events, start=1):
        job.push(channel, event)
        assert job.watermarks() == [model_watermark(events[:position])]
    job.end()


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield key, context.window().start, context.window().end, tuple(sorted(number for _, number, _ in elements))


Record = tuple[str, int, int]


def windows_by_force(records: list[Record], size: int, slide: int, offset: int) -> Counter[Any]:
    """Try every window that could contain a record."""
    found: dict[Any, list[int]] = {}
    for key, number, time in records:
        for start in range(time - size + 1, time + 1):
            if (start - offset) % slide == 0:
                found.setdefault((key, start, start + size), []).append(number)
    return Counter((*window, tuple(sorted(numbers))) for window, numbers in found.items())


def sessions_by_force(records: list[Record], gap: int) -> Counter[Any]:
    """Go through the records of each key in the order of their time."""
    found: Counter[Any] = Counter()
    for key in {key for key, _, _ in records}:
        mine = sorted((time, number) for other, number, time in records if other == key)
        session: list[tuple[int, int]] = []
        for time, number in mine:
            if session and time > session[-1][0] + gap:
                found[_session(key, session, gap)] += 1
                session = []
            session.append((time, number))
        found[_session(key, session, gap)] += 1
    return found


def _session(key: str, session: list[tuple[int, int]], gap: int) -> Any:
    return key, session[0][0], session[-1][0] + gap, tuple(sorted(number for _, number in session))


@st.composite
def interleaved(draw: Any) -> list[tuple[str, Record]]:
    """Records of two channels, in the order of time within each channel, in any order between them."""
    parts = {
        channel: sorted(draw(st.lists(st.tuples(timestamps, st.sampled_from("xyz")), max_size=10)))
        for channel in ("a", "b")
    }
    waiting = {channel: list(part) for channel, part in parts.items() if part}
    merged: list[tuple[str, Record]] = []
    while waiting:
        channel = draw(st.sampled_from(sorted(waiting)))
        time, key = waiting[channel].pop(0)
        merged.append((channel, (key, len(merged), time)))
        if not waiting[channel]:
            del waiting[channel]
    return merged


def results(records: list[tuple[str, Record]], assigner: Any, *, as_splits: bool, run_length: int) -> Counter[Any]:
    job = ScriptedJob(
        ["a", "b"],
        lambda stream: stream.key_by(0).window(assigner).process(Contents()),
        strategy=WatermarkStrategy.for_monotonous_timestamps(),
        as_splits=as_splits,
        run_length=run_length,
    )
    if run_length == 1:
        for channel, record in records:
            job.record(channel, record, record[2])
    else:
        for channel, record in records:
            job.script.add(channel, Event(EventKind.RECORD, record, record[2]))
        job.settle()
    job.end()
    return Counter(job.outputs)


lengths = st.integers(1, 12)
offsets = st.integers(-5, 5)
run_lengths = st.sampled_from([1, 3, 100])


@few
@given(records=interleaved(), size=lengths, offset=offsets, as_splits=st.booleans(), run_length=run_lengths)
def test_tumbling_windows_are_those_of_brute_force_in_any_interleaving(
    records: list[tuple[str, Record]], size: int, offset: int, as_splits: bool, run_length: int
) -> None:
    offset %= size
    assigner = TumblingEventTimeWindows.of(size, offset)
    found = results(records, assigner, as_splits=as_splits, run_length=run_length)
    assert found == windows_by_force([record for _, record in records], size, size, offset)


@few
@given(
    records=interleaved(), size=lengths, slide=lengths, offset=offsets, as_splits=st.booleans(), run_length=run_lengths
)
def test_sliding_windows_are_those_of_brute_force_in_any_interleaving(
    records: list[tuple[str, Record]], size: int, slide: int, offset: int, as_splits: bool, run_length: int
) -> None:
    offset %= slide
    assigner = SlidingEventTimeWindows.of(size, slide, offset)
    found = results(records, assigner, as_splits=as_splits, run_length=run_length)
    assert found == windows_by_force([record for _, record in records], size, slide, offset)


@few
@given(records=interleaved(), gap=lengths, as_splits=st.booleans(), run_length=run_lengths)
def test_sessions_are_those_of_brute_force_in_any_interleaving(
    records: list[tuple[str, Record]], gap: int, as_splits: bool, run_length: int
) -> None:
    # Even times and an odd gap: a record exactly one gap behind a session may come when the session has just fired.
    gap = 2 * gap - 1
    doubled = [(channel, (key, number, 2 * time)) for channel, (key, number, time) in records]
    found = results(doubled, EventTimeSessionWindows.with_gap(gap), as_splits=as_splits, run_length=run_length)
    assert found == sessions_by_force([record for _, record in doubled], gap)


class Timers(KeyedProcessFunction[Any, Any, Any]):
    """Sets or deletes the timer that a record asks for; a timer may ask for another one when it fires."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        _, wish, time = value
        service = ctx.timer_service()
        if wish == "delete":
            service.delete_event_time_timer(time)
        else:
            service.register_event_time_timer(time)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()
        if timestamp % 7 == 0:
            ctx.timer_service().register_event_time_timer(timestamp + 3)


wishes = st.tuples(st.sampled_from("xyz"), st.sampled_from(["set", "set", "delete"]), timestamps)


@few
@given(happened=st.lists(st.one_of(wishes, timestamps), max_size=25))
def test_timers_fire_in_order_once_and_when_due(happened: list[Any]) -> None:
    job = ScriptedJob(["a"], lambda stream: stream.key_by(0).process(Timers()))
    expected: list[list[tuple[str, int, int]]] = []
    waiting: set[tuple[int, str]] = set()
    watermark = MIN_TIMESTAMP

    def advance(to: int) -> list[tuple[str, int, int]]:
        fired = []
        while waiting and min(waiting)[0] <= to:
            time, key = min(waiting)
            waiting.remove((time, key))
            fired.append((key, time, to))
            if time % 7 == 0:
                waiting.add((time + 3, key))
        return fired

    fired_per_step: list[list[Any]] = []
    for what in [*happened, MAX_TIMESTAMP]:
        seen = len(job.outputs)
        if isinstance(what, tuple):
            key, wish, time = what
            job.record("a", what, 0)
            (waiting.discard if wish == "delete" else waiting.add)((time, key))
            expected.append([])
        elif what == MAX_TIMESTAMP:
            job.end()
            expected.append(advance(what))
        else:
            job.watermark("a", what)
            expected.append(advance(what) if what > watermark else [])
            watermark = max(watermark, what)
        fired_per_step.append(job.outputs[seen:])
    for fired, model in zip(fired_per_step, expected, strict=True):
        assert [time for _, time, _ in fired] == [time for _, time, _ in model]
        assert sorted(fired) == sorted(model)
