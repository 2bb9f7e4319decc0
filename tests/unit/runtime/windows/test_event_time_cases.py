"""Windows in event time: W-21 to W-38, W-40 to W-42, W-44 to W-46, W-113 to W-115, W-123."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from penstock.runtime.time.valve import WatermarkValve
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import KeyedProcessFunction
from penstock.vocabulary.functions.windowed import ProcessWindowFunction
from penstock.vocabulary.state.descriptors import ListStateDescriptor, ReducingStateDescriptor
from penstock.vocabulary.time.generators import MAX_WATERMARK
from penstock.vocabulary.windows.assigners import GlobalWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.continuous_triggers import ContinuousEventTimeTrigger
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.triggers import EventTimeTrigger, Trigger, TriggerResult
from penstock.vocabulary.windows.windows import TimeWindow
from tests.unit.runtime.windows.window_bench import (
    KINDS,
    Contents,
    Count,
    Describe,
    ascending,
    at_end,
    bounded,
    feed,
    legacy,
    punctuated,
    window_harness,
)

pytestmark = pytest.mark.parametrize("kind", KINDS)

DAY = 1549044000
"""Second 122 of the cases is 1549044122."""


def second(short: int) -> int:
    return (DAY + short) * 1000


def sensor(*shorts: int) -> list[tuple[Any, int]]:
    return [(("sensor_1", DAY + short, vc), second(short)) for vc, short in enumerate(shorts, start=1)]


D = sensor(*range(122, 131))


def five_seconds(kind: str, **settings: Any) -> OperatorHarness:
    settings.setdefault("function", Describe())
    return window_harness(kind, TumblingEventTimeWindows.of(5000), **settings)


def fired(start: int, end: int, watermark: int, count: int) -> tuple[int, int, int, int]:
    return second(start), second(end), watermark, count


def test_w_21_start_of_windows(kind: str) -> None:
    def start(size: int, timestamp: int, offset: int = 0) -> int:
        harness = window_harness(kind, TumblingEventTimeWindows.of(size, offset), function=Describe())
        harness.push(("k",), timestamp)
        (found,) = at_end(harness)
        return found[0]  # type: ignore[no-any-return]

    assert start(5000, 1549044125000) == 1549044125000
    assert start(5000, 1549044122000) == 1549044120000
    assert start(5000, 1234) == 0
    assert start(5000, 7000) == 5000
    assert start(5000, 7000, offset=1000) == 6000


def test_w_22_five_seconds_ascending(kind: str) -> None:
    harness = five_seconds(kind)
    let_out = feed(harness, D, ascending)
    assert let_out[3] == [fired(120, 125, 1549044124999, 3)]
    assert let_out[8] == [fired(125, 130, 1549044129999, 5)]
    assert [out for position, out in enumerate(let_out) if position not in (3, 8)] == [[]] * 7
    assert at_end(harness) == [fired(130, 135, MAX_WATERMARK, 1)]


def test_w_23_three_seconds_ascending(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(3000), function=Describe())
    let_out = feed(harness, D, ascending)
    assert let_out[1] == [fired(120, 123, 1549044122999, 1)]
    assert let_out[4] == [fired(123, 126, 1549044125999, 3)]
    assert let_out[7] == [fired(126, 129, 1549044128999, 3)]
    assert sum(map(len, let_out)) == 3
    assert at_end(harness) == [fired(129, 132, MAX_WATERMARK, 2)]


@pytest.mark.parametrize(
    ("watermark", "printed"),
    [pytest.param(legacy(3000), 1549044125000, id="w_24"), pytest.param(bounded(3000), 1549044124999, id="w_25")],
)
def test_w_24_w_25_three_seconds_of_delay(kind: str, watermark: Any, printed: int) -> None:
    harness = five_seconds(kind)
    let_out = feed(harness, D, watermark)
    assert let_out[6] == [fired(120, 125, printed, 3)]
    assert sum(map(len, let_out)) == 1
    assert at_end(harness) == [fired(125, 130, MAX_WATERMARK, 5), fired(130, 135, MAX_WATERMARK, 1)]


def test_w_26_punctuated(kind: str) -> None:
    let_out = feed(five_seconds(kind), D, punctuated)
    assert let_out[3] == [fired(120, 125, 1549044125000, 3)]
    assert let_out[8] == [fired(125, 130, 1549044130000, 5)]


def test_w_27_a_record_is_in_before_the_watermark_it_causes(kind: str) -> None:
    records = [(("k",), 20000), (("k",), 24999)]
    assert feed(five_seconds(kind), records, punctuated) == [[], [(20000, 25000, 24999, 2)]]
    three = [*records, (("k",), 25000)]
    assert feed(five_seconds(kind), three, ascending) == [[], [], [(20000, 25000, 24999, 2)]]


def test_w_28_all_windows_fire_at_the_end_of_a_short_file(kind: str) -> None:
    harness = five_seconds(kind)
    feed(harness, D)
    assert at_end(harness) == [
        fired(120, 125, MAX_WATERMARK, 3),
        fired(125, 130, MAX_WATERMARK, 5),
        fired(130, 135, MAX_WATERMARK, 1),
    ]


def test_w_29_late_record_is_dropped(kind: str) -> None:
    harness = five_seconds(kind)
    let_out = feed(harness, sensor(121, 122, 125, 128, 121), legacy(3000))
    assert let_out == [[], [], [], [fired(120, 125, 1549044125000, 2)], []]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 1}
    assert at_end(harness) == [fired(125, 130, MAX_WATERMARK, 2)]


@pytest.mark.parametrize(
    ("watermark", "printed"),
    [pytest.param(legacy(3000), 1549044125000, id="legacy"), pytest.param(bounded(3000), 1549044124999, id="new")],
)
def test_w_30_allowed_lateness_and_side_output(kind: str, watermark: Any, printed: int) -> None:
    late = OutputTag("lateData")
    harness = five_seconds(kind, allowed_lateness=2000, late_tag=late)
    records = sensor(121, 122, 125, 128, 121, 123, 130, 124)
    let_out = feed(harness, records, watermark)
    assert let_out == [
        [],
        [],
        [],
        [fired(120, 125, printed, 2)],
        [fired(120, 125, printed, 3)],
        [fired(120, 125, printed, 4)],
        [],
        [],
    ]
    assert harness.side_output(late) == [(records[7][0], second(124))]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 0}
    assert at_end(harness) == [fired(125, 130, MAX_WATERMARK, 2), fired(130, 135, MAX_WATERMARK, 1)]


def test_w_30_in_one_run_fires_once_per_late_record(kind: str) -> None:
    harness = five_seconds(kind, allowed_lateness=2000)
    harness.push_run(sensor(121, 122, 125, 128))
    harness.push_watermark(second(125))
    harness.take_outputs()
    harness.push_run(sensor(121, 123))
    assert harness.values == [fired(120, 125, second(125), 3), fired(120, 125, second(125), 4)]


def keep_first_and_max(known: Any, value: Any) -> Any:
    return known[0], known[1], max(known[2], value[2])


def test_w_31_reduce_keeps_the_first_timestamp(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), reducer=keep_first_and_max)
    let_out = feed(harness, D, legacy(0))
    assert let_out[3] == [("sensor_1", 1549044122, 3)]
    assert let_out[8] == [("sensor_1", 1549044125, 8)]
    assert at_end(harness) == [("sensor_1", 1549044130, 9)]


def test_w_32_sliding_reduce(kind: str) -> None:
    harness = window_harness(kind, SlidingEventTimeWindows.of(5000, 1000), reducer=keep_first_and_max)
    let_out = feed(harness, D, legacy(0))
    expected = [(122, 1), (122, 2), (122, 3), (122, 4), (122, 5), (123, 6), (124, 7), (125, 8)]
    assert let_out == [[], *([("sensor_1", DAY + ts, vc)] for ts, vc in expected)]
    assert at_end(harness) == [("sensor_1", DAY + ts, 9) for ts in (126, 127, 128, 129, 130)]


def test_w_33_a_record_is_in_every_window_that_contains_it(kind: str) -> None:
    harness = window_harness(kind, SlidingEventTimeWindows.of(10_000, 5000), function=Contents())
    harness.push(("k", 7), 7000)
    assert at_end(harness) == [("k", 0, 10_000, [("k", 7)]), ("k", 5000, 15_000, [("k", 7)])]


def sessions(kind: str, **settings: Any) -> OperatorHarness:
    settings.setdefault("function", Contents())
    return window_harness(kind, EventTimeSessionWindows.with_gap(2000), **settings)


def events(*seconds: int) -> list[tuple[Any, int]]:
    return [(("k", moment), moment * 1000) for moment in seconds]


def test_w_34_sessions(kind: str) -> None:
    first = ("k", 1000, 6000, [("k", 1), ("k", 2), ("k", 4)])
    second_session = ("k", 7000, 10_000, [("k", 7), ("k", 8)])
    harness = sessions(kind)
    assert feed(harness, events(1, 2, 4, 7, 8), ascending) == [[], [], [], [first], []]
    assert at_end(harness) == [second_session]
    assert feed(sessions(kind), events(1, 2, 4, 7, 8, 9), bounded(3000)) == [[], [], [], [], [], [first]]


class MergeCounting(AggregateFunction[Any, Any, Any]):
    def __init__(self) -> None:
        self.merges = 0

    def create_accumulator(self) -> Any:
        return ()

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*accumulator, value[1])

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        self.merges += 1
        return acc_a + acc_b


def test_w_35_out_of_order_record_joins_two_sessions(kind: str) -> None:
    harness = sessions(kind)
    assert feed(harness, events(1, 5, 3), bounded(5000)) == [[], [], []]
    assert at_end(harness) == [("k", 1000, 7000, [("k", 1), ("k", 5), ("k", 3)])]
    function = MergeCounting()
    harness = sessions(kind, reducer=function, function=None)
    feed(harness, events(1, 5, 3), bounded(5000))
    assert at_end(harness) == [(1, 5, 3)]
    assert function.merges == 1


def test_w_36_two_seconds_of_delay(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), function=Contents())
    let_out = feed(harness, events(1, 3, 5, 2, 7, 4), legacy(2000))
    assert let_out == [[], [], [], [], [("k", 0, 5000, [("k", 1), ("k", 3), ("k", 2)])], []]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 1}
    harness = window_harness(kind, TumblingEventTimeWindows.of(5000), function=Contents())
    assert feed(harness, events(7, 3), legacy(2000)) == [[], []]
    assert harness.metrics.snapshot() == {"numLateRecordsDropped": 1}


def test_w_37_fires_at_the_last_millisecond(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(10_000), reducer=Count())
    harness.push(("k",), 3000)
    harness.push_watermark(9998)
    assert harness.outputs == []
    harness.push_watermark(9999)
    assert harness.outputs == [(1, 9999)]


@pytest.mark.parametrize("case", ["w_38", "w_123"])
def test_w_38_w_123_a_delayed_event_counts_in_its_own_window(kind: str, case: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(10_000), function=Describe())
    feed(harness, events(11, 9), bounded(2000))
    assert [(start, count) for start, _, _, count in at_end(harness)] == [(0, 1), (10_000, 1)]


class OneElement(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield key, list(elements)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(5000),
        SlidingEventTimeWindows.of(5000, 5000),
        EventTimeSessionWindows.with_gap(60_000),
    ],
    ids=repr,
)
def test_w_40_with_an_aggregate_the_function_sees_exactly_its_result(kind: str, assigner: Any) -> None:
    harness = window_harness(kind, assigner, reducer=Count(), function=OneElement())
    feed(harness, events(1, 2, 3))
    assert at_end(harness) == [("k", [3])]
    harness = window_harness(kind, assigner, reducer=lambda a, b: (a[0], a[1] + b[1]), function=OneElement())
    feed(harness, events(1, 2, 3))
    assert at_end(harness) == [("k", [("k", 6)])]


def test_w_41_result_every_ten_seconds(kind: str) -> None:
    harness = window_harness(
        kind, TumblingEventTimeWindows.of(60_000), trigger=ContinuousEventTimeTrigger.of(10_000), reducer=Count()
    )
    assert feed(harness, events(1, 5, 12, 25), punctuated) == [[], [], [3], [4]]
    assert at_end(harness) == [4, 4, 4, 4]


class EverySecond(Trigger[Any, Any]):
    """Answers with a fixed result for every second record."""

    def __init__(self, result: TriggerResult) -> None:
        self.result = result
        self.count = ReducingStateDescriptor("seen", lambda a, b: a + b)

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        seen = ctx.get_partitioned_state(self.count)
        seen.add(1)
        return self.result if seen.get() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.count).clear()


@pytest.mark.parametrize(
    ("result", "sums"),
    [
        (TriggerResult.FIRE, [3, 10]),
        (TriggerResult.FIRE_AND_PURGE, [3, 7]),
        (TriggerResult.PURGE, []),
        (TriggerResult.CONTINUE, []),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_w_42_trigger_results(kind: str, result: TriggerResult, sums: list[int]) -> None:
    harness = window_harness(
        kind, GlobalWindows.create(), trigger=EverySecond(result), reducer=lambda a, b: (a[0], a[1] + b[1])
    )
    let_out = feed(harness, events(1, 2, 3, 4))
    assert [value for out in let_out for _, value in out] == sums


def test_w_44_the_slower_channel_decides(kind: str) -> None:
    harness, valve = five_seconds(kind), WatermarkValve(2)

    def arrive(channel: int, short: int) -> None:
        harness.push(("sensor_1",), second(short))
        advanced = valve.on_watermark(channel, second(short - 3))
        if advanced is not None:
            harness.push_watermark(advanced)

    arrive(0, 128)
    arrive(1, 123)
    assert harness.watermarks == [second(120)]
    assert harness.values == []
    arrive(1, 128)
    assert harness.watermarks == [second(120), second(125)]
    assert harness.values == [fired(120, 125, second(125), 1)]


def test_w_45_monotone_per_channel(kind: str) -> None:
    valve = WatermarkValve(2)
    assert valve.on_watermark(0, 22) is None
    assert valve.on_watermark(1, 19) == 19
    assert valve.on_watermark(0, 18) is None
    assert valve.on_watermark(1, 30) == 22


def test_w_46_clock_is_the_minimum(kind: str) -> None:
    valve = WatermarkValve(3)
    assert [valve.on_watermark(0, 2), valve.on_watermark(1, 4), valve.on_watermark(2, 3)] == [None, None, 2]
    assert valve.on_watermark(0, 5) == 3
    assert valve.on_watermark(2, 6) == 4


def test_w_113_page_views(kind: str) -> None:
    harness = window_harness(kind, TumblingEventTimeWindows.of(10_000), reducer=Count())
    feed(harness, events(1, 5, 9, 11))
    assert at_end(harness) == [3, 1]


class Distinct(AggregateFunction[Any, Any, int]):
    def create_accumulator(self) -> Any:
        return set()

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.add(value)
        return accumulator

    def get_result(self, accumulator: Any) -> int:
        return len(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a | acc_b


def test_w_114_unique_visitors_of_all_windows(kind: str) -> None:
    harness = window_harness(
        kind, TumblingEventTimeWindows.of(10_000), key=lambda _: 0, is_keyed=False, reducer=Distinct()
    )
    for position, user in enumerate(["Mary", "Bob", "Mary", "Liz"]):
        harness.push(user, position)
    assert at_end(harness) == [3]


class AddWindowEnd(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: ProcessWindowFunction.Context[Any], elements: Iterable[Any]) -> Any:
        for count in elements:
            yield context.window().end, key, count


class TopN(KeyedProcessFunction[Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self.counts = runtime_context.get_list_state(ListStateDescriptor("counts"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.counts.add(value)
        ctx.timer_service().register_event_time_timer(value[0] + 1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        counts = list(self.counts.get())
        self.counts.clear()
        most = max(count for _, _, count in counts)
        yield ctx.get_current_key() // 60_000, [item for _, item, count in counts if count == most], most


def test_w_115_hot_items(kind: str) -> None:
    minute = 60_000
    windows = window_harness(
        kind, SlidingEventTimeWindows.of(60 * minute, 5 * minute), reducer=Count(), function=AddWindowEnd()
    )
    top = OperatorHarness.for_process(TopN(), key=lambda record: record[0])
    for item, moment in [("A", 1), ("A", 2), ("B", 3), ("B", 6), ("B", 7)]:
        windows.push((item,), moment * minute)
    windows.end()
    for value, timestamp in windows.outputs:
        top.push(value, timestamp)
    top.end()
    assert top.values == [
        (5, ["A"], 2),
        *((end, ["B"], 3) for end in range(10, 65, 5)),
        (65, ["B"], 2),
    ]


def test_results_carry_the_last_timestamp_of_their_window_and_precede_the_watermark(kind: str) -> None:
    """WFN-11 and WFN-12."""
    harness = window_harness(kind, SlidingEventTimeWindows.of(10, 5), reducer=Count())
    seen: list[Any] = []
    harness.operator.output.emit = lambda values, timestamps: seen.append((values, timestamps))
    harness.watermarks = seen
    harness.operator.output._all[0].process_watermark = seen.append  # type: ignore[method-assign]
    harness.push_run([(("a",), 1), (("b",), 2), (("a",), 7)])
    harness.push_watermark(9)
    harness.push_watermark(20)
    assert seen == [([1, 1, 2, 1], [4, 4, 9, 9]), 9, ([1], [14]), 20]


def test_default_trigger_named_explicitly_is_the_same(kind: str) -> None:
    harness = five_seconds(kind, trigger=EventTimeTrigger())
    assert feed(harness, events(1, 2, 6), ascending) == [[], [], [(0, 5000, 5999, 2)]]
    assert harness.event_timers() == [(9999, "k", TimeWindow(5000, 10_000))]
