"""What batch does otherwise than streaming, by Flink's rules for its execution modes."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import (
    BroadcastProcessFunction,
    CoMapFunction,
    Configuration,
    DataStream,
    Duration,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    NumberSequenceSource,
    OutputTag,
    ProcessFunction,
    ProcessJoinFunction,
    ProgramError,
    RuntimeExecutionMode,
    SourceFunction,
    StreamExecutionEnvironment,
    Time,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    ValueStateDescriptor,
    WatermarkStrategy,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, MIN_TIMESTAMP
from penstock.testing import LocalBatchRun, LocalRun, build_job, run_locally
from tests.unit.local_jobs import collect, environment, results

STAMPED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])


def batch(parallelism: int = 1, options: dict[str, str] | None = None) -> StreamExecutionEnvironment:
    env = environment(parallelism).set_runtime_mode(RuntimeExecutionMode.BATCH)
    configuration = Configuration()
    for key, value in (options or {}).items():
        configuration.set_string(key, value)
    env.configure(configuration)
    return env


def stamped(env: StreamExecutionEnvironment, records: list[Any]) -> DataStream[Any]:
    return env.from_collection(records).assign_timestamps_and_watermarks(STAMPED)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_aggregations_give_the_last_value_of_each_key_only(parallelism: int) -> None:
    records = [("a", 1), ("b", 2), ("a", 3), ("a", 5), ("b", 1)]
    by_key = batch(parallelism).from_collection(records).key_by(lambda pair: pair[0])
    assert sorted(results(by_key.sum(1))) == [("a", 9), ("b", 3)]
    by_key = batch(parallelism).from_collection(records).key_by(lambda pair: pair[0])
    assert sorted(results(by_key.reduce(lambda one, other: (one[0], one[1] * other[1])))) == [("a", 15), ("b", 2)]
    by_key = batch(parallelism).from_collection(records).key_by(lambda pair: pair[0])
    assert sorted(results(by_key.max_by(1))) == [("a", 5), ("b", 2)]


def test_the_result_of_an_aggregation_belongs_to_the_end_of_time() -> None:
    class Times(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    stream = stamped(batch(), [("a", 1), ("a", 7)]).key_by(lambda pair: pair[0]).sum(1)
    assert results(stream.process(Times())) == [(("a", 8), MAX_TIMESTAMP)]


def test_results_at_the_end_of_time_still_have_windows_and_partners() -> None:
    def summed(env: StreamExecutionEnvironment) -> DataStream[Any]:
        return stamped(env, [("a", 1), ("a", 7), ("b", 2)]).key_by(lambda pair: pair[0]).sum(1)

    windows = (
        summed(batch())
        .key_by(lambda pair: pair[1] % 2)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, other: (one[0] + other[0], one[1] + other[1]))
    )
    assert [value for _, value in results(windows)] == [10]
    env = batch()
    joined = (
        summed(env)
        .key_by(lambda pair: pair[0])
        .interval_join(summed(env).key_by(lambda pair: pair[0]))
        .between(Time.seconds(-1), Time.seconds(1))
        .process(Pair())
    )
    assert sorted(results(joined)) == [(("a", 8), ("a", 8)), (("b", 2), ("b", 2))]


class Pair(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def test_records_of_a_key_are_reduced_in_the_order_of_their_timestamps() -> None:
    records = [("a", 9, "c"), ("a", 1, "a"), ("b", 4, "x"), ("a", 5, "b")]
    keyed = stamped(batch(), records).key_by(lambda record: record[0])
    reduced = keyed.reduce(lambda one, other: (one[0], one[1], one[2] + other[2]))
    assert sorted(results(reduced)) == [("a", 1, "abc"), ("b", 4, "x")]


class Telling(KeyedProcessFunction[Any, Any, Any]):
    """Tells of everything that happens, with the watermark and what the state holds."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        timers = ctx.timer_service()
        timers.register_event_time_timer(value[1] + 100)
        timers.register_processing_time_timer(1_000_000)
        yield "record", ctx.get_current_key(), value[1], self.count.value(), timers.current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        timers = ctx.timer_service()
        timers.register_event_time_timer(timestamp + 1)  # ignored, as in Flink: it would never end
        timers.register_processing_time_timer(timestamp + 1)
        domain = ctx.time_domain().name
        yield domain, ctx.get_current_key(), timestamp, self.count.value(), timers.current_watermark()


