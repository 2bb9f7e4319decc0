"""What the time characteristic of an environment does to its streams (ENV-10)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ParallelSourceFunction,
    ProcessFunction,
    SourceFunction,
    StreamExecutionEnvironment,
    Time,
    TimeCharacteristic,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from penstock.foundation.clock import ManualClock
from penstock.testing import LocalRun
from tests.unit.local_jobs import collect, environment


class Stamps(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


class Feed(SourceFunction):
    """Gives its records times of its own."""

    def run(self, ctx: Any) -> None:
        ctx.collect("plain")
        ctx.collect_with_timestamp("stamped", 5)

    def cancel(self) -> None:
        pass


class ParallelFeed(Feed, ParallelSourceFunction):
    pass


def ran(env: StreamExecutionEnvironment) -> dict[str, list[Any]]:
    return LocalRun(env._build_job(None), clock=ManualClock(7000)).run().collected


def sources(env: StreamExecutionEnvironment) -> dict[str, DataStream[Any]]:
    return {
        "collection": env.from_collection(["a"]),
        "sequence": env.from_sequence(1, 1),
        "function": env.add_source(Feed()),
        "parallel function": env.add_source(ParallelFeed()),
    }


@pytest.mark.parametrize("is_set_first", [True, False])
def test_ingestion_time_stamps_records_where_they_come_in(is_set_first: bool) -> None:
    env = environment(2)
    if is_set_first:
        env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    for name, stream in sources(env).items():
        collect(stream.process(Stamps()), name)
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    found = ran(env)
    assert found["collection"] == [("a", 7000)]
    assert found["sequence"] == [(1, 7000)]
    assert found["function"] == [("plain", 7000), ("stamped", 7000)]
    assert sorted(found["parallel function"]) == [("plain", 7000)] * 2 + [("stamped", 7000)] * 2


def test_without_it_nothing_is_stamped() -> None:
    env = environment()
    for name, stream in sources(env).items():
        collect(stream.process(Stamps()), name)
    found = ran(env)
    assert found["collection"] == [("a", None)]
    assert found["function"] == [("plain", None), ("stamped", 5)]


def test_ingestion_time_makes_windows() -> None:
    env = environment()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    sums = env.from_collection([1, 2]).key_by(lambda _: 0).time_window(Time.seconds(5)).reduce(lambda a, b: a + b)
    collect(sums.process(Stamps()))
    assert ran(env) == {"out": [(3, 9999)]}  # the window of 7000 is that from 5000 to 10000


def test_timestamps_of_the_program_win() -> None:
    env = environment()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    collect(env.from_collection([3]).assign_timestamps_and_watermarks(strategy).process(Stamps()))
    assert ran(env) == {"out": [(3, 3)]}


def test_side_outputs_of_a_stamped_source_function_are_untouched() -> None:
    tag = OutputTag("odd", Types.INT())

    class Splitting(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
            yield tag, value

    env = environment()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    collect(env.add_source(Feed()).process(Splitting()).get_side_output(tag))
    assert ran(env) == {"out": ["plain", "stamped"]}


def stamped(env: StreamExecutionEnvironment) -> DataStream[Any]:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    return env.from_collection([1, 2]).assign_timestamps_and_watermarks(strategy).map(lambda value: value)


def test_time_windows_of_the_clock_over_watermarks_are_pointed_out() -> None:
    env = environment()
    with pytest.warns(UserWarning, match=r"set_stream_time_characteristic\(TimeCharacteristic.EventTime\)") as caught:
        stamped(env).key_by(lambda _: 0).time_window(Time.seconds(5))
    assert [warning.filename for warning in caught] == [__file__]
    assert "TumblingEventTimeWindows.of" in str(caught[0].message)


def test_where_there_is_nothing_to_point_out_nothing_is() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = environment()
        env.from_collection([1]).key_by(lambda _: 0).time_window(Time.seconds(5))
        stamped(env).key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.seconds(5)))
        unmarked = WatermarkStrategy.no_watermarks()
        env.from_collection([1]).assign_timestamps_and_watermarks(unmarked).key_by(lambda _: 0).time_window(5000)
        env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
        stamped(env).key_by(lambda _: 0).time_window(Time.seconds(5))


class Alarm(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(7100)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.timer_service().current_watermark()


def test_watermarks_follow_the_clock() -> None:
    env = environment()
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    collect(env.from_collection(range(100_000)).key_by(lambda _: 0).process(Alarm()))
    run = LocalRun(env._build_job(None), clock=ManualClock(7000))
    run.step()
    assert run.collected == {}
    run.advance(200)  # the auto-watermark interval
    assert run.collected == {"out": [7199]}
    assert not run.is_finished
