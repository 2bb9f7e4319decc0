"""Programs that cannot run are refused where they are written or at execute(), with the user's line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ProgramError,
    ReduceFunction,
    SerializationError,
    SinkFunction,
    SourceFunction,
    StreamExecutionEnvironment,
)
from penstock.graph.validate import validate
from tests.unit.local_jobs import environment, run_locally


class Double(MapFunction):
    def map(self, value: int) -> int:
        return 2 * value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


class First(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


def check(env: StreamExecutionEnvironment) -> None:
    validate(env.graph, env._settings(None))


def here() -> str:
    """The line of the call after this one's."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + 1}"


def numbers() -> Any:
    return environment(2).from_collection([1, 2, 3])


def test_a_duplicate_uid_names_both_steps_and_places() -> None:
    env = environment()
    first_line = here()
    first = env.from_collection([1]).name("first").uid("same")
    second_line = here()
    first.map(str).name("second").uid("same")
    with pytest.raises(ProgramError) as caught:
        check(env)
    message = str(caught.value)
    assert "'same'" in message
    assert "'first'" in message
    assert "'second'" in message
    assert first_line in message
    assert caught.value.location == second_line


def test_an_unpicklable_function_names_step_function_and_line() -> None:
    lock = threading.Lock()
    env = environment()
    stream = env.from_collection([1])
    function = lambda x: (lock, x)  # noqa: E731
    line = here()
    stream.map(function).name("locking").uid("locking-1")
    with pytest.raises(SerializationError) as caught:
        check(env)
    message = str(caught.value)
    assert "locking (locking-1)" in message
    assert f"{__file__}:{function.__code__.co_firstlineno}" in message
    assert f"at {line}" in message
    assert "open()" in message
    assert caught.value.__cause__ is not None


def test_an_unpicklable_partitioner_is_refused_too() -> None:
    lock = threading.Lock()
    stream = numbers()
    stream.partition_custom(lambda key, count: (lock, 0)[1], lambda x: x).map(str).name("behind")
    with pytest.raises(SerializationError, match="'behind'"):
        check(stream.get_execution_environment())


def test_an_unpicklable_key_selector_is_refused_too() -> None:
    lock = threading.Lock()
    stream = numbers()
    stream.key_by(lambda x: (lock, x)[1]).map(str).name("behind")
    with pytest.raises(SerializationError, match="'behind'"):
        check(stream.get_execution_environment())


class NeverPickled:
    def __reduce__(self) -> Any:
        raise RuntimeError("no way")


def test_whatever_pickling_raises_is_explained() -> None:
    stream = numbers()
    thing = NeverPickled()
    stream.map(lambda x: (thing, x)).name("odd")
    with pytest.raises(SerializationError, match=r"'odd'(?s:.*)no way"):
        check(stream.get_execution_environment())


def test_parallelism_above_the_key_groups_is_refused() -> None:
    env = environment()
    stream = env.from_sequence(1, 9).set_max_parallelism(4)
    line = here()
    stream.key_by(lambda x: x).map(str).name("wide").set_max_parallelism(4).set_parallelism(5)
    with pytest.raises(ProgramError) as caught:
        check(env)
    assert "'wide' has parallelism 5, more than its maximum parallelism 4" in str(caught.value)
    assert caught.value.location == line


@pytest.mark.parametrize("groups", [0, -1, 1 << 15 | 1, 2.0, "8"])
def test_no_number_of_key_groups_is_refused(groups: Any) -> None:
    with pytest.raises(ProgramError, match="1 to 32768"):
        numbers().map(str).set_max_parallelism(groups)


KEYED_ONLY = [
    "reduce", "sum", "min", "max", "min_by", "max_by", "window", "count_window", "time_window", "map_with_state",
    "flat_map_with_state", "filter_with_state",
]  # fmt: skip


