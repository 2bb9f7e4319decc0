"""Process functions: timers, contexts, side outputs. Worked cases W-50 to W-61."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    AssignerWithPunctuatedWatermarks,
    Collector,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    TimeDomain,
    UserFunctionError,
    ValueStateDescriptor,
    Watermark,
    WatermarkStrategy,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP
from penstock.runtime.operators.process import KeyedProcessOperator
from penstock.testing.harness import OperatorHarness
from penstock.vocabulary.sources.protocol import Boundedness, ReaderContext, Source, SourceSplit, SplitReader
from tests.unit.local_jobs import collect, environment, local_run, results, run_locally

BASE = 1549044100


class Punctuated(AssignerWithPunctuatedWatermarks[Any]):
    """wm-punct: the second field is the time in seconds."""

    def extract_timestamp(self, element: Any, record_timestamp: int) -> int:
        return round(element[1] * 1000)

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark:
        return Watermark(extracted_timestamp)


class AscendingEach(AssignerWithPunctuatedWatermarks[Any]):
    """wm-asc, asked after every record."""

    def extract_timestamp(self, element: Any, record_timestamp: int) -> int:
        return round(element[1] * 1000)

    def check_and_get_next_watermark(self, last_element: Any, extracted_timestamp: int) -> Watermark:
        return Watermark(extracted_timestamp - 1)


def sensors(values: list[Any], assigner: Any = None, parallelism: int = 1) -> Any:
    stream = environment(parallelism).from_collection(values)
    stamped = stream.assign_timestamps_and_watermarks(assigner or Punctuated()).set_parallelism(1)  # keeps the order
    return stamped.key_by(lambda record: record[0])


class FiveSecondsLater(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield timestamp, ctx.timer_service().current_watermark()


def test_w_50_event_timer() -> None:
    values = [("s", BASE + 22), ("s", BASE + 27), ("s", BASE + 28)]
    found = results(sensors(values, AscendingEach()).process(FiveSecondsLater()))
    assert found == [
        (1549044127000, 1549044127999),
        # 27 and 28 set 132 and 133, which only the end of the bounded input reaches.
        (1549044132000, MAX_TIMESTAMP),
        (1549044133000, MAX_TIMESTAMP),
    ]


class Now(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield timestamp, ctx.time_domain(), ctx.timestamp()


def keyed_harness(function: KeyedProcessFunction) -> OperatorHarness:
    return OperatorHarness(KeyedProcessOperator(function, lambda record: record[0]))


def test_w_51_processing_timer_now() -> None:
    harness = keyed_harness(Now())
    harness.push(("a", 1))
    harness.push(("a", 2))
    harness.advance(0)
    harness.advance(1)
    harness.push(("a", 3))
    harness.advance(1)
    start = harness.outputs[0][0][0]
    # Records of one millisecond share a timer; the results have no timestamp.
    assert harness.outputs == [
        ((start, TimeDomain.PROCESSING_TIME, start), None),
        ((start + 1, TimeDomain.PROCESSING_TIME, start + 1), None),
    ]


class SameTime(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(100_000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield ctx.get_current_key(), timestamp


def test_w_52_timer_dedup() -> None:
    assert results(sensors([("a", 1), ("a", 2), ("a", 3)]).process(SameTime())) == [("a", 100_000)]
    assert sorted(results(sensors([("a", 1), ("b", 2)]).process(SameTime()))) == [("a", 100_000), ("b", 100_000)]


class DeletesMissing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        ctx.timer_service().delete_event_time_timer(5)
        ctx.timer_service().delete_processing_time_timer(5)
        yield value


def test_w_53_delete_missing_timer() -> None:
    assert results(sensors([("a", 1)]).process(DeletesMissing())) == [("a", 1)]


class Rising(KeyedProcessFunction):
    """Alarms when the level has risen for five seconds."""

    def __init__(self, *, resets: bool = False) -> None:
        self._resets = resets

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", None))
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        _, _, level = value
        last, timer = self.last.value() or 0, self.timer.value()
        self.last.update(level)
        if level <= last and timer is not None:
            ctx.timer_service().delete_event_time_timer(timer)
            self.timer.clear()
        elif level > last and timer is None:
            self.timer.update(ctx.timestamp() + 5000)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5000)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        if self._resets:
            self.timer.clear()
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


def rising(key: str, *, fall: bool) -> list[Any]:
    levels = [(22, 10), (23, 11), (23.2, 10), (24, 12), (25, 14), (26, 15), (27, 16), (28, 17)]
    return [(key, BASE + time, level) for time, level in levels if fall or time != 23.2]


def test_w_54_rising_level_with_a_fall() -> None:
    """23.2 deletes the timer of 22, 24 sets 129: the alarm comes when the watermark reaches it, here at the end."""
    assert results(sensors(rising("s", fall=True)).process(Rising())) == [("s", 1549044129000, MAX_TIMESTAMP)]


def test_w_54_alarm_when_the_watermark_reaches_it() -> None:
    values = [*rising("s", fall=True), ("s", BASE + 29, 18)]
    assert results(sensors(values).process(Rising())) == [("s", 1549044129000, 1549044129000)]


def test_w_54_rising_level_without_a_fall() -> None:
    """The field is not reset, so there is no second alarm."""
    assert results(sensors(rising("s", fall=False)).process(Rising())) == [("s", 1549044127000, 1549044127000)]


def test_w_54_with_a_reset_the_next_rise_counts_again() -> None:
    """28 is the first rise after the alarm of 127 was given: the next timer is 133."""
    found = results(sensors(rising("s", fall=False)).process(Rising(resets=True)))
    assert found == [("s", 1549044127000, 1549044127000), ("s", 1549044133000, MAX_TIMESTAMP)]


@pytest.mark.parametrize("parallelism", [1, 4])
def test_w_55_two_keys(parallelism: int) -> None:
    pairs = zip(rising("sensor_1", fall=False), rising("sensor_2", fall=False), strict=True)
    interleaved = [record for pair in pairs for record in pair]
    found = results(sensors(interleaved, parallelism=parallelism).process(Rising()))
    assert sorted(alarm[:2] for alarm in found) == [("sensor_1", 1549044127000), ("sensor_2", 1549044127000)]


class RisingInFields(KeyedProcessFunction):
    """The wrong way: attributes are shared by all keys of a subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = 0
        self.rises = 0

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.rises += value[2] > self.last
        self.last = value[2]
        yield value[0], self.rises


