"""What functions return as results and nobody can use is refused: with the step, the function, its line and the value.

No message shows a line of Penstock.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoProcessFunction,
    DeltaEvictor,
    EventTimeSessionWindows,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapStateDescriptor,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
    Time,
    TumblingEventTimeWindows,
    UserFunctionError,
    WindowFunction,
)
from tests.unit.local_jobs import environment, local_run, run_locally
from tests.unit.runtime.calls.unusable_jobs import check, explained, keyed, pairs, windowed

RULES = MapStateDescriptor("rules")


class Returning(FlatMapFunction, ProcessFunction, CoFlatMapFunction, CoProcessFunction):
    """Returns the same from everything."""

    def __init__(self, result: Any) -> None:
        self.result = result

    def flat_map(self, value: Any) -> Any:
        return self.result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self.result

    process_element2 = process_element1

    def flat_map1(self, value: Any) -> Any:
        return self.result

    flat_map2 = flat_map1


class KeyedReturning(KeyedProcessFunction, KeyedCoProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result

    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self.result

    process_element2 = process_element1


class Collecting(FlatMapFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def flat_map(self, value: Any, out: Any) -> Any:
        return self.result


class OnTimer(KeyedProcessFunction):
    def __init__(self, result: Any, *, is_event_time: bool) -> None:
        self.result = result
        self.is_event_time = is_event_time

    def process_element(self, value: Any, ctx: Any) -> Any:
        service = ctx.timer_service()
        if self.is_event_time:
            service.register_event_time_timer(5)
        else:
            service.register_processing_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return self.result


class Broadcasting(BroadcastProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return self.result


class KeyedBroadcasting(KeyedBroadcastProcessFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, value: Any, ctx: Any) -> Any:
        return self.result

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return ()


class Windowing(ProcessWindowFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return self.result


class WindowingAll(ProcessAllWindowFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process(self, context: Any, elements: Any) -> Any:
        return self.result


class Applying(WindowFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return self.result


class CoGrouping(CoGroupFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def co_group(self, first: Any, second: Any) -> Any:
        return self.result


class Joining(ProcessJoinFunction):
    def __init__(self, result: Any) -> None:
        self.result = result

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        return self.result


def co_grouped(env: Any, function: Any) -> Any:
    return (
        pairs(env)
        .co_group(pairs(env))
        .where(lambda record: record[0])
        .equal_to(lambda record: record[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .apply(function)
    )


ITERATED = {
    "flat_map": (lambda env, f: pairs(env).flat_map(f), Returning),
    "flat_map with keys": (lambda env, f: keyed(env).flat_map(f), Returning),
    "flat_map with a collector": (lambda env, f: pairs(env).flat_map(f), Collecting),
    "process": (lambda env, f: pairs(env).process(f), Returning),
    "keyed process": (lambda env, f: keyed(env).process(f), KeyedReturning),
    "event-time timer": (lambda env, f: keyed(env).process(f), lambda r: OnTimer(r, is_event_time=True)),
    "co flat_map": (lambda env, f: pairs(env).connect(pairs(env)).flat_map(f), Returning),
    "co process": (lambda env, f: pairs(env).connect(pairs(env)).process(f), Returning),
    "keyed co process": (lambda env, f: keyed(env).connect(keyed(env)).process(f), KeyedReturning),
    "broadcast": (lambda env, f: pairs(env).connect(pairs(env).broadcast(RULES)).process(f), Broadcasting),
    "keyed broadcast": (lambda env, f: keyed(env).connect(pairs(env).broadcast(RULES)).process(f), KeyedBroadcasting),
    "window process": (lambda env, f: windowed(env).process(f), Windowing),
    "window process of all": (
        lambda env, f: pairs(env).window_all(TumblingEventTimeWindows.of(Time.seconds(1))).process(f),
        WindowingAll,
    ),
    "window apply": (lambda env, f: windowed(env).apply(f), Applying),
    "session process": (
        lambda env, f: keyed(env).window(EventTimeSessionWindows.with_gap(Time.seconds(1))).process(f),
        Windowing,
    ),
    "count window process": (lambda env, f: keyed(env).count_window(2).process(f), Windowing),
    "window process with an evictor": (
        lambda env, f: windowed(env).evictor(DeltaEvictor.of(10.0, lambda a, b: b[1] - a[1])).process(f),
        Windowing,
    ),
    "co_group": (co_grouped, CoGrouping),
    "interval join": (
        lambda env, f: keyed(env).interval_join(keyed(env)).between(Time.seconds(-1), Time.seconds(1)).process(f),
        Joining,
    ),
}


@pytest.mark.parametrize("result", [5, 2.5, object], ids=["int", "float", "class"])
@pytest.mark.parametrize("name", ITERATED)
def test_results_that_cannot_be_iterated(name: str, result: Any) -> None:
    build, make = ITERATED[name]
    function = make(result)
    error = explained(build(environment(), function).name("the step"))
    shown = re.escape(repr(result))
    assert re.search(rf"returned {shown} \({type(result).__name__}\), which cannot be iterated over", str(error))
    check(error, "the step", function, "Return a list, or yield")


def test_results_of_processing_time_timers_that_cannot_be_iterated() -> None:
    function = OnTimer(7, is_event_time=False)
    keyed(env := environment()).process(function).name("the step").print()
    run = local_run(env)
    run.step()
    with pytest.raises(UserFunctionError, match=r"returned 7 \(int\), which cannot be iterated over") as caught:
        run.advance(10)
    check(caught.value, "the step", function)


@pytest.mark.parametrize("name", ITERATED)
def test_none_is_no_result(name: str) -> None:
    build, make = ITERATED[name]
    build(env := environment(), make(None)).print()
    assert run_locally(env).printed == []
