"""Jobs with two streams that transcripts name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from penstock.api.data_stream import DataStream
from penstock.vocabulary.functions.process import KeyedCoProcessFunction
from penstock.vocabulary.state.descriptors import MapStateDescriptor
from penstock.vocabulary.time.durations import Duration, Time
from penstock.vocabulary.time.strategy import WatermarkStrategy
from penstock.vocabulary.windows.assigners import TumblingEventTimeWindows
from tests.unit.cases import test_join_cases as cases

Stream = DataStream[Any]
Keyed = KeyedCoProcessFunction[Any, Any, Any, Any]


def goods_and_orders_in_an_interval(goods: Stream, orders: Stream) -> Stream:
    joined = goods.key_by(0).interval_join(orders.key_by(0))
    return joined.between(Time.seconds(-2), Time.seconds(1)).process(cases.Pair()).map(_seconds_of_both)


def _seconds_of_both(pair: Any) -> Any:
    (_, left), (_, right) = pair
    return left, right


def reconciled(orders: Stream, receipts: Stream) -> Stream:
    return orders.key_by(2).connect(receipts.key_by(0)).process(cases.Reconcile())


def inner_join(left: Stream, right: Stream) -> Stream:
    return left.join(right).where(cases.one_key).equal_to(cases.one_key).without_window().apply(cases.pair)


def left_outer_join(left: Stream, right: Stream) -> Stream:
    return left.left_outer_join(right).where(0).equal_to(0).without_window().apply(cases.pair)


def enriched(events: Stream, config: Stream) -> Stream:
    return events.connect(config.broadcast(cases.USERS)).process(cases.Enrich())


def _one_per_second(lines: Stream, delay: Duration) -> Stream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(delay).with_timestamp_assigner(
        lambda reading, _: reading["ts"] * 1000
    )
    # One subtask, because the last of the readings of a second counts.
    parsed = lines.map(json.loads).set_parallelism(1)
    readings = parsed.assign_timestamps_and_watermarks(strategy).set_parallelism(1)
    windows = readings.key_by(_vehicle).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    return windows.allowed_lateness(Time.seconds(30)).reduce(lambda earlier, later: later)


def _vehicle(reading: Any) -> Any:
    return reading["vehicle"]


def compared_speeds(obd: Stream, device: Stream) -> Stream:
    first, second = _one_per_second(obd, Duration.of_seconds(30)), _one_per_second(device, Duration.of_minutes(9))
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    return first.join(second).where(_vehicle).equal_to(_vehicle).window(windows).apply(_difference)


def _difference(obd: Any, device: Any) -> Any:
    return obd["vehicle"], obd["ts"], obd["speed"], device["speed"], obd["speed"] - device["speed"]


class TenSecondsLater(Keyed):
    """Remembers which inputs have asked for a moment: the timer itself belongs to the key alone."""

    def open(self, runtime_context: Any) -> None:
        self._askers: Any = runtime_context.get_map_state(MapStateDescriptor("who asked for a moment"))

    def process_element1(self, value: Any, ctx: Any) -> None:
        self._ask("first", ctx)

    def process_element2(self, value: Any, ctx: Any) -> None:
        self._ask("second", ctx)

    def _ask(self, name: str, ctx: Any) -> None:
        moment = ctx.timestamp() + 10_000
        ctx.timer_service().register_event_time_timer(moment)
        self._askers.put(moment, [*(self._askers.get(moment) or ()), name])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), self._askers.get(timestamp)
        self._askers.remove(timestamp)


def ten_seconds_later(first: Stream, second: Stream) -> Stream:
    return first.key_by(0).connect(second.key_by(0)).process(TenSecondsLater())
