"""Connected streams: one function with a method per input, shared state, shared timers."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ProgramError, StateAccessError, UserFunctionError
from penstock.graph.multi_input_steps import CoProcessStep
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.basic import CoFlatMapFunction, CoMapFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.functions.process import CoProcessFunction, KeyedCoProcessFunction, ProcessFunction
from penstock.vocabulary.settings.modes import TimeDomain
from penstock.vocabulary.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from tests.unit.runtime.task.stream_bench import collected, environment, timed


class Describe(CoMapFunction[int, str, str]):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: str) -> str | None:
        return f"word {value}" if value else None


class Repeat(CoFlatMapFunction[int, str, str]):
    def flat_map1(self, value: int) -> Any:
        yield from ["x"] * value

    def flat_map2(self, value: str, out: Any = None) -> Any:
        return list(value)


class RepeatToCollector(CoFlatMapFunction[int, str, str]):
    def flat_map1(self, value: int, out: Any) -> None:  # type: ignore[override]
        for _ in range(value):
            out.collect("x")

    def flat_map2(self, value: str, out: Any) -> None:  # type: ignore[override]
        out.collect(value)


class Times(ProcessFunction[Any, Any]):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


def test_co_map_uses_one_method_per_stream() -> None:
    env = environment()
    result = env.from_elements(1, 2).connect(env.from_elements("a", "b")).map(Describe())
    assert sorted(collected(result)) == ["number 1", "number 2", "word a", "word b"]


def test_co_map_result_none_is_no_record_and_timestamps_stay_with_their_records() -> None:
    env = environment()
    words = timed(env, "", "a", time=lambda word: len(word) * 7)
    result = env.from_elements(1).connect(words).map(Describe()).process(Times())
    assert sorted(collected(result), key=str) == [("number 1", None), ("word a", 7)]


@pytest.mark.parametrize("function", [Repeat(), RepeatToCollector()])
def test_co_flat_map_gives_any_number_of_results(function: Any) -> None:
    env = environment()
    result = env.from_elements(2, 0).connect(env.from_elements("b", "c")).flat_map(function)
    assert sorted(collected(result)) == ["b", "c", "x", "x"]


LATE = OutputTag("rejected")


class Match(KeyedCoProcessFunction[str, Any, Any, Any]):
    """Pairs a left and a right record of one key; unpaired ones are reported when the watermark comes by."""

    def open(self, runtime_context: Any) -> None:
        self._left = runtime_context.get_state(ValueStateDescriptor("left"))
        self._right = runtime_context.get_state(ValueStateDescriptor("right"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield from self._seen(value, self._left, self._right, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield from self._seen(value, self._right, self._left, ctx)

    def _seen(self, value: Any, own: Any, other: Any, ctx: Any) -> Any:
        if other.value() is not None:
            yield ctx.get_current_key(), self._left.value() or value, self._right.value() or value
            ctx.timer_service().delete_event_time_timer(other.value()[1] + 10)
            other.clear()
        else:
            own.update(value)
            ctx.timer_service().register_event_time_timer(value[1] + 10)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        assert ctx.timestamp() == timestamp
        for name, state in (("left", self._left), ("right", self._right)):
            if state.value() is not None:
                yield LATE, (name, ctx.get_current_key(), timestamp)
                state.clear()


def harness(function: Any, *, first: bool = True, second: bool = True) -> OperatorHarness:
    step = CoProcessStep(
        function=function,
        key=(lambda value: value[0]) if first else None,
        second_key=(lambda value: value[0]) if second else None,
    )
    return OperatorHarness.for_step(step)


def test_both_inputs_share_state_and_timers_of_a_key() -> None:
    bench = harness(Match())
    bench.push(("a", 1), 1)
    bench.push_second(("b", 2), 2)
    bench.push_second(("a", 3), 3)
    assert bench.outputs == [(("a", ("a", 1), ("a", 3)), 3)]
    assert bench.event_timers() == [(12, "b", None)]
    bench.push_watermark(12)
    assert bench.side_output(LATE) == [(("right", "b", 12), 12)]


class TimerOnBoth(KeyedCoProcessFunction[str, Any, Any, Any]):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(50)

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp, ctx.get_current_key(), ctx.time_domain()


def test_a_timer_belongs_to_the_key_whichever_input_set_it() -> None:
    bench = harness(TimerOnBoth())
    bench.push(("a", 1))
    bench.push_second(("a", 1))
    bench.push_second(("b", 1))
    bench.advance(50)
    assert sorted(bench.values) == [
        (50, "a", TimeDomain.PROCESSING_TIME),
        (50, "b", TimeDomain.PROCESSING_TIME),
    ]


def test_an_input_without_key_sets_no_timers() -> None:
    bench = harness(TimerOnBoth(), second=False)
    bench.push(("a", 1))
    with pytest.raises(StateAccessError, match="key"):
        bench.push_second("anything")
    bench.advance(50)
    assert bench.values == [(50, "a", TimeDomain.PROCESSING_TIME)]


class PlainTimer(CoProcessFunction[Any, Any, Any]):
    """Is not a keyed function, but may be used on keyed streams, as in Flink."""

    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1])

    def process_element2(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().delete_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp


def test_one_input_deletes_the_timers_of_the_other() -> None:
    bench = harness(PlainTimer())
    bench.push(("a", 10), 1)
    bench.push(("b", 10), 1)
    bench.push(("a", 20), 1)
    bench.push_second(("a", 10), 2)
    assert bench.event_timers() == [(10, "b", None), (20, "a", None)]
    bench.push_watermark(20)
    assert bench.outputs == [(10, 10), (20, 20)]


class Collecting(KeyedCoProcessFunction[str, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self._seen.add(value[1])
        yield ctx.get_current_key(), sorted(self._seen.get())

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self._seen.add(value[0])
        yield ctx.get_current_key(), sorted(self._seen.get())


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("order", ["key_by first", "connect first"])
def test_keys_of_both_streams_meet_in_either_order_of_key_by_and_connect(order: str, parallelism: int) -> None:
    env = environment(parallelism)
    left, right = env.from_elements(("a", 1), ("b", 2), ("c", 3)), env.from_elements((4, "c"), (5, "b"))
    first = lambda record: record[0]  # noqa: E731
    second = lambda record: record[1]  # noqa: E731
    if order == "key_by first":
        connected = left.key_by(first).connect(right.key_by(second))
    else:
        connected = left.connect(right).key_by(first, second)
    seen: dict[str, list[int]] = {}
    for key, values in collected(connected.process(Collecting())):
        seen[key] = max(seen.get(key, []), values, key=len)
    assert seen == {"a": [1], "b": [2, 5], "c": [3, 4]}


class OneSided(KeyedCoProcessFunction[str, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self._count.update((self._count.value() or 0) + 1)
        yield value[0], self._count.value()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self._count.value()


def test_an_input_without_key_has_no_keyed_state() -> None:
    bench = harness(OneSided(), second=False)
    bench.push(("a", 1))
    bench.push(("a", 1))
    assert bench.values == [("a", 1), ("a", 2)]
    with pytest.raises(StateAccessError, match="no current key"):
        bench.push_second("anything")


class Unkeyed(CoProcessFunction[Any, Any, Any]):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.output(LATE, value)
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(1)


def test_unkeyed_streams_have_time_and_side_outputs_but_no_timers() -> None:
    bench = harness(Unkeyed(), first=False, second=False)
    bench.push_watermark(5)
    bench.push("x", 7)
    assert bench.outputs == [(("x", 7, 5), 7)]
    assert bench.side_output(LATE) == [("x", 7)]
    with pytest.raises(StateAccessError, match="Timers need a key"):
        bench.push_second("y")


def test_side_outputs_of_connected_streams_can_be_read() -> None:
    env = environment()
    main = env.from_elements("x").connect(env.from_elements()).process(Unkeyed())
    values, side = collected(main, main.get_side_output(OutputTag("rejected")))
    assert [value[0] for value in values] == ["x"]
    assert side == ["x"]


def test_the_watermark_is_the_minimum_of_both_inputs() -> None:
    env = environment()
    first, second = timed(env, ("a", 100), ("a", 200)), timed(env, ("a", 50))

    class Clock(CoProcessFunction[Any, Any, Any]):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            yield ctx.timer_service().current_watermark() <= 50

        process_element2 = process_element1

    assert collected(first.connect(second).process(Clock())) == [True, True, True]


def test_wrong_functions_are_refused() -> None:
    env = environment()
    connected = env.from_elements(1).connect(env.from_elements(2))
    with pytest.raises(ProgramError, match="needs keyed streams"):
        connected.process(Match())
    with pytest.raises(ProgramError, match="needs a CoMapFunction"):
        connected.map(lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a stream"):
        env.from_elements(1).connect(5)  # type: ignore[call-overload]
    with pytest.raises(ProgramError, match="one environment"):
        env.from_elements(1).connect(environment().from_elements(1))


class Failing(CoMapFunction[Any, Any, Any]):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        raise RuntimeError("no such word")


def test_a_failure_names_the_step_the_record_and_the_function() -> None:
    env = environment()
    result = env.from_elements(1).connect(env.from_elements("w")).map(Failing())
    with pytest.raises(UserFunctionError) as failure:
        collected(result)
    assert "Failing" in str(failure.value)
    assert "'w'" in str(failure.value)
    assert "no such word" in str(failure.value)
