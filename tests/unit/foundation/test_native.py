"""The accelerator in C does what its twins in Python do."""

from __future__ import annotations

import gc
import inspect
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Types, ValueState, ValueStateDescriptor
from penstock.errors import StateAccessError
from penstock.foundation.keys.groups import TargetCache
from penstock.foundation.native import VARIABLE, accelerator, native
from penstock.runtime.calls import record_calls, value_calls
from penstock.runtime.calls.context_access import ContextAccess
from penstock.runtime.exchange import partitioners
from penstock.runtime.interpreter_tricks.handover import handed_over
from penstock.runtime.task.report import report_task
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from tests.unit.local_jobs import environment, local_run

IS_OFF = os.environ.get(VARIABLE) == "off"
needs_native = pytest.mark.skipif(native is None, reason="the accelerator is not in use")


CAN_BE_BUILT = shutil.which(os.environ.get("CC", "cc")) and Path(sysconfig.get_path("include"), "Python.h").exists()


@pytest.mark.skipif(IS_OFF or not CAN_BE_BUILT, reason="not wanted, or no C compiler, or no headers of Python")
def test_it_is_in_use_where_it_can_be_built() -> None:
    assert native is not None


def test_it_can_be_switched_off() -> None:
    program = "from penstock.foundation.native import native; print(native)"
    variables = os.environ | {VARIABLE: "off"}
    said = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True)
    assert said.stdout == "None\n"


SAYS = """
from penstock.foundation.native import accelerator, native
import penstock.runtime.time.timers

print(native, accelerator)
"""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("INTERFACE = 3", "of another version than penstock (interface 3, needed is "),
        ("", "of another version than penstock (interface None, needed is "),
        ("import nowhere_to_be_found", "cannot be imported: No module named 'nowhere_to_be_found'"),
    ],
)
def test_one_that_cannot_be_used_is_told_of_once(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "penstock_native.py").write_text(content)
    search_path = os.pathsep.join([str(tmp_path), *sys.path])
    variables = {name: value for name, value in os.environ.items() if name != VARIABLE} | {"PYTHONPATH": search_path}
    done = subprocess.run([sys.executable, "-c", SAYS], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"None {said}")
    assert done.stderr.count("The accelerator is not in use") == 1
    assert said in done.stderr


def test_a_task_reports_whether_it_is_in_use() -> None:
    env = environment()
    env.from_collection([1]).map(lambda value: value).print()
    run = local_run(env)
    reports = [report for task in run.tasks for report in report_task(task)["subtasks"].values()]
    assert {report["accelerator"] for report in reports} == {accelerator}


