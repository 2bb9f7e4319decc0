"""Broadcast state: written by the broadcast side, in every subtask alike, and read by the other one."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ProgramError, StateAccessError
from penstock.graph.multi_input_steps import BroadcastProcessStep
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from penstock.vocabulary.functions.output_tag import OutputTag
from penstock.vocabulary.settings.modes import TimeDomain
from penstock.vocabulary.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from tests.unit.runtime.task.stream_bench import collected, environment

RULES: MapStateDescriptor[str, int] = MapStateDescriptor("rules")
NAMES: MapStateDescriptor[str, str] = MapStateDescriptor("names")
UNKNOWN = OutputTag("unknown")


class Apply(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: str, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        if value not in rules:
            ctx.output(UNKNOWN, value)
        else:
            yield value, rules.get(value), ctx.get_broadcast_state(NAMES)[value]

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Any:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        ctx.get_broadcast_state(NAMES)[value[0]] = value[0].upper()


def bench(function: Any, *descriptors: Any, key: Any = None) -> OperatorHarness:
    step = BroadcastProcessStep(function=function, descriptors=descriptors or (RULES, NAMES), key=key)
    return OperatorHarness.for_step(step)


def test_several_states_are_read_by_descriptor() -> None:
    harness = bench(Apply())
    harness.push("a", 1)
    harness.push_second(("a", 5), 2)
    harness.push("a", 3)
    assert harness.outputs == [(("a", 5, "A"), 3)]
    assert harness.side_output(UNKNOWN) == [("a", 1)]


class Writing(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        value(ctx.get_broadcast_state(RULES))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        value(ctx.get_broadcast_state(RULES))


def _set(state: Any) -> None:
    state["k"] = 1


def _delete(state: Any) -> None:
    del state["k"]


WRITES = [
    lambda state: state.put("k", 1),
    lambda state: state.put_all({"k": 1}),
    lambda state: state.remove("k"),
    lambda state: state.clear(),
    _set,
    _delete,
]


@pytest.mark.parametrize("write", WRITES)
def test_w_78_a_write_on_the_data_side_raises(write: Any) -> None:
    harness = bench(Writing())
    harness.push_second(write)
    with pytest.raises(StateAccessError, match="process_broadcast_element"):
        harness.push(write)


def test_all_ways_of_reading() -> None:
    seen: list[Any] = []

    def read(state: Any) -> None:
        seen.append((state.is_empty(), list(state), list(state.items()), list(state.values()), state.contains("x")))

    harness = bench(Writing())
    harness.push(read)
    harness.push_second(lambda state: state.put_all({"x": 1, "y": 2}))
    harness.push(read)
    harness.push_second(read)
    full = (False, ["x", "y"], [("x", 1), ("y", 2)], [1, 2], True)
    assert seen == [(True, [], [], [], False), full, full]


def test_a_state_that_was_not_announced_is_named() -> None:
    harness = bench(Apply(), RULES)
    with pytest.raises(StateAccessError, match=r"'names'.*'rules'"):
        harness.push_second(("a", 1))


class PerKey(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
    def open(self, runtime_context: Any) -> None:
        self._sum = runtime_context.get_state(ValueStateDescriptor("sum"))

    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Any:
        factor = ctx.get_broadcast_state(RULES).get("factor") or 1
        self._sum.update((self._sum.value() or 0) + value[1] * factor)
        ctx.timer_service().register_event_time_timer(100)
        yield ctx.get_current_key(), self._sum.value(), ctx.timestamp(), ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Any:
        ctx.get_broadcast_state(RULES).put("factor", value)
        ctx.apply_to_keyed_state(ValueStateDescriptor("sum"), lambda key, state: state.update(state.value() + 1000))
        yield "factor", value, ctx.timestamp(), ctx.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Any:
        yield ctx.get_current_key(), self._sum.value(), ctx.time_domain(), ctx.get_broadcast_state(RULES)["factor"]


def test_keyed_state_timers_and_apply_to_keyed_state() -> None:
    harness = bench(PerKey(), RULES, key=lambda value: value[0])
    harness.push(("a", 1), 10)
    harness.push(("b", 2), 20)
    harness.push_watermark(30)
    harness.push_second(3, 40)
    harness.push(("a", 1), 50)
    assert harness.values == [
        ("a", 1, 10, -(2**63)),
        ("b", 2, 20, -(2**63)),
        ("factor", 3, 40, 30),
        ("a", 1004, 50, 30),
    ]
    harness.take_outputs()
    harness.push_watermark(100)
    assert harness.outputs == [
        (("a", 1004, TimeDomain.EVENT_TIME, 3), 100),
        (("b", 1002, TimeDomain.EVENT_TIME, 3), 100),
    ]


class UsesKeyOnBroadcastSide(PerKey):
    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        self._sum.value()


def test_the_broadcast_side_has_no_key_and_no_timers() -> None:
    harness = bench(UsesKeyOnBroadcastSide(), RULES, key=lambda value: value[0])
    harness.push(("a", 1), 10)
    with pytest.raises(StateAccessError, match="no current key"):
        harness.push_second(1)
    assert not hasattr(KeyedBroadcastProcessFunction.Context, "timer_service")
    assert not hasattr(BroadcastProcessFunction.ReadOnlyContext, "timer_service")


class Clearing(PerKey):
    """Clears the state of every key, through an object with a method ``process`` as in Java."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        class Clear:
            def process(self, key: Any, state: Any) -> None:
                state.clear()

        ctx.apply_to_keyed_state(ListStateDescriptor("other"), Clear())
        ctx.apply_to_keyed_state(ValueStateDescriptor("sum"), Clear())


