"""Functions whose last act is to yield make no generator any more; all others stay as they are."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from penstock import KeyedProcessFunction, OutputTag, ProcessFunction, UserFunctionError
from penstock.runtime.interpreter_tricks.last_yield import returning
from tests.unit.local_jobs import environment, results, run_locally


class Program:
    """Functions of many shapes."""

    limit = 2

    def one(self, value: int) -> Iterator[int]:
        yield value

    def sometimes(self, value: int) -> Iterator[tuple[int, int]]:
        if value > self.limit:
            yield value, self.limit

    def one_of_two(self, value: int) -> Iterator[int]:
        if value > self.limit:
            yield value
        else:
            yield -value

    def early_return(self, value: int) -> Iterator[int]:
        if value == 1:
            return
        doubled = value * 2
        yield doubled

    def nothing_as_a_result(self, value: int) -> Iterator[None]:
        yield None

    def with_a_closure(self, value: int) -> Iterator[int]:
        add = lambda more: value + more  # noqa: E731
        yield add(self.limit)

    def with_defaults(self, value: int, *, factor: int = 3) -> Iterator[int]:
        yield value * factor

    def loop_before(self, value: int) -> Iterator[int]:
        total = 0
        for number in range(value):
            total += number
        yield total


class Kept:
    """Functions that do something after a yield."""

    def __init__(self) -> None:
        self.calls = 0

    def counts(self, value: int) -> Iterator[int]:
        yield value
        self.calls += 1

    def loop(self, value: int) -> Iterator[int]:
        for number in range(value):  # noqa: UP028 - a loop is meant here
            yield number

    def first_of_loop(self, value: int) -> Iterator[int]:
        for number in range(value, value + 3):
            if number > 2:
                yield number
                return

    def two(self, value: int) -> Iterator[int]:
        yield value
        yield value

    def within_try(self, value: int) -> Iterator[int]:
        try:
            yield value
        finally:
            self.calls += 1

    def within_with(self, value: int) -> Iterator[int]:
        with suppress(ValueError):
            yield value

    def from_other(self, value: int) -> Iterator[int]:
        yield from range(value)

    def uses_what_is_sent(self, value: int) -> Iterator[Any]:
        sent = yield value
        self.calls += sent is None

    def returns_something_else(self, value: int) -> Any:
        if value < 2:
            return [value, "x"]
        yield value

    def returns_false(self, value: int) -> Any:
        if value < 2:
            return False
        yield value

    def returns_a_value(self, value: int) -> Any:
        yield value
        return value


def methods(kind: type) -> list[str]:
    return [name for name in vars(kind) if callable(getattr(kind, name)) and not name.startswith("_")]


def listed(found: Any) -> list[Any]:
    return [] if found is None else list(found)


@pytest.mark.parametrize("name", methods(Program))
def test_the_results_are_the_same_without_a_generator(name: str) -> None:
    call = getattr(Program(), name)
    made = returning(call)
    assert made.__name__ == name
    for value in range(5):
        found = made(value)
        assert found is None or type(found) is tuple
        assert listed(found) == listed(call(value))


@pytest.mark.parametrize("name", [name for name in methods(Kept) if name != "returns_a_value"])
def test_what_follows_a_yield_is_done(name: str) -> None:
    changed, plain = Kept(), Kept()
    made = returning(getattr(changed, name))
    assert [listed(made(value)) for value in range(5)] == [listed(getattr(plain, name)(value)) for value in range(5)]
    assert changed.calls == plain.calls
    assert type(made(1)).__name__ == "generator"


def test_a_generator_that_returns_a_value() -> None:
    assert listed(returning(Kept().returns_a_value)(3)) == [3]


class Called:
    def __call__(self, value: int) -> Iterator[int]:
        yield value


@pytest.mark.parametrize(
    "call", [str.split, Called(), functools.partial(Program.one, None), lambda value: [value], list]
)
def test_other_callables_stay_as_they_are(call: Callable[..., Any]) -> None:
    assert returning(call) is call


async def _coroutine(value: int) -> int:
    return value


async def _asynchronous(value: int) -> Any:
    yield value


@pytest.mark.parametrize("call", [_coroutine, _asynchronous])
def test_functions_of_event_loops_stay_as_they_are(call: Callable[..., Any]) -> None:
    assert returning(call) is call


def failing(value: int) -> Iterator[int]:
    wanted = 7 // value
    yield wanted


def test_tracebacks_show_the_function_with_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        listed(returning(failing)(0))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.name, last.lineno, last.filename) == ("failing", failing.__code__.co_firstlineno + 1, __file__)


class Stops(KeyedProcessFunction[int, int, int]):
    """Takes from an iterator that has ended."""

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        taken = next(iter(()), None) if value < 2 else next(iter(()))
        yield value if taken is None else taken


def test_a_function_that_raises_stop_iteration_is_explained() -> None:
    env = environment()
    env.from_collection([1, 2]).key_by(lambda value: value).process(Stops()).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert "Stops" in caught.value.function
    assert "StopIteration" in caught.value.error
    assert caught.value.record == "2"


def test_a_plain_function_that_raises_stop_iteration_is_explained() -> None:
    env = environment()
    env.from_collection([1, 2]).map(lambda value: value if value < 2 else next(iter(()))).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert "StopIteration" in caught.value.error
    assert caught.value.record == "2"


TAG = OutputTag("words")


class Feeds(ProcessFunction[list[str], str]):
    """Ends its loop when an iterator ends, as it thinks."""

    def process_element(self, value: list[str], ctx: ProcessFunction.Context) -> Any:
        texts = iter(value)
        while True:
            try:
                ctx.output(TAG, next(texts))
            except StopIteration:
                return []


def first_word(text: str) -> Iterator[str]:
    word = next(word for word in text.split() if word)
    yield word


def test_nobody_upstream_takes_it_for_the_end_of_something() -> None:
    """Without an exchange, what a function fails with passes through the functions before it."""
    env = environment()
    stream = env.from_collection([["a b", "", "c"]]).process(Feeds())
    stream.get_side_output(TAG).flat_map(first_word).print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert "first_word" in caught.value.function


class Doubles(KeyedProcessFunction[int, int, int]):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        if value % 2:
            yield 2 * value


def test_a_job() -> None:
    stream = environment().from_collection([1, 2, 3]).key_by(lambda value: value).process(Doubles())
    assert sorted(results(stream)) == [2, 6]
