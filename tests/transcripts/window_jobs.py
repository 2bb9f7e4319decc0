"""Jobs with windows that transcripts name: what the keys of a transcript cannot say."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.api.data_stream import DataStream
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.functions.process import KeyedProcessFunction
from penstock.vocabulary.functions.windowed import ProcessAllWindowFunction, ProcessWindowFunction
from penstock.vocabulary.state.descriptors import ListStateDescriptor
from penstock.vocabulary.types.catalogue import Types
from penstock.vocabulary.windows.assigners import GlobalWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.count_assigners import CountSlidingWindowAssigner
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from penstock.vocabulary.windows.triggers import Trigger, TriggerResult

Stream = DataStream[Any]


def add_second(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


class Contents(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield [element[1] for element in elements]


def pyflink_count_window_3_2(readings: Stream) -> Stream:
    return readings.key_by(0).window(CountSlidingWindowAssigner.of(3, 2)).reduce(add_second)


def pyflink_count_window_4_2(readings: Stream) -> Stream:
    return readings.key_by(0).window(CountSlidingWindowAssigner.of(4, 2)).process(Contents())


class Highest(AggregateFunction[Any, int, float]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return max(accumulator, value[1])

    def get_result(self, accumulator: int) -> float:
        return float(accumulator)

    def merge(self, acc_a: int, acc_b: int) -> int:
        return max(acc_a, acc_b)


def highest_of_five(words: Stream) -> Stream:
    return words.key_by(0).count_window(5).aggregate(Highest())


class WholeMean(ProcessWindowFunction[Any, float, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[float]:
        numbers = [element[1] for element in elements]
        yield float(sum(numbers) // len(numbers))


def mean_of_three(pairs: Stream) -> Stream:
    return pairs.key_by(0).count_window(3).process(WholeMean())


class Average(AggregateFunction[Any, tuple[int, int], tuple[str, int]]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> tuple[str, int]:
        return "sensor", accumulator[0] // accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def average_of_three(readings: Stream) -> Stream:
    return readings.key_by(0).count_window(3).aggregate(Average())


class Joined(ProcessWindowFunction[Any, str, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[str]:
        yield ",".join(f"({name},{vc})" for name, vc in elements)


def three_joined(readings: Stream) -> Stream:
    return readings.key_by(0).count_window(3).process(Joined())


def first_and_highest(one: Any, other: Any) -> Any:
    return one[0], one[1], max(one[2], other[2])


def first_and_highest_tumbling(readings: Stream) -> Stream:
    return readings.key_by(0).window(TumblingEventTimeWindows.of(5000)).reduce(first_and_highest)


def first_and_highest_sliding(readings: Stream) -> Stream:
    return readings.key_by(0).window(SlidingEventTimeWindows.of(5000, 1000)).reduce(first_and_highest)


class Merged(AggregateFunction[Any, Any, Any]):
    """Collects the seconds and counts how often accumulators were merged."""

    def create_accumulator(self) -> Any:
        return (), 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return (*accumulator[0], value[1]), accumulator[1]

    def get_result(self, accumulator: Any) -> Any:
        return sorted(accumulator[0]), accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1] + 1


def merged_sessions(clicks: Stream) -> Stream:
    return clicks.key_by(0).window(EventTimeSessionWindows.with_gap(2000)).aggregate(Merged())


class Sum(AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class SumsInWindow(ProcessWindowFunction[int, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        yield key, context.window().start, list(elements)


def aggregate_then_process(readings: Stream) -> Stream:
    return readings.key_by(0).window(TumblingEventTimeWindows.of(5000)).aggregate(Sum(), SumsInWindow())


class EverySecond(Trigger[Any, Any]):
    """Answers every second element of a window with one result, and the others with nothing."""

    def __init__(self, answer: TriggerResult) -> None:
        self._answer = answer
        self._count = ListStateDescriptor("seen", Types.INT())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        seen = ctx.get_partitioned_state(self._count)
        seen.add(1)
        if len(list(seen.get())) < 2:
            return TriggerResult.CONTINUE
        seen.clear()
        return self._answer

    def on_processing_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()


def _sums(readings: Stream, answer: TriggerResult) -> Stream:
    return readings.key_by(0).window(GlobalWindows.create()).trigger(EverySecond(answer)).aggregate(Sum())


def fire_every_second(readings: Stream) -> Stream:
    return _sums(readings, TriggerResult.FIRE)


def fire_and_purge_every_second(readings: Stream) -> Stream:
    return _sums(readings, TriggerResult.FIRE_AND_PURGE)


def purge_every_second(readings: Stream) -> Stream:
    return _sums(readings, TriggerResult.PURGE)


class Distinct(AggregateFunction[Any, Any, int]):
    def create_accumulator(self) -> Any:
        return set()

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator | {value[0]}

    def get_result(self, accumulator: Any) -> int:
        return len(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a | acc_b


def unique_visitors(clicks: Stream) -> Stream:
    return clicks.window_all(TumblingEventTimeWindows.of(10_000)).aggregate(Distinct())


class CountAll(AggregateFunction[Any, int, int]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class OfAll(ProcessAllWindowFunction[int, Any, Any]):
    def process(self, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        yield context.window().end, list(elements)


def page_views(clicks: Stream) -> Stream:
    return clicks.window_all(TumblingEventTimeWindows.of(10_000)).aggregate(CountAll(), OfAll())


class WithEnd(ProcessWindowFunction[int, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        for views in elements:
            yield key, context.window().end, views


class Hottest(KeyedProcessFunction[int, Any, Any]):
    """Gathers the counts of all items of a window and shows those with most views."""

    def open(self, runtime_context: Any) -> None:
        self._counts = runtime_context.get_list_state(ListStateDescriptor("counts", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self._counts.add(value)
        ctx.timer_service().register_event_time_timer(value[1] + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        counts = list(self._counts.get())
        self._counts.clear()
        most = max(views for _, _, views in counts)
        items = sorted(item for item, _, views in counts if views == most)
        yield ctx.get_current_key() // 60_000, items, most


def hot_items(views: Stream) -> Stream:
    windows = views.key_by(0).window(SlidingEventTimeWindows.of(3_600_000, 300_000))
    return windows.aggregate(CountAll(), WithEnd()).key_by(1).process(Hottest())