@pytest.mark.parametrize("name", KEYED_ONLY)
def test_a_keyed_operation_on_an_unkeyed_stream_says_what_to_do(name: str) -> None:
    stream = numbers()
    assert hasattr(stream.key_by(lambda x: x), name)
    line = here()
    with pytest.raises(ProgramError, match=rf"{name}\(\) needs a keyed stream: call key_by\(\)") as caught:
        getattr(stream, name)
    assert (caught.value.location or "").startswith(line.rpartition(":")[0])


def test_other_unknown_attributes_are_pythons_business() -> None:
    with pytest.raises(AttributeError, match="'DataStream' object has no attribute 'summ'"):
        numbers().summ  # noqa: B018
    assert not hasattr(numbers(), "summ")


@pytest.mark.parametrize("name", ["shuffle", "rebalance", "rescale", "forward", "global_", "broadcast"])
def test_a_partitioner_on_a_keyed_stream_is_refused(name: str) -> None:
    keyed = numbers().key_by(lambda x: x)
    with pytest.raises(ProgramError, match=r"Cannot override partitioning for KeyedStream(?s:.*)test_refusals\.py:\d+"):
        getattr(keyed, name)()


def test_a_custom_partitioner_on_a_keyed_stream_is_refused() -> None:
    keyed = numbers().key_by(lambda x: x)
    with pytest.raises(ProgramError, match="Cannot override partitioning for KeyedStream"):
        keyed.partition_custom(lambda key, count: 0, lambda x: x)


def test_a_keyed_process_function_needs_a_keyed_stream() -> None:
    with pytest.raises(ProgramError, match=r"KeyedProcessFunction needs a keyed stream(?s:.*)test_refusals\.py:\d+"):
        numbers().process(Keyed())


WRONG: list[tuple[str, Callable[[Any], Any], str]] = [
    ("a class for map", lambda s: s.map(Double), r"map\(\) got the class Double itself; create an object.*Double\(\)"),
    ("a class for process", lambda s: s.process(Keyed), "got the class Keyed itself"),
    ("a class for add_sink", lambda s: s.add_sink(SinkFunction), "got the class SinkFunction itself"),
    ("a class for key_by", lambda s: s.key_by(First), r"key_by\(\) needs"),
    ("another kind of function", lambda s: s.filter(Double()), "needs a FilterFunction or a callable, not a Double"),
    ("no function for map", lambda s: s.map(3), r"map\(\) needs a MapFunction or a callable, not 3"),
    ("nothing for flat_map", lambda s: s.flat_map(None), r"flat_map\(\) needs a FlatMapFunction"),
    ("a callable for process", lambda s: s.process(lambda v: v), r"process\(\) needs a ProcessFunction, not"),
    ("a callable for add_sink", lambda s: s.add_sink(print), r"add_sink\(\) needs a SinkFunction, not"),
    ("a number for split", lambda s: s.split(3), r"split\(\) needs a callable, not 3"),
    ("no name for select", lambda s: s.split(str).select(), r"select\(\) needs one or more names"),
    ("a boolean key", lambda s: s.key_by(True), "not a boolean"),
    ("nothing for key_by", lambda s: s.key_by(None), r"key_by\(\) needs a callable, a KeySelector"),
    ("no state function", lambda s: s.key_by(str).map_with_state(3), r"map_with_state\(\) needs a callable, not 3"),
    ("a wrong field", lambda s: s.key_by(str).sum(1.5), r"sum\(\) needs a field index or a field name, not 1\.5"),
    ("a boolean field", lambda s: s.key_by(str).max(True), r"max\(\) needs a field index"),
    ("no stream for union", lambda s: s.union([1]), r"union\(\) needs streams, not \[1\]"),
    ("a foreign stream for union", lambda s: s.union(numbers()), "streams of one environment"),
    ("a name for a tag", lambda s: s.get_side_output("late"), r"get_side_output\(\) needs an OutputTag"),
    ("no strategy", lambda s: s.assign_timestamps_and_watermarks(3), r"assign_timestamps_and_watermarks\(\) needs"),
    ("no partitioner", lambda s: s.partition_custom(3, str), r"partition_custom\(\) needs a Partitioner or a callable"),
    ("no field for project", lambda s: s.project(), r"project\(\) needs one or more field indexes"),
    ("a negative field for project", lambda s: s.project(-1), r"project\(\) needs"),
    ("a negative buffer timeout", lambda s: s.set_buffer_timeout(-2), "buffer timeout must be -1"),
    ("a short uid hash", lambda s: s.set_uid_hash("abc"), "32 hexadecimal digits"),
    ("a parallel collection", lambda s: s.set_parallelism(2), "cannot run in parallel; its parallelism is 1"),
    ("a name for a union", lambda s: s.union(s).name("x"), r"name\(\) applies to a step(?s:.*)Call it on the step"),
    ("a uid for a keyed stream", lambda s: s.key_by(str).uid("x"), r"uid\(\) applies to a step"),
    ("a name for a partitioning", lambda s: s.rebalance().name("x"), r"name\(\) applies to a step"),
    ("a limit of zero", lambda s: s.execute_and_collect(limit=0), "must be positive, not 0"),
    ("a string as collection", lambda s: s.get_execution_environment().from_collection("abc"), "needs a list"),
    ("no collection", lambda s: s.get_execution_environment().from_collection(3), "needs a list"),
    ("a backward sequence", lambda s: s.get_execution_environment().from_sequence(5, 1), "must not lie before"),
    ("no source", lambda s: s.get_execution_environment().add_source(lambda ctx: None), "needs a SourceFunction"),
    ("a class as source", lambda s: s.get_execution_environment().add_source(SourceFunction), "got the class"),
    ("a missing file", lambda s: s.get_execution_environment().add_python_file("nowhere.py"), "there is no file"),
]  # fmt: skip


