"""Time cases that a transcript cannot say: whole programs, parallel sources, equality of two programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import (
    BoundedOutOfOrdernessTimestampExtractor,
    Configuration,
    ContinuousEventTimeTrigger,
    DataStream,
    Duration,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing.scripted_source import Event, EventKind, Script, ScriptedSource, ScriptedTime, values_of
from tests.transcripts.timer_jobs import timer_now, watermark_at_each_record
from tests.unit.local_jobs import collect, environment, local_run, results

DAY = 1549044000
"""Second 122 of the cases is 1549044122."""
D = [("sensor_1", DAY + second, level) for level, second in enumerate(range(122, 131), start=1)]


class Describe(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        window = context.window()
        yield window.start // 1000 - DAY, window.end // 1000 - DAY, context.current_watermark(), len(list(elements))


class Sensor(BoundedOutOfOrdernessTimestampExtractor[Any]):
    def extract_timestamp(self, element: Any) -> int:
        return element[1] * 1000  # type: ignore[no-any-return]


def test_w_28_a_short_file_fires_everything_at_its_end() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda r, _: r[1] * 1000)
    readings = environment().from_collection(D).assign_timestamps_and_watermarks(strategy)
    windows = readings.key_by(lambda r: r[0]).window(TumblingEventTimeWindows.of(Time.seconds(5))).process(Describe())
    assert results(windows) == [
        (120, 125, MAX_TIMESTAMP, 3),
        (125, 130, MAX_TIMESTAMP, 5),
        (130, 135, MAX_TIMESTAMP, 1),
    ]


def test_w_30_the_whole_program_with_the_interval_passing_between_records() -> None:
    env = environment()
    script = Script()
    late = OutputTag("lateData")
    source = env.from_source(ScriptedSource(script, ["socket"]), WatermarkStrategy.no_watermarks(), "socket")
    readings = source.flat_map(values_of).assign_timestamps_and_watermarks(Sensor(Time.seconds(3)))
    windows = (
        readings.key_by(lambda r: r[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .allowed_lateness(2000)
        .side_output_late_data(late)
        .process(Describe())
    )
    collect(windows, "main")
    collect(windows.get_side_output(OutputTag("lateData")), "late")
    run = local_run(env)
    fired = []
    for second in (121, 122, 125, 128, 121, 123, 130, 124):
        script.add("socket", Event(EventKind.RECORD, ("sensor_1", DAY + second)))
        run.step()
        run.advance(200)
        fired.append(run.collected.pop("main", []))
    watermark = (DAY + 125) * 1000
    assert fired == [
        [],
        [],
        [],
        [(120, 125, watermark, 2)],
        [(120, 125, watermark, 3)],
        [(120, 125, watermark, 4)],
        [],
        [],
    ]
    assert run.collected["late"] == [("sensor_1", DAY + 124)]
    script.add("socket", Event(EventKind.END))
    while run.step():
        pass
    assert run.collected["main"] == [(125, 130, MAX_TIMESTAMP, 2), (130, 135, MAX_TIMESTAMP, 1)]
    run.close()


class OfKey(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Any:
        yield context.window().start, list(elements)


class OfAll(ProcessAllWindowFunction[Any, Any, Any]):
    def process(self, context: Any, elements: Iterable[Any]) -> Any:
        yield context.window().start, list(elements)


@settings(max_examples=25, deadline=None)
@given(times=st.lists(st.integers(0, 40), max_size=12), size=st.integers(1, 15))
def test_w_39_window_all_is_a_window_by_a_constant_key(times: list[int], size: int) -> None:
    def stream() -> DataStream[int]:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(40))
        timed = strategy.with_timestamp_assigner(lambda time, _: time)
        return environment().from_collection(times).assign_timestamps_and_watermarks(timed)

    assigner = TumblingEventTimeWindows.of(size)
    over_all = results(stream().window_all(assigner).process(OfAll()))
    by_constant = results(stream().key_by(lambda _: "constant").window(assigner).process(OfKey()))
    assert over_all == by_constant


def test_w_41_a_window_of_a_day_fires_8638_times_at_the_end() -> None:
    env = environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda second, _: second * 1000)
    seconds = env.from_collection([25]).assign_timestamps_and_watermarks(strategy)
    windows = seconds.key_by(lambda _: 0).window(TumblingEventTimeWindows.of(Time.days(1)))
    fired = results(windows.trigger(ContinuousEventTimeTrigger.of(Time.seconds(10))).process(OfKey()))
    assert fired == [(0, [25])] * 8638


class ParallelSource(ScriptedSource):
    """Gives each subtask a split of its own."""

    is_parallel = True


def test_w_44_to_w_46_over_the_subtasks_of_one_source() -> None:
    env = StreamExecutionEnvironment(Configuration())
    env.set_parallelism(1)
    script = Script()
    channels = ["ch1", "ch2", "ch3"]
    time = ScriptedTime(WatermarkStrategy.no_watermarks(), after_each=False)
    source = env.from_source(ParallelSource(script, channels), time, "parallel").set_parallelism(3)
    stream = source.flat_map(values_of).set_parallelism(3)
    collect(watermark_at_each_record(stream))
    run = local_run(env)

    def seen_after(*watermarks: tuple[str, int]) -> Any:
        for channel, watermark in watermarks:
            script.add(channel, Event(EventKind.WATERMARK, None, watermark))
        script.add("ch2", Event(EventKind.RECORD, ("k", "?"), 100))
        while run.step() or not script.is_read:
            pass
        ((_, watermark),) = run.collected.pop("out")
        return watermark

    assert seen_after() == MIN_TIMESTAMP
    # W-46: [2, 4, 3], then ch1 -> 5, then ch3 -> 6.
    assert seen_after(("ch1", 2), ("ch2", 4)) == MIN_TIMESTAMP
    assert seen_after(("ch3", 3)) == 2
    assert seen_after(("ch1", 5)) == 3
    assert seen_after(("ch3", 6)) == 4
    # W-45: a channel that goes back stays where it was.
    assert seen_after(("ch1", 1), ("ch2", 7)) == 5
    run.close()


def test_w_51_elements_of_one_run_and_millisecond_share_a_timer() -> None:
    env = environment()
    assert results(timer_now(env.from_collection([("a",), ("a",), ("b",)]))) == [
        ("a", 0, "PROCESSING_TIME"),
        ("b", 0, "PROCESSING_TIME"),
    ]
