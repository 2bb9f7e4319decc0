"""The worked cases of several streams on Spark, all of them pipelines of one job.

Cases that say in which order the records of two streams arrive (W-67 to W-70, W-74 to W-77) are transcripts.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment, Time, UserFunctionError
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from tests.spark.jobs import collect, per_key
from tests.spark.test_transcripts import parametrize as transcripts
from tests.transcripts.join_jobs import compared_speeds
from tests.unit.cases import test_join_cases as cases
from tests.unit.runtime.task.stream_bench import timed


class Square(AsyncFunction[Any, Any]):
    """Answers later records sooner."""

    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep((5 - value % 5) / 1000)
        return [value * value]


def joined(env: StreamExecutionEnvironment, assigner: Any, oranges: list[int], greens: list[int]) -> DataStream[Any]:
    return (
        cases.numbers(env, *oranges)
        .join(cases.numbers(env, *greens))
        .where(cases.one_key)
        .equal_to(cases.one_key)
        .window(assigner)
        .apply(lambda orange, green: (orange, green))
    )


Case = Callable[[StreamExecutionEnvironment], DataStream[Any]]
CASES: dict[str, tuple[Case, list[Any]]] = {}
"""Per case a stream and what it must hold; the names begin with the number of the case."""


def gives(*values: Any) -> Callable[[Case], Case]:
    def remember(build: Case) -> Case:
        CASES[build.__name__] = build, list(values)
        return build

    return remember


@gives(35, 45)
def w_58_split_and_connect(env: StreamExecutionEnvironment) -> DataStream[Any]:
    split = env.from_elements(45, 35, 10).split(
        lambda vc: ["alarm"] if vc >= 40 else ["warn"] if vc >= 30 else ["normal"]
    )
    return split.select("alarm").connect(split.select("warn")).process(cases.Identity())


@gives((0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 3), (4, 4), (5, 4))
def w_62_tumbling_window_join(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return joined(env, TumblingEventTimeWindows.of(2), [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4])


@gives((0, 0), (0, 0), (1, 0), (2, 3), (3, 3), (3, 3), (3, 4), (4, 3), (4, 4), (4, 4))
def w_63_sliding_window_join(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return joined(env, SlidingEventTimeWindows.of(2, 1), [0, 1, 2, 3, 4], [0, 3, 4])


@gives((1, 0), (2, 0), (5, 4), (5, 5), (6, 4), (6, 5))
def w_64_session_window_join(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return joined(env, EventTimeSessionWindows.with_gap(1), [1, 2, 5, 6, 8, 9], [0, 4, 5])


def between(env: StreamExecutionEnvironment) -> Any:
    orange = cases.numbers(env, 0, 2, 3, 4, 5, 7).key_by(cases.one_key)
    green = cases.numbers(env, 0, 1, 6, 7).key_by(cases.one_key)
    return orange.interval_join(green).between(Time.milliseconds(-2), Time.milliseconds(1))


@gives((0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7))
def w_65_interval_join(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return between(env).process(cases.Pair())  # type: ignore[no-any-return]


@gives((0, 0), (2, 1), (7, 6), (7, 7))
def w_65_interval_join_with_exclusive_bounds(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return between(env).lower_bound_exclusive().upper_bound_exclusive().process(cases.Pair())  # type: ignore[no-any-return]


@gives(("1", "小米12", 3, 14670))
def w_66_goods_and_orders_in_a_window(env: StreamExecutionEnvironment) -> DataStream[Any]:
    goods = timed(env, *cases.GOODS, time=lambda _: 1_000)
    orders = timed(env, ("item-1", "1", 3), ("item-2", "111", 5), time=lambda _: 4_999)
    windows = TumblingEventTimeWindows.of(Time.seconds(5))
    return goods.join(orders).where(0).equal_to(1).window(windows).apply(cases.Total())


@gives(8, 9, 10, 11)
def w_67_goods_and_orders_in_an_interval(env: StreamExecutionEnvironment) -> DataStream[Any]:
    goods = timed(env, ("1", 10), time=lambda good: good[1] * 1000).key_by(0)
    seconds = (7, 8, 9, 10, 11, 12)
    orders = timed(env, *[("1", second) for second in seconds], time=lambda order: order[1] * 1000).key_by(0)
    pairs = goods.interval_join(orders).between(Time.seconds(-2), Time.seconds(1)).process(cases.Pair())
    return pairs.map(lambda pair: pair[1][1])


@gives("order 1 paid", "order 2 paid")
def w_68_orders_and_receipts(env: StreamExecutionEnvironment) -> DataStream[Any]:
    orders, receipts = env.from_collection(cases.ORDERS), env.from_collection(cases.RECEIPTS)
    both = orders.connect(receipts).key_by(lambda order: order[2], lambda receipt: receipt[0])
    return both.process(cases.Reconcile())


@gives((4, 1), (4, 2), (4, 3), (4, 5))
def w_69_inner_join_in_any_order_of_arrival(env: StreamExecutionEnvironment) -> DataStream[Any]:
    # The order of the case itself is that of its transcript.
    left, right = env.from_elements(4), env.from_elements(1, 2, 3, 5)
    return left.join(right).where(cases.one_key).equal_to(cases.one_key).without_window().apply(cases.pair)


@gives((("a", 1), None), (("b", 2), None))
def w_70_left_outer_join(env: StreamExecutionEnvironment) -> DataStream[Any]:
    left, right = env.from_elements(("a", 1), ("b", 2)), env.from_elements(("c", 3))
    return left.left_outer_join(right).where(0).equal_to(0).without_window().apply(cases.pair)


@gives(*[(number, place) for number in range(3) for place in (0, 1)])
def w_71_union(env: StreamExecutionEnvironment) -> DataStream[Any]:
    first, second, third = (env.from_collection([(number, 0), (number, 1)]) for number in range(3))
    return first.union(second, third)


@gives("int 1", "int 2", "str ab", "str c")
def w_72_connected_streams_of_different_types(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return env.from_elements(1, 2).connect(env.from_elements("ab", "c")).map(cases.Describe())


@gives("a", "b", "c")
def w_72_connected_streams_flat(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return env.from_elements(1, 2).connect(env.from_elements("ab", "c")).flat_map(cases.Letters())


@gives((0, "x"), (0, "y"), (1, "x"), (1, "y"))
def w_73_every_key_sees_every_broadcast_element(env: StreamExecutionEnvironment) -> DataStream[Any]:
    keyed = env.from_elements("k1", "k2").key_by(lambda key: key)
    return keyed.connect(env.from_elements("x", "y").broadcast()).process(cases.CountBroadcast())


@gives((0, ("张三", 10)), (1, ("张三", 10)))
def w_79_every_subtask_has_the_state(env: StreamExecutionEnvironment) -> DataStream[Any]:
    config = env.from_elements(cases.CONFIG).broadcast(cases.USERS)
    return env.from_collection([]).connect(config).process(cases.TellSubtask())


@gives(("v1", 100, 62, 58, 4))
def w_122_speeds_of_two_sources(env: StreamExecutionEnvironment) -> DataStream[Any]:
    obd, device = (
        env.from_collection([json.dumps({"vehicle": "v1", "ts": 100, "speed": speed}) for speed in speeds])
        for speeds in ((60, 61, 62), (58,))
    )
    return compared_speeds(obd, device)


SQUARES = [number * number for number in range(200)]


@gives(*SQUARES)
def async_requests_in_order(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return AsyncDataStream.ordered_wait(env.from_collection(range(200)), Square(), Time.seconds(60), 10)


@gives(*SQUARES)
def async_requests_out_of_order(env: StreamExecutionEnvironment) -> DataStream[Any]:
    return AsyncDataStream.unordered_wait(env.from_collection(range(200)), Square(), Time.seconds(60), 10)


@pytest.fixture(scope="module")
def results() -> dict[str, list[Any]]:
    """What all cases give, as pipelines of one job."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    # Lambdas keep what they refer to, so the name is bound when the step is written.
    named = [build(env).map(lambda value, name=name: (name, value)) for name, (build, _) in CASES.items()]
    return per_key(collect(named[0].union(*named[1:])))


@pytest.mark.timeout(300)  # the first one waits for all of them
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, results: dict[str, list[Any]]) -> None:
    assert sorted(results[name]) == sorted(CASES[name][1])


def test_answers_keep_the_order_of_the_records_where_asked(results: dict[str, list[Any]]) -> None:
    # Of two subtasks, one has the even numbers.
    for parity in (0, 1):
        found = [square for square in results["async_requests_in_order"] if square % 2 == parity]
        assert found == sorted(found)


def test_w_78_a_write_on_the_data_side_fails_the_job(env: StreamExecutionEnvironment) -> None:
    stream = env.from_elements(1).map(lambda _: lambda state: state.clear())
    result = stream.connect(env.from_elements(cases.CONFIG).broadcast(cases.USERS)).process(cases.WritesOnDataSide())
    with pytest.raises(UserFunctionError, match="process_broadcast_element"):
        collect(result)


def test_every_case_of_several_streams_runs_on_spark() -> None:
    names = [*CASES, *(transcript.name for transcript in transcripts.args[1]), "w_78 above"]
    numbers = [re.match(r"w[-_](\d+)", name, re.IGNORECASE) for name in names]
    assert {58, *range(62, 80), 122} <= {int(number[1]) for number in numbers if number}