@pytest.mark.parametrize(("write", "message"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_it_is_refused_with_the_users_line(write: Callable[[Any], Any], message: str) -> None:
    stream = numbers()
    with pytest.raises(ProgramError, match=message) as caught:
        write(stream)
    assert caught.value.location == f"{__file__}:{write.__code__.co_firstlineno}"


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(ProgramError, match="No operators defined"):
        run_locally(environment())


class Text(str):
    """A callable class of the program's own."""


@pytest.mark.parametrize(
    "function", [int, str, Text, len, str.upper, "{}".format, [].append, MapFunction.__subclasses__]
)
def test_whatever_can_be_called_is_a_function(function: Any) -> None:
    stream = numbers()
    stream.map(function)
    stream.flat_map(function)
    stream.filter(function)
    stream.key_by(function)


def test_function_objects_are_accepted_for_their_kind() -> None:
    class Kept(FilterFunction):
        def filter(self, value: Any) -> bool:
            return True

    class Flat(FlatMapFunction):
        def flat_map(self, value: Any) -> Any:
            yield value

    class Sum(ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1 + value2

    class Pass(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value

    stream = numbers().map(Double()).filter(Kept()).flat_map(Flat()).process(Pass())
    stream.key_by(First()).process(Pass()).key_by(First()).process(Keyed()).key_by(First()).reduce(Sum())
    check(stream.get_execution_environment())


def test_a_program_beside_the_package_is_not_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory whose name only begins like the package's holds the user's code."""
    from penstock.vocabulary import program_checks as program

    package = program._PACKAGE.rstrip("/\\")
    source = compile("def refuse(stream):\n    stream.map(3)\n", f"{package}_jobs/job.py", "exec")
    names: dict[str, Any] = {}
    exec(source, names)
    with pytest.raises(ProgramError) as caught:
        names["refuse"](numbers())
    assert caught.value.location == f"{package}_jobs/job.py:2"


def test_asking_whether_a_stream_has_a_method_raises_nothing() -> None:
    numbers = environment().from_collection([1])
    assert not hasattr(numbers, "reduce")
    assert getattr(numbers, "window", None) is None
    assert hasattr(numbers.key_by(lambda value: value), "reduce")
