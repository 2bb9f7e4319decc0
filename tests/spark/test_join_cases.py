"""The worked cases of several streams on Spark, all of them pipelines of one job."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import pytest

from penstock import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment, Time, UserFunctionError
from penstock.vocabulary.session_windows import EventTimeSessionWindows
from penstock.vocabulary.window_assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from tests.spark.jobs import collect
from tests.unit.cases import test_join_cases as cases
from tests.unit.runtime.stream_bench import timed


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


def pipelines(env: StreamExecutionEnvironment) -> dict[str, tuple[DataStream[Any], list[Any]]]:
    """Return, per case, a stream and what it must hold."""
    first, second, third = (env.from_collection([(number, 0), (number, 1)]) for number in range(3))
    orders, receipts = env.from_collection(cases.ORDERS), env.from_collection(cases.RECEIPTS)
    left, right = env.from_elements(("a", 1), ("b", 2)), env.from_elements(("c", 3))
    split = env.from_elements(45, 35, 10).split(
        lambda vc: ["alarm"] if vc >= 40 else ["warn"] if vc >= 30 else ["normal"]
    )
    goods = timed(env, *cases.GOODS, time=lambda _: 1_000)
    sold = timed(env, ("item-1", "1", 3), ("item-2", "111", 5), time=lambda _: 4_999)
    orange = cases.numbers(env, 0, 2, 3, 4, 5, 7).key_by(cases.one_key)
    green = cases.numbers(env, 0, 1, 6, 7).key_by(cases.one_key)
    numbers = env.from_collection(range(200))
    squares = [number * number for number in range(200)]
    return {
        "W-58": (split.select("alarm").connect(split.select("warn")).process(cases.Identity()), [35, 45]),
        "W-62": (
            joined(env, TumblingEventTimeWindows.of(2), [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4]),
            [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 3), (4, 4), (5, 4)],
        ),
        "W-63": (
            joined(env, SlidingEventTimeWindows.of(2, 1), [0, 1, 2, 3, 4], [0, 3, 4]),
            [(0, 0), (0, 0), (1, 0), (2, 3), (3, 3), (3, 3), (3, 4), (4, 3), (4, 4), (4, 4)],
        ),
        "W-64": (
            joined(env, EventTimeSessionWindows.with_gap(1), [1, 2, 5, 6, 8, 9], [0, 4, 5]),
            [(1, 0), (2, 0), (5, 4), (5, 5), (6, 4), (6, 5)],
        ),
        "W-65": (
            orange.interval_join(green).between(Time.milliseconds(-2), Time.milliseconds(1)).process(cases.Pair()),
            cases.INTERVAL,
        ),
        "W-66": (
            goods.join(sold)
            .where(0)
            .equal_to(1)
            .window(TumblingEventTimeWindows.of(Time.seconds(5)))
            .apply(cases.Total()),
            [("1", "小米12", 3, 14670)],
        ),
        "W-68": (
            orders.connect(receipts)
            .key_by(lambda order: order[2], lambda receipt: receipt[0])
            .process(cases.Reconcile()),
            ["order 1 paid", "order 2 paid"],
        ),
        "W-70": (
            left.left_outer_join(right).where(0).equal_to(0).without_window().apply(cases.pair),
            [(("a", 1), None), (("b", 2), None)],
        ),
        "W-71": (first.union(second, third), [(number, place) for number in range(3) for place in (0, 1)]),
        "W-72": (
            env.from_elements(1, 2).connect(env.from_elements("ab", "c")).map(cases.Describe()),
            ["int 1", "int 2", "str ab", "str c"],
        ),
        "W-73": (
            env.from_elements("k1", "k2")
            .key_by(lambda key: key)
            .connect(env.from_elements("x", "y").broadcast())
            .process(cases.CountBroadcast()),
            [(0, "x"), (0, "y"), (1, "x"), (1, "y")],
        ),
        "W-79": (
            env.from_collection([])
            .connect(env.from_elements(cases.CONFIG).broadcast(cases.USERS))
            .process(cases.TellSubtask()),
            [(0, ("张三", 10)), (1, ("张三", 10))],
        ),
        "ordered": (AsyncDataStream.ordered_wait(numbers, Square(), Time.seconds(60), 10), squares),
        "unordered": (AsyncDataStream.unordered_wait(numbers, Square(), Time.seconds(60), 10), squares),
    }


@pytest.mark.timeout(300)
def test_all_cases_in_one_job(env: StreamExecutionEnvironment) -> None:
    written = pipelines(env)
    named = [stream.map(lambda value, name=name: (name, value)) for name, (stream, _) in written.items()]
    found: dict[str, list[Any]] = defaultdict(list)
    for name, value in collect(named[0].union(*named[1:])):
        found[name].append(value)
    assert {name: sorted(values) for name, values in found.items()} == {
        name: sorted(values) for name, (_, values) in written.items()
    }


def test_w_78_a_write_on_the_data_side_fails_the_job(env: StreamExecutionEnvironment) -> None:
    stream = env.from_elements(1).map(lambda _: lambda state: state.clear())
    result = stream.connect(env.from_elements(cases.CONFIG).broadcast(cases.USERS)).process(cases.WritesOnDataSide())
    with pytest.raises(UserFunctionError, match="process_broadcast_element"):
        collect(result)
