"""The worked cases of several streams: W-58, W-62 to W-79 and W-122."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.environment import StreamExecutionEnvironment
from penstock.errors import StateAccessError, UserFunctionError
from penstock.graph.multi_input_steps import BroadcastProcessStep, CoProcessStep, JoinKind, JoinStep
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import CoFlatMapFunction, CoMapFunction, JoinFunction
from penstock.vocabulary.functions.broadcast import BroadcastProcessFunction
from penstock.vocabulary.functions.process import CoProcessFunction, KeyedCoProcessFunction, ProcessJoinFunction
from penstock.vocabulary.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from penstock.vocabulary.time.durations import Duration, Time
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.windows.assigners import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.vocabulary.windows.sessions import EventTimeSessionWindows
from tests.unit.runtime.task.stream_bench import collected, environment, timed

PARALLELISMS = pytest.mark.parametrize("parallelism", [1, 3])


def numbers(env: StreamExecutionEnvironment, *values: int) -> Any:
    """Return a stream of numbers that are their own timestamps."""
    return timed(env, *values, time=lambda value: value)


def one_key(_: Any) -> str:
    return "key"


class Identity(CoProcessFunction[Any, Any, Any]):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


@PARALLELISMS
def test_w_58_split_and_connect(parallelism: int) -> None:
    env = environment(parallelism)
    split = env.from_elements(45, 35, 10).split(
        lambda vc: ["alarm"] if vc >= 40 else ["warn"] if vc >= 30 else ["normal"]
    )
    alarm, warn, normal = split.select("alarm"), split.select("warn"), split.select("normal")
    found = collected(alarm, warn, normal, alarm.connect(warn).process(Identity()))
    assert found[:3] == [[45], [35], [10]]
    assert sorted(found[3]) == [35, 45]


def window_join(assigner: Any, oranges: list[int], greens: list[int], parallelism: int) -> list[tuple[int, int]]:
    env = environment(parallelism)
    joined = (
        numbers(env, *oranges)
        .join(numbers(env, *greens))
        .where(one_key)
        .equal_to(one_key)
        .window(assigner)
        .apply(lambda orange, green: (orange, green))
    )
    found: list[tuple[int, int]] = collected(joined)
    return sorted(found)


@PARALLELISMS
def test_w_62_tumbling_window_join(parallelism: int) -> None:
    found = window_join(TumblingEventTimeWindows.of(2), [0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 3, 4], parallelism)
    assert found == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 3), (4, 4), (5, 4)]


@PARALLELISMS
def test_w_63_sliding_window_join(parallelism: int) -> None:
    found = window_join(SlidingEventTimeWindows.of(2, 1), [0, 1, 2, 3, 4], [0, 3, 4], parallelism)
    windows = [[(0, 0)], [(0, 0), (1, 0)], [(2, 3), (3, 3)], [(3, 3), (3, 4), (4, 3), (4, 4)], [(4, 4)]]
    assert found == sorted(pair for window in windows for pair in window)


@PARALLELISMS
def test_w_64_session_window_join(parallelism: int) -> None:
    # Both streams make the sessions together; sessions that touch, such as [0, 1) and [1, 2), are one.
    found = window_join(EventTimeSessionWindows.with_gap(1), [1, 2, 5, 6, 8, 9], [0, 4, 5], parallelism)
    assert found == [(1, 0), (2, 0), (5, 4), (5, 5), (6, 4), (6, 5)]


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


INTERVAL = [(0, 0), (0, 1), (2, 0), (2, 1), (3, 1), (5, 6), (7, 6), (7, 7)]


@PARALLELISMS
@pytest.mark.parametrize(
    ("exclusive", "dropped"),
    [
        ([], []),
        (["lower"], [(2, 0), (3, 1)]),
        (["upper"], [(0, 1), (5, 6)]),
        (["lower", "upper"], [(2, 0), (3, 1), (0, 1), (5, 6)]),
    ],
)
def test_w_65_interval_join(exclusive: list[str], dropped: list[Any], parallelism: int) -> None:
    env = environment(parallelism)
    orange, green = numbers(env, 0, 2, 3, 4, 5, 7).key_by(one_key), numbers(env, 0, 1, 6, 7).key_by(one_key)
    joined = orange.interval_join(green).between(Time.milliseconds(-2), Time.milliseconds(1))
    if "lower" in exclusive:
        joined = joined.lower_bound_exclusive()
    if "upper" in exclusive:
        joined = joined.upper_bound_exclusive()
    assert sorted(collected(joined.process(Pair()))) == [pair for pair in INTERVAL if pair not in dropped]


GOODS = [
    ("1", "小米12", Decimal("4890")),
    ("2", "iphone12", Decimal("12000")),
    ("3", "MacBookPro", Decimal("15000")),
    ("4", "Thinkpad X1", Decimal("9800")),
    ("5", "MeiZu One", Decimal("3200")),
    ("6", "Mate 40", Decimal("6500")),
]


class Total(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first[0], first[1], second[2], first[2] * second[2]


@PARALLELISMS
@pytest.mark.parametrize("times", [1, 3])
def test_w_66_goods_and_orders_in_a_window(times: int, parallelism: int) -> None:
    env = environment(parallelism)
    goods = timed(env, *(GOODS * times), time=lambda _: 1_000)
    orders = timed(env, ("item-1", "1", 3), ("item-2", "111", 5), time=lambda _: 4_999)
    joined = goods.join(orders).where(0).equal_to(1).window(TumblingEventTimeWindows.of(Time.seconds(5))).apply(Total())
    assert collected(joined) == [("1", "小米12", 3, Decimal(14670))] * times


def test_w_66_orders_of_another_window_find_no_goods() -> None:
    env = environment()
    goods = timed(env, *GOODS, time=lambda _: 1_000)
    orders = timed(env, ("item-1", "1", 3), time=lambda _: 5_000)
    joined = goods.join(orders).where(0).equal_to(1).window(TumblingEventTimeWindows.of(Time.seconds(5))).apply(Total())
    assert collected(joined) == []


@PARALLELISMS
def test_w_67_goods_and_orders_in_an_interval(parallelism: int) -> None:
    env = environment(parallelism)
    goods = timed(env, ("1", 10)).assign_timestamps_and_watermarks(_seconds()).key_by(0)
    orders = timed(env, *[("1", second) for second in (7, 8, 9, 10, 11, 12)])
    orders = orders.assign_timestamps_and_watermarks(_seconds()).key_by(0)
    joined = goods.interval_join(orders).between(Time.seconds(-2), Time.seconds(1)).process(Pair())
    assert sorted(order[1] for _, order in collected(joined)) == [8, 9, 10, 11]


def _seconds() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: record[-1] * 1000)


class Reconcile(KeyedCoProcessFunction[str, Any, Any, str]):
    def open(self, runtime_context: Any) -> None:
        self._order = runtime_context.get_state(ValueStateDescriptor("order"))
        self._receipt = runtime_context.get_state(ValueStateDescriptor("receipt"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        if self._receipt.value() is not None:
            self._receipt.clear()
            yield f"order {value[0]} paid"
        else:
            self._order.update(value)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        if self._order.value() is not None:
            yield f"order {self._order.value()[0]} paid"
            self._order.clear()
        else:
            self._receipt.update(value)


ORDERS = [(1, "pay", "t1"), (2, "pay", "t2"), (3, "pay", "t3")]
RECEIPTS = [("t2", "wechat"), ("t1", "alipay"), ("t9", "wechat")]


def test_w_68_orders_and_receipts_in_any_interleaving() -> None:
    for first_places in itertools.combinations(range(6), 3):
        harness = OperatorHarness.for_step(
            CoProcessStep(function=Reconcile(), key=lambda order: order[2], second_key=lambda receipt: receipt[0])
        )
        orders, receipts = iter(ORDERS), iter(RECEIPTS)
        for place in range(6):
            if place in first_places:
                harness.push(next(orders))
            else:
                harness.push_second(next(receipts))
        assert sorted(harness.values) == ["order 1 paid", "order 2 paid"]


@PARALLELISMS
def test_w_68_as_a_program(parallelism: int) -> None:
    env = environment(parallelism)
    orders, receipts = env.from_collection(ORDERS).rebalance(), env.from_collection(RECEIPTS).rebalance()
    result = orders.connect(receipts).key_by(lambda order: order[2], lambda receipt: receipt[0]).process(Reconcile())
    assert sorted(collected(result)) == ["order 1 paid", "order 2 paid"]


def pair(left: Any, right: Any) -> Any:
    return left, right


def test_w_69_inner_join_by_arrival() -> None:
    harness = OperatorHarness.for_step(JoinStep(key=one_key, second_key=one_key, function=pair))
    produced = []
    for side, number in (("right", 1), ("right", 2), ("right", 3), ("left", 4), ("right", 5)):
        (harness.push if side == "left" else harness.push_second)(number)
        produced.append([value for value, _ in harness.take_outputs()])
    assert produced == [[], [], [], [(4, 1), (4, 2), (4, 3)], [(4, 5)]]


def test_w_70_left_outer_join() -> None:
    harness = OperatorHarness.for_step(JoinStep(key=one_key, second_key=one_key, function=pair, kind=JoinKind.LEFT))
    harness.push("left")
    assert harness.values == [("left", None)]


@PARALLELISMS
def test_w_70_as_a_program(parallelism: int) -> None:
    env = environment(parallelism)
    left, right = env.from_elements(("a", 1), ("b", 2)), env.from_elements(("c", 3))
    joined = left.left_outer_join(right).where(0).equal_to(0).without_window().apply(pair)
    assert sorted(collected(joined)) == [(("a", 1), None), (("b", 2), None)]


@PARALLELISMS
def test_w_71_union_keeps_all_records_and_the_order_of_each_stream(parallelism: int) -> None:
    env = environment(parallelism)
    streams = [env.from_collection([(number, position) for position in range(50)]) for number in range(3)]
    found = collected(streams[0].union(streams[1], streams[2]).global_().map(lambda record: record))
    assert len(found) == 150
    for number in range(3):
        assert [record for record in found if record[0] == number] == [(number, position) for position in range(50)]


class Describe(CoMapFunction[int, str, str]):
    def map1(self, value: int) -> str:
        return f"int {value}"

    def map2(self, value: str) -> str:
        return f"str {value}"


class Letters(CoFlatMapFunction[int, str, str]):
    def flat_map1(self, value: int) -> Any:
        return None

    def flat_map2(self, value: str) -> Any:
        yield from value


@PARALLELISMS
def test_w_72_connected_streams_of_different_types(parallelism: int) -> None:
    env = environment(parallelism)
    connected = env.from_elements(1, 2).connect(env.from_elements("ab", "c"))
    mapped, flat = collected(connected.map(Describe()), connected.flat_map(Letters()))
    assert sorted(mapped) == ["int 1", "int 2", "str ab", "str c"]
    assert sorted(flat) == ["a", "b", "c"]


class CountBroadcast(CoProcessFunction[Any, Any, Any]):
    """Tells, per subtask, every broadcast element it sees."""

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return ()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield self.get_runtime_context().get_index_of_this_subtask(), value


def test_w_73_every_key_sees_every_broadcast_element() -> None:
    env = environment(3)
    keyed = env.from_collection([f"key-{number}" for number in range(30)]).key_by(lambda key: key)
    found = collected(keyed.connect(env.from_elements("x", "y").broadcast()).process(CountBroadcast()))
    assert sorted(found) == [(subtask, value) for subtask in range(3) for value in ("x", "y")]


USERS: MapStateDescriptor[None, dict[str, Any]] = MapStateDescriptor("config")
CONFIG = {"user_1": ("张三", 10), "user_2": ("李四", 20), "user_3": ("王五", 30), "user_4": ("赵六", 40)}
USER_3 = ("user_3", "2019-08-17 12:19:47", "browse", 1)
USER_2 = ("user_2", "2019-08-17 12:19:48", "click", 1)


class Enrich(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        users = ctx.get_broadcast_state(USERS).get(None) or {}
        if value[0] in users:
            yield *value, *users[value[0]]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(USERS)
        state.clear()
        state.put(None, value)


def enrichment(function: Any = None) -> OperatorHarness:
    return OperatorHarness.for_step(BroadcastProcessStep(function=function or Enrich(), descriptors=(USERS,)))


def test_w_74_enrich() -> None:
    harness = enrichment()
    harness.push_second(CONFIG)
    harness.push(USER_3)
    harness.push(USER_2)
    assert harness.values == [(*USER_3, "王五", 30), (*USER_2, "李四", 20)]


def test_w_75_an_event_before_the_config_is_dropped_silently() -> None:
    harness = enrichment()
    harness.push(USER_3)
    harness.push_second(CONFIG)
    assert harness.values == []


def test_w_76_a_new_config_replaces_the_old_one() -> None:
    harness = enrichment()
    harness.push_second(CONFIG)
    harness.push_second({"user_3": ("王五", 31)})
    harness.push(USER_3)
    harness.push(USER_2)
    assert harness.values == [(*USER_3, "王五", 31)]


def test_w_77_an_unknown_user_is_skipped() -> None:
    harness = enrichment()
    harness.push_second(CONFIG)
    harness.push(("user_9", "2019-08-17 12:19:49", "click", 1))
    assert harness.values == []


class WritesOnDataSide(Enrich):
    def process_element(self, value: Any, ctx: Any) -> Any:
        value(ctx.get_broadcast_state(USERS))


@pytest.mark.parametrize("write", [lambda state: state.put(None, {}), lambda state: state.clear()])
def test_w_78_a_write_on_the_data_side_raises(write: Any) -> None:
    with pytest.raises(StateAccessError):
        enrichment(WritesOnDataSide()).push(write)


def test_w_78_as_a_program() -> None:
    env = environment()
    stream = env.from_elements(1).map(lambda _: lambda state: state.clear())
    result = stream.connect(env.from_elements(CONFIG).broadcast(USERS)).process(WritesOnDataSide())
    with pytest.raises(UserFunctionError, match="process_broadcast_element"):
        collected(result)


class TellSubtask(Enrich):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        super().process_broadcast_element(value, ctx)
        users = ctx.get_broadcast_state(USERS).get(None)
        yield self.get_runtime_context().get_index_of_this_subtask(), users["user_1"]


def test_w_79_every_subtask_has_the_state() -> None:
    env = environment(3)
    config = env.from_elements(CONFIG).broadcast(USERS)
    result = env.from_elements(USER_2).connect(config).process(TellSubtask())
    told = [value for value in collected(result) if len(value) == 2]
    assert sorted(told) == [(0, ("张三", 10)), (1, ("张三", 10)), (2, ("张三", 10))]


def _speeds(env: StreamExecutionEnvironment, lines: list[str], delay: Duration) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay).with_timestamp_assigner(
        lambda reading, _: reading["ts"] * 1000
    )
    return (
        env.from_collection(lines)
        .map(json.loads)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda reading: (reading["vehicle"], reading["ts"]))
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .allowed_lateness(Time.seconds(30).to_milliseconds())
        .reduce(lambda first, second: second)
    )


@PARALLELISMS
def test_w_122_speeds_of_two_sources_are_compared_per_vehicle_and_second(parallelism: int) -> None:
    env = environment(parallelism)
    obd_lines = [json.dumps({"vehicle": "v1", "ts": 100, "speed": speed}) for speed in (60, 61, 62)]
    device_lines = [json.dumps({"vehicle": "v1", "ts": 100, "speed": 58})]
    obd = _speeds(env, obd_lines, Duration.of_seconds(30))
    device = _speeds(env, device_lines, Duration.of_minutes(9))
    key = lambda reading: (reading["vehicle"], reading["ts"])  # noqa: E731
    joined = (
        obd.join(device)
        .where(key)
        .equal_to(key)
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .apply(lambda a, b: (a["vehicle"], a["ts"], a["speed"], b["speed"], a["speed"] - b["speed"]))
    )
    assert collected(joined) == [("v1", 100, 62, 58, 4)]
