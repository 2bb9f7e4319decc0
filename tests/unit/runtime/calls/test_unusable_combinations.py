"""What functions make of two values and nobody can use is refused: with the step, the function, its line and the value.

No message shows a line of Penstock.
"""

from __future__ import annotations

import inspect
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    DeltaEvictor,
    EmbeddedRocksDBStateBackend,
    EventTimeSessionWindows,
    HashMapStateBackend,
    KeyedProcessFunction,
    ReducingStateDescriptor,
    SlidingEventTimeWindows,
    Time,
    WatermarkStrategy,
)
from tests.unit.local_jobs import environment, run_locally
from tests.unit.runtime.calls.unusable_jobs import ENGINE, check, explained, keyed, windowed


def losing(first: Any, second: Any) -> Any:
    """Change the first, and forget to return it."""


class Forgetting(AggregateFunction):
    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)

    def get_result(self, accumulator: Any) -> Any:
        return len(accumulator)

    def merge(self, a: Any, b: Any) -> Any:
        return a + b


class MergingNothing(Forgetting):
    def add(self, value: Any, accumulator: Any) -> Any:
        return [*accumulator, value]

    def merge(self, a: Any, b: Any) -> Any:
        a.extend(b)


class KeepingState(KeyedProcessFunction):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        self.state = (
            runtime_context.get_reducing_state(ReducingStateDescriptor("state", losing))
            if self.kind == "reduce"
            else runtime_context.get_aggregating_state(AggregatingStateDescriptor("state", Forgetting()))
        )

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.state.add(value)


sessions = EventTimeSessionWindows.with_gap(Time.seconds(1))
sliding = SlidingEventTimeWindows.of(Time.seconds(2), Time.seconds(1))
near = DeltaEvictor.of(10.0, lambda a, b: b[1] - a[1])
FORGETTING = {
    "reduce": (lambda env: keyed(env).reduce(losing), "reduce", losing),
    "window reduce": (lambda env: windowed(env).reduce(losing), "reduce", losing),
    "sliding reduce": (lambda env: keyed(env).window(sliding).reduce(losing), "reduce", losing),
    "session reduce": (lambda env: keyed(env).window(sessions).reduce(losing), "reduce", losing),
    "count window reduce": (lambda env: keyed(env).count_window(2).reduce(losing), "reduce", losing),
    "evicting reduce": (lambda env: windowed(env).evictor(near).reduce(losing), "reduce", losing),
    "reducing state": (lambda env: keyed(env).process(KeepingState("reduce")), "reduce", losing),
    "window aggregate": (lambda env: windowed(env).aggregate(Forgetting()), "add", Forgetting()),
    "sliding aggregate": (lambda env: keyed(env).window(sliding).aggregate(Forgetting()), "add", Forgetting()),
    "session aggregate": (lambda env: keyed(env).window(sessions).aggregate(Forgetting()), "add", Forgetting()),
    "count aggregate": (lambda env: keyed(env).count_window(2).aggregate(Forgetting()), "add", Forgetting()),
    "evicting aggregate": (lambda env: windowed(env).evictor(near).aggregate(Forgetting()), "add", Forgetting()),
    "aggregating state": (lambda env: keyed(env).process(KeepingState("add")), "add", Forgetting()),
}


@pytest.mark.parametrize("backend", [HashMapStateBackend, EmbeddedRocksDBStateBackend])
@pytest.mark.parametrize("name", FORGETTING)
def test_functions_that_lose_what_they_combine(name: str, backend: Any) -> None:
    build, method, function = FORGETTING[name]
    env = environment()
    env.set_state_backend(backend())
    check(explained(build(env).name("the step")), "the step", function, f"{method}() returned None", "Return the")


def test_accumulators_that_are_lost_when_sessions_merge() -> None:
    env = environment()
    records = env.from_collection([("a", 0), ("a", 1500), ("a", 750)]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Time.seconds(9)).with_timestamp_assigner(lambda r, _: r[1])
    )
    stream = records.key_by(lambda r: r[0]).window(sessions).aggregate(MergingNothing()).name("the step")
    check(explained(stream), "the step", MergingNothing(), "merge() returned None")


def this_line() -> int:
    return inspect.currentframe().f_back.f_lineno  # type: ignore[union-attr, return-value]


@pytest.mark.parametrize("kind", ["sum", "min", "max", "min_by", "max_by"])
@pytest.mark.parametrize("is_windowed", [False, True])
def test_fields_that_records_do_not_have(kind: str, is_windowed: bool) -> None:
    env = environment()
    stream, line = getattr(windowed(env) if is_windowed else keyed(env), kind)(5), this_line()
    error = explained(stream.name("the step"))
    assert error.function == f"{kind}(5) ({__file__}:{line})"
    assert error.record == "('a', 1)"
    assert f"{kind}(5) needs a field 5" in str(error)
    assert ENGINE not in str(error)


@pytest.mark.parametrize("is_windowed", [False, True])
@pytest.mark.parametrize("record", [("a", "x"), ("a", None), ("a", [1]), ("a", {})], ids=str)
def test_sums_of_what_is_no_number(record: Any, is_windowed: bool) -> None:
    env = environment()
    stream = env.from_collection([record]).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda _, __: 1)
    )
    by_key = stream.key_by(lambda r: r[0])
    result, line = (by_key.window(sliding) if is_windowed else by_key).sum(1), this_line()
    error = explained(result.name("the step"))
    assert error.function == f"sum(1) ({__file__}:{line})"
    assert error.record == repr(record)
    assert "sum(1) adds numbers, but the field 1 is" in str(error)


@pytest.mark.parametrize("field", [None, {}, 1j], ids=str)
@pytest.mark.parametrize("kind", ["min", "max_by"])
def test_comparisons_of_what_cannot_be_compared(kind: str, field: Any) -> None:
    by_key = environment().from_collection([("a", field)]).key_by(lambda r: r[0])
    error = explained(getattr(by_key, kind)(1))
    assert f"{kind}(1) compares values, but the field 1 is" in str(error)
    assert error.record == repr(("a", field))


def test_numbers_of_all_kinds_are_summed() -> None:
    kinds = [Decimal("1.5"), Fraction(1, 2), np.float32(0.5), True, 2.5]
    for number in kinds:
        env = environment()
        env.from_collection([("a", number), ("a", number)]).key_by(lambda r: r[0]).sum(1).print()
        assert len(run_locally(env).printed) == 2