def test_apply_to_keyed_state_may_clear_what_it_visits() -> None:
    harness = bench(Clearing(), RULES, key=lambda value: value[0])
    harness.push(("a", 1), 10)
    harness.push(("b", 1), 10)
    harness.push_second(None)
    assert harness.state_keys(ValueStateDescriptor("sum")) == []


def test_the_state_of_every_subtask_is_part_of_its_snapshot() -> None:
    harness = bench(Apply())
    harness.push_second(("a", 5))
    snapshot = harness.operator.context.operator_state.snapshot()
    harness.push_second(("b", 6))
    assert snapshot.broadcasts == {"rules": {"a": 5}, "names": {"a": "A"}}
    restored = bench(Apply())
    restored.operator.context.operator_state.restore(snapshot)
    restored.push("a")
    assert restored.values == [("a", 5, "A")]


def test_a_program_with_broadcast_state_on_keyed_and_unkeyed_streams() -> None:
    class Wait(KeyedBroadcastProcessFunction[str, Any, Any, Any]):
        """Keeps what comes before the rules: in one process the order of two sources is not defined."""

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield "data", value

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(RULES).put(value, value)
            yield "rule", value, len(ctx.get_broadcast_state(RULES).keys())

    env = environment(3)
    rules = env.from_elements("r1", "r2").broadcast(RULES)
    keyed = env.from_elements("a", "b", "c").key_by(lambda value: value)
    found = collected(keyed.connect(rules).process(Wait()))
    assert sorted(found) == sorted([("data", key) for key in "abc"] + [("rule", "r1", 1)] * 3 + [("rule", "r2", 2)] * 3)


def test_without_descriptors_broadcast_is_a_partitioning() -> None:
    env = environment(3)
    copies = env.from_elements(1, 2).broadcast().map(lambda value: value)
    assert sorted(collected(copies)) == [1, 1, 1, 2, 2, 2]


def test_wrong_uses_are_refused() -> None:
    env = environment()
    rules = env.from_elements(("a", 1)).broadcast(RULES, NAMES)
    stream = env.from_elements("a")
    with pytest.raises(ProgramError, match="needs a keyed stream"):
        stream.connect(rules).process(PerKey())
    with pytest.raises(ProgramError, match="needs a KeyedBroadcastProcessFunction"):
        stream.key_by(lambda value: value).connect(rules).process(Apply())
    with pytest.raises(ProgramError, match="needs a BroadcastProcessFunction"):
        stream.connect(rules).process(lambda value: value)
    with pytest.raises(ProgramError, match="two descriptors"):
        stream.broadcast(RULES, MapStateDescriptor("rules"))
    with pytest.raises(ProgramError, match="MapStateDescriptor"):
        stream.broadcast(ValueStateDescriptor("x"))  # type: ignore[call-overload]
    with pytest.raises(ProgramError, match="Cannot override partitioning"):
        stream.key_by(lambda value: value).broadcast(RULES)