def test_the_extra_names_the_accelerator_of_this_version() -> None:
    root = Path(__file__).parents[3]
    penstock, its_accelerator = (
        tomllib.loads((root / directory / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for directory in (".", "native")
    )
    assert penstock["optional-dependencies"]["native"] == [f"{its_accelerator['name']}=={its_accelerator['version']}"]
    assert its_accelerator["version"] == penstock["version"]
    assert its_accelerator["requires-python"] == penstock["requires-python"]


STORES = """
import hashlib
from penstock import Types, ValueStateDescriptor
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend

keys = KeyContext()
backend = HeapStateBackend(keys)
state = backend.value_state(ValueStateDescriptor("count", Types.LONG()))
for keys.key in range(100):
    state.update((state.value() or 0) + keys.key)
parts = []
backend.snapshot(range(128), 128).encode(parts.extend)
print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


@needs_native
def test_state_is_stored_alike() -> None:
    """What was stored with the accelerator can be restored without it: it is the same, byte by byte."""
    found = set()
    for wanted in ("on", "off"):
        variables = os.environ | {VARIABLE: wanted}
        said = subprocess.run([sys.executable, "-c", STORES], env=variables, capture_output=True, text=True, check=True)
        found.add(said.stdout)
    assert len(found) == 1
    assert len(found.pop()) == 65


def context_of(keys: KeyContext) -> Any:
    return ContextAccess(None, None, keys)  # type: ignore[arg-type]


def called_for_each(
    call: Any,
    values: Any,
    timestamps: Any,
    context: Any,
    record_keys: Any,
    keys: KeyContext,
    call_for_each: Any = record_calls.call_for_each,
) -> tuple[list[Any], list[int] | None]:
    results: list[Any] = []
    times: list[int] | None = None if timestamps is None else []
    left = call_for_each(call, values, timestamps, context, record_keys, keys, results, times, protects=True)
    assert left is None
    return results, times


class Program:
    """A function of every shape: it yields, returns a list, a tuple or nothing, and notes what it sees."""

    def __init__(self, keys: KeyContext) -> None:
        self.keys, self.seen = keys, list[Any]()

    def __call__(self, value: int, context: Any) -> Any:
        self.seen.append((value, context.timestamp(), self.keys.current()))
        return (None, [value, value], (value,), self._some(value), iter(()))[value % 5]

    def _some(self, value: int) -> Iterator[int]:
        yield from range(value)


RUNS = st.lists(st.tuples(st.integers(0, 14), st.integers(-5, 5)), max_size=30)


@needs_native
@given(RUNS, st.booleans(), st.booleans())
def test_records_are_put_through_a_function_alike(run: list[tuple[int, int]], is_timed: bool, is_keyed: bool) -> None:
    found = []
    for call_for_each in (record_calls._call_for_each, record_calls._call_for_each_natively):
        keys = KeyContext()
        program = Program(keys)
        values, timestamps = [value for value, _ in run], [time for _, time in run] if is_timed else None
        record_keys = [value % 3 for value in values] if is_keyed else None
        results = called_for_each(program, values, timestamps, context_of(keys), record_keys, keys, call_for_each)
        found.append((results, program.seen, keys.current()))
    assert found[0] == found[1]


KEYS = st.one_of(
    st.integers(0, 20),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1]),
    st.text(),
    st.tuples(st.integers(), st.text()),
    st.floats(allow_nan=False),
    st.none(),
)


@needs_native
@given(st.lists(KEYS), st.booleans())
def test_records_are_spread_alike(keys: list[Any], is_timed: bool) -> None:
    found = []
    for spread in (partitioners._spread_in_python, native.spread_by_key):
        cache = TargetCache(3, 120)
        runs: list[list[Any]] = [[], [], []]
        times: list[list[int]] = [[], [], []]
        values = [(key,) for key in keys]
        spread(values, iter(keys), list(range(len(keys))) if is_timed else None, cache, 120, runs, times)
        found.append((runs, times))
    assert found[0] == found[1]


@needs_native
def test_timers_that_are_deleted_or_added_while_others_fire() -> None:
    found = []
    for call_for_timers in (record_calls._call_for_timers, record_calls._call_for_timers_natively):
        keys = KeyContext()
        bucket: dict[Any, None] = {("a", None): None, ("b", None): None, ("c", None): None}

        def on_timer(timestamp: int, context: Any, keys: Any = keys, bucket: Any = bucket) -> Any:
            bucket.pop(("b", None), None)
            bucket["d", None] = None
            yield keys.key, context.timestamp(), timestamp

        results: list[Any] = []
        times: list[int] = []
        call_for_timers(on_timer, 7, bucket, context_of(keys), keys, results, times, protects=True)
        found.append((results, times, bucket))
    assert found[0] == found[1] == ([("a", 7, 7), ("c", 7, 7)], [7, 7], {("d", None): None})


class Refusing:
    """A function that raises for one record, at once or while it yields."""

    def __init__(self, *, late: bool) -> None:
        self.late = late

    def __call__(self, value: int, context: Any) -> Any:
        if value == 3 and not self.late:
            raise ValueError("three")
        return self._results(value)

    def _results(self, value: int) -> Iterator[int]:
        yield value
        if value == 3:
            raise ValueError("three")


@needs_native
@pytest.mark.parametrize("late", [False, True])
def test_a_failure_names_its_record(late: bool) -> None:
    keys = KeyContext()
    failed: list[Any] = []
    results: list[Any] = []
    arguments = (None, keys, KeyContext, context_of(keys), results, None, failed, True)
    with pytest.raises(ValueError, match="three"):
        native.call_for_each(Refusing(late=late), [1, 2, 3, 4], iter("abcd"), *arguments)
    assert (failed, keys.key, results) == ([3], "c", [1, 2, 3] if late else [1, 2])


@needs_native
@pytest.mark.parametrize(
    "wrong",
    [{0: 5}, {1: (1, 2)}, {2: 7}, {2: iter("a")}, {2: ["a"]}, {3: [1]}, {4: object()}, {5: 3}, {7: ()}, {9: None}],
    ids=["call", "values", "keys", "few keys", "short list of keys", "few times", "cell", "class", "results", "failed"],
)
def test_wrong_arguments_are_refused(wrong: dict[int, Any]) -> None:
    keys = KeyContext()
    arguments: list[Any] = [lambda *_: None, [1, 2], iter("ab"), None, keys, KeyContext, context_of(keys), [], [], []]
    arguments.append(True)
    for position, value in wrong.items():
        arguments[position] = value
    with pytest.raises((TypeError, ValueError)):
        native.call_for_each(*arguments)


def test_listeners_hear_of_every_key() -> None:
    keys = KeyContext()
    heard: list[Any] = []
    keys.listen(lambda: heard.append(keys.key))
    called_for_each(lambda *_: None, [1, 2], None, context_of(keys), ["a", "b"], keys)
    assert heard == ["a", "b"]


def test_without_a_key_state_and_contexts_say_so() -> None:
    keys = KeyContext()
    state = HeapStateBackend(keys).value_state(ValueStateDescriptor("count", Types.LONG()))
    keys.key = 1
    state.update(5)
    assert (state.value(), context_of(keys).get_current_key()) == (5, 1)
    keys.forget()
    keys.forget()
    for use in (state.value, lambda: state.update(1), lambda: state.update(None), context_of(keys).get_current_key):
        with pytest.raises(StateAccessError, match="no current key"):
            use()


def test_keys_that_cannot_be_hashed_or_compared() -> None:
    class Incomparable:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise ArithmeticError

    keys = KeyContext()
    state = HeapStateBackend(keys).value_state(ValueStateDescriptor("count", Types.LONG()))
    keys.key = []
    with pytest.raises(TypeError, match="unhashable"):
        state.value()
    with pytest.raises(TypeError, match="unhashable"):
        state.update(1)
    keys.key = Incomparable()
    state.update(1)
    keys.key = Incomparable()
    with pytest.raises(ArithmeticError):
        state.value()


def test_handles_and_contexts_are_collected() -> None:
    keys = KeyContext()
    state = HeapStateBackend(keys).value_state(ValueStateDescriptor("count", Types.LONG()))
    keys.key = 1
    state.update([state])  # a circle
    gone = weakref.ref(state)
    del state, keys
    gc.collect()
    assert gone() is None


@needs_native
def test_nothing_is_kept_of_records() -> None:
    keys = KeyContext()
    program = Program(keys)
    values = [object() for _ in range(3)]
    before = [sys.getrefcount(value) for value in values]
    called_for_each(lambda value, _: [value], values, None, context_of(keys), iter(values), keys)
    keys.forget()
    del program
    assert [sys.getrefcount(value) for value in values] == before


@needs_native
@pytest.mark.parametrize("timestamps", [None, [1, 2]])
def test_records_that_nobody_else_has_are_not_copied(timestamps: list[int] | None) -> None:
    values: list[Any] = [{"a": 1}, {"b": [2]}]
    before = list(map(id, values))
    kept: list[Any] = []
    times: list[int] | None = None if timestamps is None else []
    value_calls.filter_each(lambda _: True, values, timestamps, kept, times, handed_over)
    mapped: list[Any] = []
    value_calls.map_each(lambda value: value, values, mapped, handed_over)
    assert (list(map(id, kept)), times) == (before, timestamps)
    assert [id(value) != known for value, known in zip(mapped, before, strict=True)] == [True, True]


@needs_native
def test_a_run_that_changes_under_the_function() -> None:
    keys = KeyContext()
    values = [1, 2, 3]
    with pytest.raises(ValueError, match="changed"):
        called_for_each(lambda *_: values.clear(), values, None, context_of(keys), iter("abc"), keys)

    def shortening() -> Iterator[str]:
        yield "a"
        values.clear()
        yield "b"

    for run in (
        lambda: called_for_each(lambda *_: None, values, None, context_of(keys), shortening(), keys),
        lambda: native.spread_by_key(values, shortening(), None, TargetCache(1, 128), 128, [[]], [[]]),
    ):
        values[:] = [1, 2, 3]
        with pytest.raises(ValueError, match="changed"):
            run()
    with pytest.raises(IndexError):
        native.spread_by_key([1], ["a"], [1], TargetCache(1, 128), 128, [[]], [])


def test_a_key_selector_that_raises_stop_iteration_ends_nothing_silently() -> None:
    keys = KeyContext()

    def selector(value: int) -> int:
        raise StopIteration

    with pytest.raises(ValueError, match=r"keys|argument"):
        called_for_each(lambda *_: None, [1], None, context_of(keys), map(selector, [1]), keys)


def test_results_of_an_object_that_clears_them_in_the_end() -> None:
    class Results:
        def __init__(self) -> None:
            self.items = [1, 2, 3]

        def __iter__(self) -> Iterator[int]:
            return iter(self.items)

        def __del__(self) -> None:
            self.items.clear()

    keys = KeyContext()
    found = called_for_each(lambda *_: Results(), [0], None, context_of(keys), ["a"], keys)
    assert found == ([1, 2, 3], None)


def test_state_is_updated_by_keyword_and_has_a_signature() -> None:
    keys = KeyContext()
    state: Any = HeapStateBackend(keys).value_state(ValueStateDescriptor("count", Types.LONG()))
    keys.key = 1
    state.update(value=3)
    assert state.value() == 3
    assert list(inspect.signature(state.update).parameters) == ["value"]
    assert isinstance(state, ValueState)
    state.clear()
    assert state.value() is None
    for wrong in (state.update, lambda: state.update(1, 2), lambda: state.update(other=1)):
        with pytest.raises(TypeError):
            wrong()


def test_namespaces_are_apart() -> None:
    keys = KeyContext()
    keys.key = 1
    state: Any = HeapStateBackend(keys).value_state(ValueStateDescriptor("count", Types.LONG()), "a")
    state.update(1)
    state.set_namespace("b")
    assert state.value() is None
    state.set_namespace("a")
    assert state.value() == 1