def test_a_key_is_over_before_the_next_one_begins_and_its_timers_fire_at_its_end() -> None:
    told = results(
        stamped(batch(), [("a", 2), ("b", 9), ("a", 1), ("b", 3)]).key_by(lambda pair: pair[0]).process(Telling())
    )
    expected = {
        key: [
            ("record", key, first, 1, MIN_TIMESTAMP),
            ("record", key, second, 2, MIN_TIMESTAMP),
            ("EVENT_TIME", key, first + 100, 2, MAX_TIMESTAMP),
            ("EVENT_TIME", key, second + 100, 2, MAX_TIMESTAMP),
            ("PROCESSING_TIME", key, 1_000_000, 2, MAX_TIMESTAMP),
        ]
        for key, first, second in [("a", 1, 2), ("b", 3, 9)]
    }
    assert told in ([*expected["a"], *expected["b"]], [*expected["b"], *expected["a"]])


def test_a_deleted_timer_does_not_fire() -> None:
    class Deleting(KeyedProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(5)
            ctx.timer_service().register_event_time_timer(6)
            ctx.timer_service().register_event_time_timer(7)
            ctx.timer_service().delete_event_time_timer(6)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            ctx.timer_service().delete_event_time_timer(7)
            yield timestamp

    assert results(stamped(batch(), [("a", 1)]).key_by(lambda pair: pair[0]).process(Deleting())) == [5]


def test_nothing_is_late() -> None:
    late: OutputTag[Any] = OutputTag("late")
    windows = (
        stamped(batch(), [("a", 50_000), ("a", 1), ("a", 2)])
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .side_output_late_data(late)
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    collect(windows.get_side_output(late), "late")
    collect(windows)
    run = run_locally(windows.get_execution_environment())
    assert run.collected == {"out": [("a", 3), ("a", 50_000)]}


def test_windows_of_processing_time_fire_at_the_end() -> None:
    windows = (
        batch()
        .from_collection([("a", 1), ("a", 2)])
        .key_by(lambda pair: pair[0])
        .window(TumblingProcessingTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    assert results(windows) == [("a", 3)]


def test_windows_of_a_stream_without_keys_are_sorted_too() -> None:
    windows = (
        stamped(batch(2), [(1, 12_000), (2, 1), (3, 2)])
        .window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
        .reduce(lambda one, other: (one[0] * 10 + other[0], 0))
    )
    assert results(windows) == [(23, 0), (1, 12_000)]


def test_only_the_last_watermark_reaches_functions_and_it_comes_after_all_records() -> None:
    class Watermarks(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value[1], ctx.timestamp(), ctx.timer_service().current_watermark()

    assert results(stamped(batch(), [("a", 5), ("a", 9)]).process(Watermarks())) == [
        (5, 5, MIN_TIMESTAMP),
        (9, 9, MIN_TIMESTAMP),
    ]


RULES: MapStateDescriptor[Any, Any] = MapStateDescriptor("rules")


def test_what_is_broadcast_is_there_before_the_rest_comes() -> None:
    class Enrich(BroadcastProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, sorted(ctx.get_broadcast_state(RULES).keys())

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(value, value)

    env = batch(2)
    rules = env.from_collection(["x", "y"]).map(str).broadcast(RULES)
    assert results(env.from_collection([1]).connect(rules).process(Enrich())) == [(1, ["x", "y"])]


def test_what_is_broadcast_is_there_before_the_first_key() -> None:
    class Enrich(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, sorted(ctx.get_broadcast_state(RULES).keys())

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(value, value)

    env = batch(2)
    rules = env.from_collection(["x", "y"]).broadcast(RULES)
    stream = env.from_collection([1, 2]).key_by(lambda number: number).connect(rules).process(Enrich())
    assert sorted(results(stream)) == [(1, ["x", "y"]), (2, ["x", "y"])]


def test_two_keyed_inputs_meet_key_by_key_in_the_order_of_time() -> None:
    class Both(KeyedCoProcessFunction[Any, Any, Any, Any]):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            yield "left", *value

        def process_element2(self, value: Any, ctx: Any) -> Any:
            yield "right", *value

    env = batch()
    left = stamped(env, [("a", 4), ("b", 1), ("a", 2)]).key_by(lambda pair: pair[0])
    right = stamped(env, [("a", 3), ("a", 4), ("b", 1)]).key_by(lambda pair: pair[0])
    met = results(left.connect(right).process(Both()))
    of_a = [("left", "a", 2), ("right", "a", 3), ("left", "a", 4), ("right", "a", 4)]
    of_b = [("left", "b", 1), ("right", "b", 1)]
    assert met in ([*of_a, *of_b], [*of_b, *of_a])


def test_connected_streams_without_keys_are_both_read() -> None:
    class Sign(CoMapFunction[Any, Any, Any]):
        def map1(self, value: Any) -> Any:
            return value

        def map2(self, value: Any) -> Any:
            return -value

    env = batch(2)
    stream = env.from_collection([1, 2]).connect(env.from_collection([3])).map(Sign())
    assert sorted(results(stream)) == [-3, 1, 2]


def test_side_outputs_and_unions_of_different_depths_arrive() -> None:
    odd: OutputTag[int] = OutputTag("odd")

    class Split(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            if value % 2:
                ctx.output(odd, value)
            else:
                yield value

    split = batch(2).from_collection(range(6)).rebalance().process(Split())
    summed = split.map(lambda number: ("even", number)).key_by(lambda pair: pair[0]).sum(1).map(lambda pair: pair[1])
    assert sorted(results(summed.union(split.get_side_output(odd)))) == [1, 3, 5, 6]


def test_an_endless_source_is_refused_and_makes_automatic_stream() -> None:
    class Endless(SourceFunction[Any]):
        def run(self, ctx: Any) -> None:
            ctx.collect(1)

        def cancel(self) -> None:
            pass

    env = batch()
    env.add_source(Endless(), "clicks").print()
    with pytest.raises(ProgramError, match=r"'clicks' is unbounded.*BATCH"):
        build_job(env)
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    job = build_job(env)
    assert not job.is_batch
    assert job.notes == ("runs in STREAMING mode, because a source is unbounded",)


def test_automatic_is_batch_over_bounded_sources_and_says_so() -> None:
    env = environment().set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    env.enable_checkpointing(1000)
    env.from_collection([1]).print()
    job = build_job(env)
    assert job.is_batch
    assert job.notes == (
        "runs in BATCH mode, because all sources are bounded",
        "takes no checkpoints: in BATCH mode lost parts are computed again",
    )
    assert not job.checkpoints.is_checkpointing_enabled()


def test_the_mode_is_an_option() -> None:
    env = batch(options={"execution.runtime-mode": "batch"})
    assert results(env.from_collection([("a", 1), ("a", 2)]).key_by(lambda pair: pair[0]).sum(1)) == [("a", 3)]


def test_a_savepoint_cannot_be_the_start() -> None:
    env = batch(options={"execution.state-recovery.path": "/savepoints/1"})
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match="BATCH mode cannot start from a checkpoint or savepoint"):
        build_job(env)


def test_a_batch_job_is_not_driven_step_by_step() -> None:
    env = batch()
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match="run_locally"):
        LocalRun.of(env)
    env = environment()
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match="STREAMING"):
        LocalBatchRun.of(env)


@pytest.mark.parametrize("memory", ["128 mb", "8 kb"])
def test_more_than_fits_into_memory_is_sorted_in_files(memory: str) -> None:
    env = batch(2, {"execution.sorted-inputs.memory": memory})
    records = [(f"key {number % 7}", number) for number in range(5_000, 0, -1)]
    told = results(stamped(env, records).key_by(lambda pair: pair[0]).process(Telling()))
    seen: dict[str, list[int]] = {}
    order = list(dict.fromkeys(entry[1] for entry in told))
    for kind, key, time, _, _ in told:
        if kind == "record":
            seen.setdefault(key, []).append(time)
    assert seen == {f"key {rest}": [n for n in range(1, 5_001) if n % 7 == rest] for rest in range(7)}
    assert [entry[1] for entry in told] == sorted((entry[1] for entry in told), key=order.index)


@pytest.mark.parametrize("memory", ["128 mb", "8 kb"])
def test_aggregations_take_more_than_fits_into_memory(memory: str) -> None:
    env = batch(2, {"execution.sorted-inputs.memory": memory})
    summed = stamped(env, [(number % 100, number) for number in range(5_000)]).key_by(lambda pair: pair[0]).sum(1)
    assert sorted(results(summed)) == [(rest, sum(range(rest, 5_000, 100))) for rest in range(100)]


def test_idleness_and_alignment_mean_nothing_in_batch() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value)
    strategy = strategy.with_idleness(Duration.of_seconds(1)).with_watermark_alignment("group", Duration.of_seconds(1))
    assert results(batch().from_source(NumberSequenceSource(1, 3), strategy, "numbers")) == [1, 2, 3]