def test_w_55_plain_fields_are_shared_by_the_keys() -> None:
    values = [("a", 1, 10), ("b", 2, 10), ("a", 3, 11), ("b", 4, 11)]
    assert results(sensors(values).process(RisingInFields())) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]


class SideA(ProcessFunction):
    def __init__(self, *, yields: bool) -> None:
        self._yields = yields

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value[2] > 5:
            if self._yields:
                yield OutputTag("highLevel"), value[1]
            else:
                ctx.output(OutputTag("highLevel"), value[1])
        yield value[2]


LEVELS = [("s", 1, 4), ("s", 2, 5), ("s", 3, 6)]


@pytest.mark.parametrize("yields", [False, True])
@pytest.mark.parametrize("is_keyed", [False, True])
def test_w_56_side_output_a(yields: bool, is_keyed: bool) -> None:
    env = environment()
    stream: Any = env.from_collection(LEVELS)
    main = (stream.key_by(0) if is_keyed else stream).process(SideA(yields=yields))
    collect(main, "main")
    collect(main.get_side_output(OutputTag("highLevel")), "side")
    assert run_locally(env).collected == {"main": [4, 5, 6], "side": [3]}


class SideB(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value[2] >= 5:
            ctx.output(OutputTag("high"), value[2])
        else:
            yield f"{value[2]} normal"


def test_w_57_side_output_b_with_two_tag_objects() -> None:
    env = environment()
    main = env.from_collection(LEVELS).process(SideB())
    collect(main, "main")
    collect(main.get_side_output(OutputTag("high")), "side")
    assert run_locally(env).collected == {"main": ["4 normal"], "side": [5, 6]}


def test_a_side_output_nobody_reads_is_dropped() -> None:
    assert results(environment().from_collection(LEVELS).process(SideB())) == ["4 normal"]


def test_a_side_output_read_twice() -> None:
    env = environment(2)
    main = env.from_collection(LEVELS).process(SideB())
    collect(main.get_side_output(OutputTag("high")).map(lambda x: -x), "first")
    collect(main.get_side_output(OutputTag("high")).rebalance().map(lambda x: x * 10), "second")
    found = run_locally(env).collected
    assert sorted(found["first"]) == [-6, -5]
    assert sorted(found["second"]) == [50, 60]


def test_side_outputs_keep_timestamps() -> None:
    class Stamped(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value, ctx.timestamp()

    for yields in (False, True):
        stream = environment().from_collection(LEVELS).assign_timestamps_and_watermarks(Punctuated())
        side = stream.process(SideA(yields=yields)).get_side_output(OutputTag("highLevel"))
        assert results(side.process(Stamped())) == [(3, 3000)]


def test_a_pair_that_is_no_tag_is_a_record() -> None:
    class Pairs(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield "tag", value
            yield OutputTag("x"), value, "three fields"

    found = results(environment().from_collection([1]).process(Pairs()))
    assert found[0] == ("tag", 1)
    assert len(found[1]) == 3


class TimerSide(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        ctx.output(OutputTag("by context"), timestamp)
        yield OutputTag("by yield"), timestamp
        yield timestamp


def test_timers_write_side_outputs_too() -> None:
    stream = sensors([("a", 1)]).process(TimerSide())
    collect(stream, "main")
    collect(stream.get_side_output(OutputTag("by context")), "context")
    collect(stream.get_side_output(OutputTag("by yield")), "yield")
    expected = {"main": [1001], "context": [1001], "yield": [1001]}
    assert run_locally(stream.get_execution_environment()).collected == expected


def _level(value: int) -> str:
    return "alarm" if value >= 40 else "warn" if value >= 30 else "normal"


class Selector:
    """Java's OutputSelector: a method that returns several names."""

    def select(self, value: int) -> list[str]:
        return [_level(value), "all"]


def test_w_58_split_and_select() -> None:
    env = environment()
    split = env.from_collection([45, 35, 10]).split(_level)
    for name in ("alarm", "warn", "normal"):
        collect(split.select(name), name)
    collect(split.select("alarm", "warn"), "both")
    collect(split.select("other"), "other")
    assert run_locally(env).collected == {"alarm": [45], "warn": [35], "normal": [10], "both": [45, 35]}


def test_w_58_a_record_may_carry_several_names() -> None:
    env = environment()
    split = env.from_collection([45, 35, 10]).split(Selector())
    collect(split.select("all"), "all")
    collect(split.select("all", "warn"), "once")
    collect(split.select("warn"), "warn")
    assert run_locally(env).collected == {"all": [45, 35, 10], "once": [45, 35, 10], "warn": [35]}


class Jump(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        last = self.last.value()
        self.last.update(value[1])
        if last is not None and abs(value[1] - last) > 40:
            yield value[1], abs(value[1] - last)


def test_w_59_consecutive_difference() -> None:
    stream = environment().from_collection([("s", level) for level in (10, 55, 60, 10)])
    assert results(stream.key_by(0).process(Jump())) == [(55, 45), (10, 50)]


class Marks(ProcessFunction):
    """Shows how far event time had come downstream when a record arrived."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_w_60_output_of_timers_precedes_the_watermark() -> None:
    values = [("s", 1), ("s", 7)]
    found = results(sensors(values).process(FiveSecondsLater()).process(Marks()))
    # The timer of 6000 fires at watermark 7000; downstream the watermark is still that of the first record.
    assert found[0] == ((6000, 7000), 1000)


class Inside(KeyedProcessFunction):
    depth = 0
    deepest = 0

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield from self._enter(ctx, "record")

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield from self._enter(ctx, "timer")

    def _enter(self, ctx: Any, kind: str) -> Any:
        Inside.depth += 1
        Inside.deepest = max(Inside.deepest, Inside.depth)
        if kind == "record":
            ctx.timer_service().register_event_time_timer(ctx.timestamp())
            ctx.timer_service().register_processing_time_timer(0)
        yield kind
        Inside.depth -= 1


def test_w_60_callbacks_of_a_subtask_never_interleave() -> None:
    Inside.deepest = 0
    found = results(sensors([("s", 1), ("s", 2), ("s", 3)]).process(Inside()))
    assert found.count("record") == 3
    assert found.count("timer") >= 3
    assert Inside.deepest == 1


class Everything(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        service = ctx.timer_service()
        yield ctx.timestamp(), ctx.get_current_key(), service.current_watermark(), service.current_processing_time()


def test_w_61_context_access() -> None:
    run = local_run_of(sensors([("s", 1), ("s", 2)]).process(Everything()))
    run.clock.set(77)
    run.run()
    assert run.collected["out"] == [(1000, "s", -(2**63), 77), (2000, "s", 1000, 77)]


def local_run_of(stream: Any) -> Any:
    collect(stream)
    return local_run(stream.get_execution_environment())


def test_without_timestamps_the_context_has_none() -> None:
    class Time(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield ctx.timestamp()

    assert results(environment().from_collection([1]).process(Time())) == [None]


class JavaStyle(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any, out: Collector[Any]) -> None:  # type: ignore[override]
        out.collect(("record", value[1]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any, out: Collector[Any]) -> None:  # type: ignore[override]
        out.collect(("timer", timestamp))


def test_results_may_go_through_a_collector() -> None:
    assert results(sensors([("s", 1)]).process(JavaStyle())) == [("record", 1), ("timer", 1000)]


def test_a_function_may_return_a_list_or_nothing() -> None:
    class Returning(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            return [value, -value] if value > 1 else None

    assert results(environment().from_collection([1, 2]).process(Returning())) == [2, -2]


@pytest.mark.parametrize(
    "name",
    [
        "register_event_time_timer",
        "register_processing_time_timer",
        "delete_event_time_timer",
        "delete_processing_time_timer",
    ],
)
def test_timers_need_a_key(name: str) -> None:
    class Timing(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            getattr(ctx.timer_service(), name)(5)

    stream = environment().from_collection([1]).process(Timing()).name("timing")
    with pytest.raises(UserFunctionError, match=r"input of step 'timing' is not keyed. Call key_by\(\)"):
        results(stream)


class Heartbeat(KeyedProcessFunction):
    """A processing-time timer that registers the next from its callback."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        ctx.timer_service().register_processing_time_timer(timestamp + 10)
        yield timestamp


class OneRecord(SplitReader[int]):
    def __init__(self) -> None:
        self._values = [1]

    def read(self, limit: int) -> tuple[list[int], None]:
        values, self._values = self._values, []
        return values, None

    def position(self) -> int:
        return 1 - len(self._values)


class NeverEnding(Source[int]):
    """Gives one record and stays open."""

    boundedness = Boundedness.CONTINUOUS_UNBOUNDED

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit("only")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return OneRecord()


def test_processing_timers_fire_although_no_data_comes() -> None:
    stream = environment().from_source(NeverEnding(), WatermarkStrategy.no_watermarks(), "forever")
    run = local_run_of(stream.key_by(lambda x: x).process(Heartbeat()))
    run.step()
    run.advance(35)
    assert run.collected["out"] == [10, 20, 30]
    run.close()


def test_timers_of_a_key_that_has_gone_silent_fire() -> None:
    values = [("silent", 1), ("loud", 10), ("loud", 20)]
    found = results(sensors(values).process(FiveSecondsLater()))
    assert (6000, 10_000) in found
