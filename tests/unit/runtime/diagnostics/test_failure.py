"""What a user sees when something of the program raises: the step, the function, the record, the own traceback."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import pytest

from penstock import (
    AggregateFunction,
    AggregatingStateDescriptor,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReducingStateDescriptor,
    RuntimeContext,
    SerializationError,
    SinkFunction,
    SourceFunction,
    UserFunctionError,
)
from penstock.runtime.diagnostics.failure import explain_failure
from tests.unit.local_jobs import environment, local_run, run_locally


def failure(stream: Any) -> UserFunctionError:
    stream.print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(stream.get_execution_environment())
    return caught.value


def numbers() -> Any:
    return environment().from_collection([1, 2, 3])


def inverse(value: int) -> float:
    return 1 / (value - 2)


class Inverse(MapFunction):
    def map(self, value: int) -> float:
        return inverse(value)


def test_a_function_is_named_with_step_place_and_record() -> None:
    error = failure(numbers().map(inverse).name("dividing"))
    assert error.step == "dividing (1/1)"
    assert error.function == f"inverse ({__file__}:{inverse.__code__.co_firstlineno})"
    assert error.record == "2"
    assert error.error == "ZeroDivisionError: division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_a_function_object_is_named_by_its_class() -> None:
    error = failure(numbers().map(Inverse()))
    assert error.function.startswith(f"Inverse ({__file__}:")
    assert error.record == "2"


def test_a_built_in_function_has_no_line() -> None:
    error = failure(environment().from_collection(["1", "x"]).map(int))
    assert error.function == "builtins.int"
    assert error.record == "'x'"


def test_a_built_in_function_has_no_frames_and_the_engines_are_left_out() -> None:
    error = failure(environment().from_collection(["1", "x"]).map(int).name("reading"))
    assert error.user_traceback == ""
    assert str(error).splitlines() == [
        "ValueError: invalid literal for int() with base 10: 'x'",
        "  in step    'reading (1/1)'",
        "  function   builtins.int",
        "  record     'x'",
    ]


def broken_key(value: int) -> int:
    return 1 // (value - 2)


def test_a_key_selector_is_named_where_it_fails() -> None:
    env = environment(2)
    env.from_collection([1, 2, 3]).key_by(broken_key).map(str).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert caught.value.function.startswith("broken_key (")
    assert caught.value.record == "2"


def test_the_traceback_is_the_users_own() -> None:
    error = failure(numbers().map(Inverse()))
    assert "in map" in error.user_traceback
    assert "in inverse" in error.user_traceback
    assert "penstock/runtime" not in error.user_traceback
    assert error.user_traceback.startswith("Traceback")


def test_the_message_has_all_of_it() -> None:
    message = str(failure(numbers().map(inverse).name("dividing")))
    for part in (
        "in inverse",
        "ZeroDivisionError: division by zero",
        "'dividing (1/1)'",
        f"{__file__}:",
        "record     2",
    ):
        assert part in message


def test_the_right_step_of_a_chain_is_named() -> None:
    stream = (
        numbers().map(lambda x: x * 10).name("first").map(lambda x: x - 18).name("second").map(inverse).name("third")
    )
    error = failure(stream.map(str).name("fourth"))
    assert error.step == "third (1/1)"
    assert error.record == "2"


def test_the_right_subtask_is_named() -> None:
    env = environment(3)
    env.from_collection([1, 2, 3]).partition_custom(lambda key, count: key % count, lambda x: x).map(inverse).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert caught.value.step == "Map (3/3)"


def generating(value: int) -> Any:
    yield value
    yield inverse(value)


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.filter(inverse),
        lambda s: s.flat_map(generating),
        lambda s: s.flat_map(lambda value, out: out.collect(inverse(value))),
        lambda s: s.key_by(lambda x: x).map(inverse),
        lambda s: s.key_by(lambda x: x).map_with_state(lambda value, state: (inverse(value), state)),
        lambda s: s.assign_ascending_timestamps(inverse),
        lambda s: s.process(Processing()),
        lambda s: s.key_by(lambda x: x).process(KeyedProcessing()),
        lambda s: s.split(lambda value: [str(inverse(value))]).select("a"),
    ],
    ids=["filter", "generator", "collector", "keyed", "state", "timestamps", "process", "keyed process", "split"],
)
def test_every_kind_of_step_shows_the_record(step: Any) -> None:
    error = failure(step(numbers()))
    assert error.record == "2"
    assert "in inverse" in error.user_traceback
    assert error.error == "ZeroDivisionError: division by zero"


class Processing(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        yield inverse(value)


class KeyedProcessing(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Any:
        yield inverse(value)


def test_a_reduce_function() -> None:
    error = failure(numbers().key_by(lambda x: 0).reduce(lambda a, b: inverse(b)).name("reducing"))
    assert error.step == "reducing (1/1)"
    assert error.record == "2"


class SummingState(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", self._add, None))

    @staticmethod
    def _add(first: int, second: int) -> int:
        raise ValueError(f"cannot add {first} and {second}")

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.sum.add(value["level"])


def test_the_record_is_not_what_the_function_adds_to_a_state() -> None:
    stream = environment().from_collection([{"level": 1}, {"level": 2}])
    error = failure(stream.key_by(lambda x: 0).process(SummingState()).name("summing"))
    assert error.error == "ValueError: cannot add 1 and 2"
    assert error.record == "{'level': 2}"
    assert "in process_element" in error.user_traceback


class Broken(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        raise ValueError("no sum")

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class AggregatingInto(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_aggregating_state(AggregatingStateDescriptor("sum", Broken(), None))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.sum.add(value[0])


def test_a_function_inside_a_state() -> None:
    error = failure(environment().from_collection([("a", 1)]).key_by(0).process(AggregatingInto()))
    assert error.record == "('a', 1)"
    assert "in add" in error.user_traceback


class SideThenFail(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        ctx.output(OutputTag("side"), -value)
        yield value


def test_a_step_behind_a_side_output_is_named_not_the_one_before() -> None:
    stream = numbers().process(SideThenFail()).name("before")
    error = failure(stream.get_side_output(OutputTag("side")).map(lambda x: inverse(x + 4)).name("behind"))
    assert error.step == "behind (1/1)"
    assert error.record == "-2"


class LateFailure(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        raise RuntimeError("too late")


def test_a_timer_has_no_record() -> None:
    error = failure(numbers().key_by(lambda x: x).process(LateFailure()).name("timing"))
    assert error.step == "timing (1/1)"
    assert error.record is None
    assert "in on_timer" in error.user_traceback


class BrokenSink(SinkFunction):
    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        raise OSError("disk full")


def test_a_sink() -> None:
    stream = numbers()
    stream.add_sink(BrokenSink()).name("writing")
    with pytest.raises(UserFunctionError) as caught:
        run_locally(stream.get_execution_environment())
    assert caught.value.step == "writing (1/1)"
    assert caught.value.record == "1"
    assert "BrokenSink" in caught.value.function


class BrokenSource(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        raise OSError("no such host")

    def cancel(self) -> None: ...


def test_a_source() -> None:
    error = failure(environment().add_source(BrokenSource(), "feed"))
    assert error.step == "feed (1/1)"
    assert "BrokenSource" in error.function
    assert "in run" in error.user_traceback


def test_a_long_record_is_shortened() -> None:
    error = failure(environment().from_collection(["x" * 100_000]).map(lambda value: 1 / 0))
    assert error.record is not None
    assert len(error.record) < 300
    assert "100002 characters" in error.record


class Unshown:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_a_record_whose_repr_raises_is_named_by_its_type() -> None:
    error = failure(environment().from_collection([0]).map(lambda _: Unshown()).map(lambda value: 1 / 0))
    assert error.record == "<Unshown whose repr raises RuntimeError('no repr')>"


def test_causes_of_the_users_own_are_shown() -> None:
    def translated(value: int) -> float:
        try:
            return inverse(value)
        except ZeroDivisionError as error:
            raise KeyError("translated") from error

    error = failure(numbers().map(translated))
    assert "ZeroDivisionError" in error.user_traceback
    assert error.error == "KeyError: 'translated'"


def test_a_value_that_cannot_be_sent_is_shown() -> None:
    env = environment(2)
    env.from_collection([1]).map(lambda x: threading.Lock()).name("locking").rebalance().print()
    with pytest.raises(
        SerializationError, match=r"type lock cannot be sent to the next step(?s:.*)in step    'locking'"
    ):
        run_locally(env)


def test_a_value_that_cannot_be_sent_in_a_full_block_is_shown_alike() -> None:
    env = environment(2)
    env.from_sequence(1, 20_000).map(lambda x: threading.Lock()).name("locking").rebalance().print()
    with pytest.raises(
        SerializationError, match=r"type lock cannot be sent to the next step(?s:.*)in step    'locking'"
    ):
        run_locally(env)


def test_the_explanation_survives_pickling() -> None:
    error = failure(numbers().map(inverse))
    copied = pickle.loads(pickle.dumps(error))
    assert str(copied) == str(error)
    assert (copied.step, copied.function, copied.record) == (error.step, error.function, error.record)


def test_an_explained_error_is_not_explained_again() -> None:
    error = failure(numbers().map(inverse))
    assert explain_failure(error) is error


def test_an_error_without_an_operator_stays_what_it_is() -> None:
    error = SerializationError("not ours")
    assert explain_failure(error) is error


def test_an_error_from_nowhere_is_shown_whole() -> None:
    try:
        inverse(2)
    except ZeroDivisionError as error:
        explained = explain_failure(error)
    assert isinstance(explained, UserFunctionError)
    assert "in inverse" in explained.user_traceback


def test_the_job_is_closed_after_a_failure() -> None:
    stream = numbers().map(inverse)
    stream.print()
    run = local_run(stream.get_execution_environment())
    with pytest.raises(UserFunctionError):
        run.run()
    assert all(not subtask.chain._opened for task in run.tasks for subtask in task.subtasks.values())
