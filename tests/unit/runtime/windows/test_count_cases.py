"""Count windows: W-13 to W-20, and PyFlink's deviating answer by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import AggregateFunction
from penstock.vocabulary.functions.windowed import ProcessWindowFunction
from penstock.vocabulary.windows.assigners import GlobalWindows
from penstock.vocabulary.windows.count_assigners import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from penstock.vocabulary.windows.evictors import CountEvictor
from penstock.vocabulary.windows.triggers import CountTrigger, PurgingTrigger
from tests.unit.runtime.windows.window_bench import GENERAL, left_behind, window_harness

SENSOR = [("sensor_1", vc) for vc in range(1, 10)]


def count_window(size: int, slide: int | None = None, **settings: Any) -> OperatorHarness:
    """What `count_window(size, slide)` of the API builds."""
    if slide is None:
        return window_harness(
            GENERAL, GlobalWindows.create(), trigger=PurgingTrigger.of(CountTrigger.of(size)), **settings
        )
    return window_harness(
        GENERAL, GlobalWindows.create(), trigger=CountTrigger.of(slide), evictor=CountEvictor.of(size), **settings
    )


def pushed(harness: OperatorHarness, records: Iterable[Any]) -> list[Any]:
    for record in records:
        harness.push(record)
    return harness.values


def add_up(known: Any, value: Any) -> Any:
    return known[0], known[1] + value[1]


class Elements(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield [vc for _, vc in elements]


def test_w_13_tumbling_reduce() -> None:
    results = pushed(count_window(3, reducer=add_up), SENSOR)
    assert results == [("sensor_1", 6), ("sensor_1", 15), ("sensor_1", 24)]


def test_w_14_counts_each_key_for_itself() -> None:
    ones = [("sensor_1", 1)] * 9
    assert pushed(count_window(3, reducer=add_up), ones) == [("sensor_1", 3)] * 3
    harness = count_window(3, reducer=add_up)
    assert pushed(harness, [("a", 1), ("b", 1), ("a", 1), ("b", 1), ("a", 1)]) == [("a", 3)]
    harness.end()
    assert harness.values == [("a", 3)]


def test_w_15_sliding_reduce_evaluates_every_slide_records() -> None:
    harness = count_window(3, 2, reducer=add_up)
    let_out = []
    for record in SENSOR:
        harness.push(record)
        let_out.append([value for (_, value), _ in harness.take_outputs()])
    assert let_out == [[], [3], [], [9], [], [15], [], [21], []]


def test_w_15_second_answer_is_there_by_name() -> None:
    harness = window_harness(GENERAL, CountSlidingWindowAssigner.of(3, 2), reducer=add_up)
    let_out = []
    for record in SENSOR:
        harness.push(record)
        let_out.append([value for (_, value), _ in harness.take_outputs()])
    assert let_out == [[], [], [6], [], [12], [], [18], [], [24]]


def test_w_16_elements_of_tumbling_and_sliding_windows() -> None:
    eight = [("k", vc) for vc in range(1, 9)]
    assert pushed(count_window(4, function=Elements()), eight) == [[1, 2, 3, 4], [5, 6, 7, 8]]
    sliding = pushed(count_window(4, 2, function=Elements()), eight)
    assert sliding == [[1, 2], [1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]
    by_name = window_harness(GENERAL, CountSlidingWindowAssigner.of(4, 2), function=Elements())
    assert pushed(by_name, eight) == [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]]
    tumbling_by_name = window_harness(GENERAL, CountTumblingWindowAssigner.of(4), function=Elements())
    assert pushed(tumbling_by_name, eight) == [[1, 2, 3, 4], [5, 6, 7, 8]]


class Max(AggregateFunction[Any, int, float]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return max(value[1], accumulator)

    def get_result(self, accumulator: int) -> float:
        return float(accumulator)

    def merge(self, acc_a: int, acc_b: int) -> int:
        return max(acc_a, acc_b)


def test_w_17_aggregate_max() -> None:
    records = [("spark", n) for n in range(1, 6)] + [("hello", n) for n in (100, 90, 80, 70, 60, 10)]
    harness = count_window(5, reducer=Max())
    assert pushed(harness, records) == [5.0, 100.0]
    harness.end()
    assert harness.values == [5.0, 100.0]
    assert pushed(count_window(2, reducer=Max()), [("cold", -5), ("cold", -3)]) == [0.0]


class Mean(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        numbers = [number for _, number in elements]
        yield float(sum(numbers) // len(numbers))


def test_w_18_process_mean() -> None:
    assert pushed(count_window(3, function=Mean()), [(1, n) for n in range(1, 7)]) == [2.0, 5.0]
    assert pushed(count_window(3, function=Mean()), [(1, 1), (1, 2), (1, 5)]) == [2.0]


class Average(AggregateFunction[Any, Any, Any]):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return "sensor", accumulator[0] // accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_w_19_aggregate_average() -> None:
    assert pushed(count_window(3, reducer=Average()), SENSOR) == [("sensor", 2), ("sensor", 5), ("sensor", 8)]


class Joined(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield ",".join(f"({name},{vc})" for name, vc in elements)


def test_w_20_process_joins_strings() -> None:
    assert pushed(count_window(3, function=Joined()), SENSOR) == [
        "(sensor_1,1),(sensor_1,2),(sensor_1,3)",
        "(sensor_1,4),(sensor_1,5),(sensor_1,6)",
        "(sensor_1,7),(sensor_1,8),(sensor_1,9)",
    ]


def test_full_count_windows_leave_nothing_behind() -> None:
    harness = window_harness(GENERAL, CountTumblingWindowAssigner.of(2), reducer=add_up)
    pushed(harness, [("k", 1)] * 6)
    assert left_behind(harness) == {}
