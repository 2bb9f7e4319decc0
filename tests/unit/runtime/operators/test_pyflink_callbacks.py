"""What a program implements is called as PyFlink calls it: classes are made with exactly the parameters it lists."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from penstock import (
    AsyncDataStream,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    Duration,
    EventTimeSessionWindows,
    EventTimeTrigger,
    MapStateDescriptor,
    ProgramError,
    TimeWindow,
    TumblingEventTimeWindows,
    Types,
    WatermarkStrategy,
)
from penstock.testing import LocalRun
from tests.architecture.surface import MISSING, Listed, surface
from tests.unit.local_jobs import collect, environment

MODULES = ("datastream.functions", "datastream.window", "common.watermark_strategy")
NOT_FOR_PROGRAMS = {
    "KeyedStateStore",
    "RuntimeContext",
    "SourceFunction",  # PyFlink's wrap Java objects
    "SinkFunction",
    "Window",
    "WatermarkStrategy",
    "AssignerWithPeriodicWatermarksWrapper",
}
CALLED: set[str] = set()


def implementable() -> dict[str, type]:
    """The classes of PyFlink that a program derives from."""
    return {
        listed.path: listed.find()
        for listed in surface()
        if listed.kind == "class"
        and listed.module in MODULES
        and "." not in listed.path
        and listed.path not in NOT_FOR_PROGRAMS
        and listed.find() is not MISSING
        and inspect.isabstract(listed.find())
    }


def methods_of(name: str) -> list[Listed]:
    return [
        listed
        for listed in surface()
        if listed.kind == "method" and listed.module in MODULES and listed.path.rpartition(".")[0] == name
    ]


def note(called: str) -> None:
    CALLED.add(called)


def made(name: str, **bodies: Callable[..., Any]) -> Any:
    """Return an object whose class has the methods that PyFlink lists, with its parameters and no others."""
    members: dict[str, Any] = {}
    for listed in methods_of(name):
        method = listed.path.rpartition(".")[2]
        body = bodies.get(method, lambda *_: None)
        scope = {"body": body, "note": note}
        prefix, wait = ("async ", "await ") if inspect.iscoroutinefunction(body) else ("", "")
        text = f"{prefix}def {method}(self{', ' + listed.parameters if listed.parameters else ''}):\n"
        text += f"    note('{name}.{method}')\n    return {wait}body({listed.parameters})\n"
        exec(text, scope)
        members[method] = scope[method]
    return type(f"My{name}", (implementable()[name],), members)()


def numbers(env: Any) -> Any:
    stamped = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value * 1000)
    return env.from_collection([1, 3, 2]).assign_timestamps_and_watermarks(stamped)


def keyed(env: Any) -> Any:
    return numbers(env).key_by(lambda _: 0)


def windows(env: Any) -> Any:
    return keyed(env).window(TumblingEventTimeWindows.of(10_000))


def timed(value: int, ctx: Any) -> list[int]:
    ctx.timer_service().register_event_time_timer(5000)
    return [value]


def assigner_bodies() -> dict[str, Callable[..., Any]]:
    return {
        "assign_windows": lambda element, timestamp, context: [TimeWindow(0, 10_000)],
        "get_default_trigger": lambda env: env.get_parallelism() and EventTimeTrigger(),
        "is_event_time": lambda: True,
    }


def trigger_bodies() -> dict[str, Callable[..., Any]]:
    inner = EventTimeTrigger()
    methods = ("can_merge", "clear", "on_element", "on_event_time", "on_merge", "on_processing_time")
    return {method: getattr(inner, method) for method in methods}


RULES = MapStateDescriptor("rules", Types.INT(), Types.INT())


def ruled(stream: Any, function: Any) -> Any:
    return stream.connect(stream.get_execution_environment().from_collection([7]).broadcast(RULES)).process(function)


async def answer(value: int) -> list[int]:
    return [value]


def asked(env: Any, function: Any, strategy: Any = None) -> Any:
    arguments = (numbers(env), function, Duration.of_seconds(10))
    if strategy is None:
        return AsyncDataStream.ordered_wait(*arguments)
    return AsyncDataStream.ordered_wait_with_retry(*arguments, strategy)


def flaky() -> Callable[..., Any]:
    tried: set[int] = set()

    async def invoke(value: int) -> list[int]:
        if value in tried:
            return [value]
        tried.add(value)
        raise OSError(value)

    return invoke


def both(env: Any) -> Any:
    return numbers(env).connect(numbers(env))


def both_keyed(env: Any) -> Any:
    return both(env).key_by(lambda _: 0, lambda _: 0)


def predicate() -> AsyncRetryPredicate:
    return made(
        "AsyncRetryPredicate", exception_predicate=lambda: lambda _: True, result_predicate=lambda: lambda _: False
    )


def strategy(predicates: AsyncRetryPredicate) -> AsyncRetryStrategy:
    return made(
        "AsyncRetryStrategy",
        can_retry=lambda current_attempts: current_attempts <= 2,
        get_backoff_time_millis=lambda current_attempts: 1,
        get_retry_predicate=lambda: predicates,
    )


def same(value: Any, *_: Any) -> Any:
    return value


def listed(value: Any, *_: Any) -> list[Any]:
    return [value]


JOBS: dict[str, Callable[[Any], Any]] = {
    "MapFunction": lambda env: numbers(env).map(made("MapFunction", map=same)),
    "FlatMapFunction": lambda env: numbers(env).flat_map(made("FlatMapFunction", flat_map=listed)),
    "FilterFunction": lambda env: numbers(env).filter(made("FilterFunction", filter=bool)),
    "ReduceFunction": lambda env: keyed(env).reduce(made("ReduceFunction", reduce=same)),
    "AggregateFunction": lambda env: (
        keyed(env)
        .window(EventTimeSessionWindows.with_gap(1001))
        .aggregate(
            made("AggregateFunction", add=same, create_accumulator=lambda: 0, get_result=same, merge=lambda a, b: a + b)
        )
    ),
    "KeySelector": lambda env: numbers(env).key_by(made("KeySelector", get_key=same)).reduce(same),
    "Partitioner": lambda env: (
        numbers(env).partition_custom(made("Partitioner", partition=lambda key, n: key % n), same).map(same)
    ),
    "CoMapFunction": lambda env: both(env).map(made("CoMapFunction", map1=same, map2=same)),
    "CoFlatMapFunction": lambda env: both(env).flat_map(made("CoFlatMapFunction", flat_map1=listed, flat_map2=listed)),
    "ProcessFunction": lambda env: numbers(env).process(made("ProcessFunction", process_element=listed)),
    "KeyedProcessFunction": lambda env: keyed(env).process(
        made("KeyedProcessFunction", process_element=timed, on_timer=listed)
    ),
    "CoProcessFunction": lambda env: both(env).process(
        made("CoProcessFunction", process_element1=listed, process_element2=listed)
    ),
    "KeyedCoProcessFunction": lambda env: both_keyed(env).process(
        made("KeyedCoProcessFunction", process_element1=timed, process_element2=timed, on_timer=listed)
    ),
    "BroadcastProcessFunction": lambda env: ruled(
        numbers(env), made("BroadcastProcessFunction", process_element=listed, process_broadcast_element=listed)
    ),
    "KeyedBroadcastProcessFunction": lambda env: ruled(
        keyed(env),
        made(
            "KeyedBroadcastProcessFunction",
            process_element=timed,
            process_broadcast_element=listed,
            on_timer=listed,
        ),
    ),
    "AsyncFunction": lambda env: asked(env, made("AsyncFunction", async_invoke=answer)),
    "AsyncRetryStrategy": lambda env: asked(env, made("AsyncFunction", async_invoke=flaky()), strategy(predicate())),
    "AsyncRetryPredicate": lambda env: asked(env, made("AsyncFunction", async_invoke=flaky()), strategy(predicate())),
    "WindowFunction": lambda env: windows(env).apply(
        made("WindowFunction", apply=lambda key, window, inputs: list(inputs))
    ),
    "ProcessWindowFunction": lambda env: windows(env).process(
        made("ProcessWindowFunction", process=lambda key, context, elements: list(elements))
    ),
    "AllWindowFunction": lambda env: (
        numbers(env)
        .window_all(TumblingEventTimeWindows.of(10_000))
        .apply(made("AllWindowFunction", apply=lambda window, inputs: list(inputs)))
    ),
    "ProcessAllWindowFunction": lambda env: (
        numbers(env)
        .window_all(TumblingEventTimeWindows.of(10_000))
        .process(made("ProcessAllWindowFunction", process=lambda context, elements: list(elements)))
    ),
    "Trigger": lambda env: (
        keyed(env)
        .window(EventTimeSessionWindows.with_gap(1001))
        .trigger(made("Trigger", **trigger_bodies()))
        .reduce(same)
    ),
    "WindowAssigner": lambda env: keyed(env).window(made("WindowAssigner", **assigner_bodies())).reduce(same),
    "MergingWindowAssigner": lambda env: (
        keyed(env)
        .window(made("MergingWindowAssigner", **assigner_bodies(), merge_windows=TimeWindow.merge_windows))
        .reduce(same)
    ),
    "SessionWindowTimeGapExtractor": lambda env: (
        keyed(env)
        .window(
            EventTimeSessionWindows.with_dynamic_gap(
                made("SessionWindowTimeGapExtractor", extract=lambda element: 1001)
            )
        )
        .reduce(same)
    ),
    "TimestampAssigner": lambda env: numbers(env).assign_timestamps_and_watermarks(
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(
            made("TimestampAssigner", extract_timestamp=lambda value, record_timestamp: value)
        )
    ),
}

NOT_CALLED = {
    "Trigger.on_processing_time",  # the windows are in event time
    "AsyncFunction.timeout",  # nothing takes that long
    "WindowAssigner.get_window_serializer",  # windows are stored in a form of the engine's own
    "MergingWindowAssigner.get_window_serializer",
}


def test_every_class_is_tried() -> None:
    assert set(JOBS) == set(implementable())


@pytest.mark.parametrize("name", JOBS)
def test_the_methods_are_called_with_the_arguments_of_pyflink(name: str) -> None:
    CALLED.clear()
    env = environment()
    collect(JOBS[name](env))
    assert LocalRun(env._build_job(None)).run().collected["out"]
    expected = {method.path for method in methods_of(name)} - NOT_CALLED
    not_yet = {f"{name}.open", f"{name}.close"} if name in ("KeySelector", "Partitioner") else set()
    assert expected - CALLED - not_yet == set()


def test_an_assigner_need_not_ask_for_the_environment() -> None:
    class Everything(TumblingEventTimeWindows):
        def get_default_trigger(self) -> EventTimeTrigger:  # type: ignore[override]
            return EventTimeTrigger()

    env = environment()
    collect(keyed(env).window(Everything(10_000)).reduce(same))
    assert LocalRun(env._build_job(None)).run().collected == {"out": [1]}


def test_the_trigger_of_an_assigner_in_a_join_gets_the_environment() -> None:
    env = environment()
    assigner = made("WindowAssigner", **assigner_bodies())
    joined = numbers(env).join(numbers(env)).where(same).equal_to(same).window(assigner)
    collect(joined.apply(lambda left, right: left + right))
    assert sorted(LocalRun(env._build_job(None)).run().collected["out"]) == [2, 4, 6]


def test_too_many_windows_per_record_are_refused() -> None:
    from penstock import CountSlidingWindowAssigner, SlidingEventTimeWindows, SlidingProcessingTimeWindows

    for kind, unit in (
        (SlidingEventTimeWindows, "ms"),
        (SlidingProcessingTimeWindows, "ms"),
        (CountSlidingWindowAssigner, "records"),
    ):
        kind.of(10_000_000, 1)
        with pytest.raises(ProgramError) as refused:
            kind.of(20_000_001, 2)
        assert f"{kind.__name__} with a size of 20000001 {unit} and a slide of 2 {unit}" in str(refused.value)
        assert "10,000,001 windows" in str(refused.value)
