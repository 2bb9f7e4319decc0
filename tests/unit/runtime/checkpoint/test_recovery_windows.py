"""Windows and joins that are restored from a checkpoint go on as if nothing had happened, whenever it was taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    OutputTag,
    ProcessingTimeSessionWindows,
    ProcessJoinFunction,
    ProcessWindowFunction,
    PurgingTrigger,
    SlidingEventTimeWindows,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from tests.unit.runtime.checkpoint.recovery_bench import Replay, check_every_crash, each_record, timed

BOTH_BACKENDS = pytest.mark.parametrize("backend", ["heap", "rocksdb"])

SENSOR = [(("s", n), time) for n, time in enumerate([1, 3, 7, 4, 12, 6, 21, 22, 31], start=1)]
"""Numbers 1 to 9; with a delay of 4 the watermarks are -4, -2, 2, 2, 7, 7, 16, 17, 26."""


def numbers(env: Any, delay: int = 4) -> Any:
    return timed(env, SENSOR, delay=delay).key_by(lambda row: row[0])


def total(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1]


class Content(ProcessWindowFunction):
    """Emits the window with its numbers, and how often it has fired."""

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("fired"))
        fired.update((fired.value() or 0) + 1)
        window = context.window()
        yield window.start, window.end, [number for _, number in elements], fired.value()

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("fired")).clear()


@BOTH_BACKENDS
def test_tumbling_windows_that_reduce(backend: str) -> None:
    def build(env: Any) -> Any:
        return numbers(env).window(TumblingEventTimeWindows.of(5)).reduce(total)

    # [0,5): 1, 2, 4; [5,10): 3, 6; [10,15): 5; [20,25): 7, 8; [30,35): 9.
    check_every_crash(build, [("s", 7), ("s", 9), ("s", 5), ("s", 15), ("s", 9)], backend=backend)


@BOTH_BACKENDS
def test_tumbling_windows_with_state_of_their_own_and_lateness(backend: str) -> None:
    late = OutputTag("late")

    def build(env: Any) -> Any:
        windows = numbers(env, delay=0).window(TumblingEventTimeWindows.of(5)).allowed_lateness(4)
        result = windows.side_output_late_data(late).process(Content())
        return result.union(result.get_side_output(late))

    # Watermarks 0, 2, 6, 6, 11, 11, 20, 21, 30. The 4 of time 4 comes at 6: [0,5) is kept until 8 and fires again.
    # The 6 of time 6 comes at 11: [5,10) is kept until 13 and fires again.
    expected = [
        (0, 5, [1, 2], 1),
        (0, 5, [1, 2, 4], 2),
        (5, 10, [3], 1),
        (5, 10, [3, 6], 2),
        (10, 15, [5], 1),
        (20, 25, [7, 8], 1),
        (30, 35, [9], 1),
    ]
    check_every_crash(build, expected, backend=backend)


def test_a_late_record_is_late_after_a_restart_too() -> None:
    """Event time does not begin anew: the record that came too late before the crash comes too late after it."""
    rows = [("a", 1), ("b", 20), ("too late", 2), ("c", 40)]

    def by_source(env: Any) -> Any:
        return timed(env, [(row, row[1]) for row in rows])

    def behind_a_map(env: Any) -> Any:
        plain = env.from_source(Replay([(row, 0) for row in rows]), WatermarkStrategy.no_watermarks(), "plain")
        strategy = each_record().with_timestamp_assigner(lambda row, _: row[1])
        return plain.map(lambda row: row).assign_timestamps_and_watermarks(strategy)

    for stream in (by_source, behind_a_map):
        late = OutputTag("late")

        def build(env: Any, stream: Callable[[Any], Any] = stream, late: Any = late) -> Any:
            windows = stream(env).key_by(lambda _: 0).window(TumblingEventTimeWindows.of(10))
            result = windows.side_output_late_data(late).reduce(lambda a, b: (a[0] + b[0], 0))
            return result.union(result.get_side_output(late))

        check_every_crash(build, [("a", 1), ("too late", 2), ("b", 20), ("c", 40)])


@BOTH_BACKENDS
def test_sliding_windows(backend: str) -> None:
    def build(env: Any) -> Any:
        return numbers(env).window(SlidingEventTimeWindows.of(10, 5)).process(Content())

    expected = [
        (-5, 5, [1, 2, 4], 1),
        (0, 10, [1, 2, 3, 4, 6], 1),
        (5, 15, [3, 5, 6], 1),
        (10, 20, [5], 1),
        (15, 25, [7, 8], 1),
        (20, 30, [7, 8], 1),
        (25, 35, [9], 1),
        (30, 40, [9], 1),
    ]
    check_every_crash(build, expected, backend=backend)


@BOTH_BACKENDS
@pytest.mark.parametrize("is_reduced", [False, True], ids=["all elements", "reduced"])
def test_sessions(backend: str, is_reduced: bool) -> None:
    def build(env: Any) -> Any:
        windows = numbers(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(4)))
        return windows.reduce(total) if is_reduced else windows.process(Sorted())

    # 1, 3, 7, 4 and 6 are one session [1, 11); 12 is a session, 21 and 22 one, 31 the last.
    if is_reduced:
        expected: list[Any] = [("s", 16), ("s", 5), ("s", 15), ("s", 9)]
    else:
        expected = [(1, 11, [1, 2, 3, 4, 6]), (12, 16, [5]), (21, 26, [7, 8]), (31, 35, [9])]
    check_every_crash(build, expected, backend=backend)


class Sorted(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        yield context.window().start, context.window().end, sorted(number for _, number in elements)


@BOTH_BACKENDS
def test_count_windows(backend: str) -> None:
    def build(env: Any) -> Any:
        keyed = numbers(env)
        return keyed.count_window(4).reduce(total).union(keyed.count_window(3, 2).reduce(total))

    # Sliding, after 2, 4, 6, 8: 1+2, 2+3+4, 4+5+6, 6+7+8 (W-15); tumbling: 1..4 and 5..8. The source runs ahead of
    # neither, so they come in the order of the records.
    check_every_crash(build, [("s", n) for n in (3, 10, 9, 15, 26, 21)], backend=backend)


@BOTH_BACKENDS
def test_triggers_and_evictors(backend: str) -> None:
    def build(env: Any) -> Any:
        keyed = numbers(env)
        pairs = keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(2)))
        last_two = keyed.window(TumblingEventTimeWindows.of(20)).evictor(CountEvictor.of(2))
        early = keyed.window(TumblingEventTimeWindows.of(20)).trigger(ContinuousEventTimeTrigger.of(5))
        return pairs.reduce(total).union(last_two.process(Named("last two")), early.process(Named("early")))

    pairs = [("s", 3), ("s", 7), ("s", 11), ("s", 15)]
    last_two = [("last two", [5, 6]), ("last two", [8, 9])]
    # [0,20) fires at 5, 10, 15 and 19, when the watermark is 7, 16, 16 and 26; [20,40) at 25, when it is 26, and at 30,
    # 35 and 39, when the input ends.
    early = [("early", [1, 2, 3, 4, 5])] + [("early", [1, 2, 3, 4, 5, 6])] * 3 + [("early", [7, 8, 9])] * 4
    expected = [*pairs, *last_two, *early]
    check_every_crash(build, expected, backend=backend, is_ordered=False)


class Named(ProcessWindowFunction):
    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, key: str, context: Any, elements: Any) -> Iterator[Any]:
        yield self.name, [number for _, number in elements]


@BOTH_BACKENDS
def test_processing_time_windows(backend: str) -> None:
    def build(env: Any) -> Any:
        keyed = timed(env, [((n % 2, n), 0) for n in range(20)]).key_by(lambda row: row[0])
        tumbling = keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(100))).reduce(total)
        sessions = keyed.window(ProcessingTimeSessionWindows.with_gap(Time.milliseconds(70))).reduce(total)
        return tumbling.union(sessions)

    # Number n comes at 40 n. Tumbling, [0,100): 0, 1, 2; [100,200): 3, 4. Records of a key are 80 apart, so each is a
    # session of its own, over 70 after it.
    actions = [0, 40, 0, 40, 0, 40, 0, 40, 0, 40, 30]
    # At 70: session 0. At 100: tumbling (0, 0+2), (1, 1). At 110: session 1. At 150: session 2. At 190: session 3.
    # At 200: tumbling (0, 4), (1, 3). At 230: session 4.
    expected = [(0, 0), (0, 2), (1, 1), (1, 1), (0, 2), (1, 3), (1, 3), (0, 4), (0, 4)]
    check_every_crash(build, expected, actions=actions, backend=backend, is_ordered=False)


def test_windows_over_all_records() -> None:
    def build(env: Any) -> Any:
        return timed(env, SENSOR, delay=4).window_all(TumblingEventTimeWindows.of(5)).reduce(total)

    check_every_crash(build, [("s", 7), ("s", 9), ("s", 5), ("s", 15), ("s", 9)])


LEFT = [(("k", f"l{time}"), time) for time in (1, 6, 14)]
RIGHT = [(("k", f"r{time}"), time) for time in (2, 4, 9)]


def two(env: Any) -> tuple[Any, Any]:
    return timed(env, LEFT, name="left"), timed(env, RIGHT, name="right")


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left and left[1], right and right[1]


@pytest.mark.parametrize("restored", [1, 2])
@BOTH_BACKENDS
def test_interval_join(backend: str, restored: int) -> None:
    def build(env: Any) -> Any:
        left, right = two(env)
        keyed = left.key_by(lambda row: row[0]).interval_join(right.key_by(lambda row: row[0]))
        return keyed.between(Time.milliseconds(-3), Time.milliseconds(3)).left_outer().process(Pair())

    pairs = [("l1", "r2"), ("l1", "r4"), ("l6", "r4"), ("l6", "r9"), ("l14", None)]
    check_every_crash(build, pairs, backend=backend, restored_parallelism=restored)


@BOTH_BACKENDS
def test_window_join_and_join_by_arrival(backend: str) -> None:
    def build(env: Any) -> Any:
        left, right = two(env)
        pair = left.join(right).where(lambda row: row[0]).equal_to(lambda row: row[0])
        joined = pair.window(TumblingEventTimeWindows.of(5)).apply(lambda a, b: (a[1], b[1]))
        other = left.join(right).where(lambda row: row[0]).equal_to(lambda row: row[0])
        by_arrival = other.without_window().apply(lambda a, b: ("any", a[1], b[1]))
        return joined.union(by_arrival)

    windowed = [("l1", "r2"), ("l1", "r4"), ("l6", "r9")]
    by_arrival = [("any", f"l{a}", f"r{b}") for a in (1, 6, 14) for b in (2, 4, 9)]
    check_every_crash(build, windowed + by_arrival, backend=backend, restored_parallelism=2)


def test_w_125_logins_of_the_last_hour() -> None:
    """The count of an exactly-once job that crashed in the middle equals that of one that did not."""
    hour = 3_600_000
    logins = [(f"user {n % 3}", n * hour // 4) for n in range(12)]

    def build(env: Any) -> Any:
        windows = timed(env, [(user, time) for user, time in logins]).map(lambda user: (user, 1)).key_by(lambda _: 0)
        return windows.window(SlidingEventTimeWindows.of(hour, hour // 2)).reduce(lambda a, b: ("all", a[1] + b[1]))

    # Four logins an hour; the window that ends at half an hour has two, the one that ends at half past three too.
    counts = [2, 4, 4, 4, 4, 4, 2]
    check_every_crash(build, [("all", count) for count in counts])
