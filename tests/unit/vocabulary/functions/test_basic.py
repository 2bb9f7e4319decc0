"""User functions: life cycle, runtime context, the two forms of a flat join."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.functions import basic as functions
from penstock.vocabulary.functions import broadcast as broadcast_functions
from penstock.vocabulary.functions import process as process_functions
from penstock.vocabulary.functions import rich as rich_functions
from penstock.vocabulary.functions import windowed as window_functions
from penstock.vocabulary.functions.basic import (
    FlatJoinFunction,
    Function,
    MapFunction,
    NullByteKeySelector,
    ReduceFunctionWrapper,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.vocabulary.functions.basic import Collector

CONTEXT: Any = object()


class Doubler(MapFunction[int, int]):
    def __init__(self) -> None:
        self.factor = 2  # deliberately without super().__init__(), as users write it

    def map(self, value: int) -> int:
        return value * self.factor


def test_ric_06_the_runtime_context_is_refused_before_it_is_set() -> None:
    with pytest.raises(ProgramError, match=r"The runtime context has not been initialized\..*Doubler.*open\(\)"):
        Doubler().get_runtime_context()


def test_the_runtime_context_is_there_once_it_is_set() -> None:
    function = Doubler()
    function.set_runtime_context(CONTEXT)
    assert function.get_runtime_context() is CONTEXT


def test_a_pickled_function_keeps_its_fields_and_not_its_runtime_context() -> None:
    function = Doubler()
    function.factor = 3
    function.set_runtime_context(CONTEXT)
    copy = pickle.loads(pickle.dumps(function))
    assert copy.map(5) == 15
    with pytest.raises(ProgramError):
        copy.get_runtime_context()


def test_open_and_close_are_optional() -> None:
    function = Doubler()
    function.open(CONTEXT)
    function.close()
    assert function.map(1) == 2


def test_an_element_method_is_not_optional() -> None:
    class Incomplete(MapFunction[int, int]):
        pass

    with pytest.raises(TypeError, match="map"):
        Incomplete()  # type: ignore[abstract]


def test_all_rich_functions_are_the_functions_of_the_same_name() -> None:
    for name in rich_functions.__all__:
        plain = getattr(functions, name.removeprefix("Rich"))
        assert issubclass(getattr(rich_functions, name), plain)


@pytest.mark.parametrize("module", [functions, process_functions, broadcast_functions, window_functions])
def test_all_user_functions_have_the_life_cycle(module: Any) -> None:
    classes = [getattr(module, name) for name in module.__all__ if name.endswith(("Function", "Selector"))]
    assert classes
    assert all(issubclass(each, Function) for each in classes)


def test_the_null_byte_selector_gives_every_record_one_key() -> None:
    assert {NullByteKeySelector().get_key(value) for value in ("a", 1, None)} == {0}


def test_a_wrapped_callable_reduces() -> None:
    assert ReduceFunctionWrapper(lambda a, b: a + b).reduce(2, 3) == 5


def test_only_a_callable_can_be_wrapped() -> None:
    with pytest.raises(TypeError, match="called"):
        ReduceFunctionWrapper(3)


def test_a_wrapper_passes_the_life_cycle_on() -> None:
    calls: list[str] = []

    class Callable(Function):
        def open(self, runtime_context: Any) -> None:
            assert self.get_runtime_context() is runtime_context
            calls.append("open")

        def close(self) -> None:
            calls.append("close")

        def __call__(self, first: int, second: int) -> int:
            return max(first, second)

    wrapper = ReduceFunctionWrapper(Callable())
    wrapper.set_runtime_context(CONTEXT)
    wrapper.open(CONTEXT)
    wrapper.close()
    assert calls == ["open", "close"]


class YieldingJoin(FlatJoinFunction[int, int, int]):
    def join(self, first: int, second: int) -> Iterable[int]:
        yield first + second
        yield first * second


class CollectingJoin(FlatJoinFunction[int, int, int]):
    def join(self, first: int, second: int, out: Collector[int]) -> None:  # type: ignore[override]
        out.collect(first + second)
        out.collect(first * second)


class SilentJoin(FlatJoinFunction[int, int, int]):
    def join(self, first: int, second: int) -> None:
        return None


@pytest.mark.parametrize(
    ("function", "expected"), [(YieldingJoin(), [5, 6]), (CollectingJoin(), [5, 6]), (SilentJoin(), [])]
)
def test_a_flat_join_yields_or_collects(function: FlatJoinFunction[int, int, int], expected: list[int]) -> None:
    assert list(function.join_pair(2, 3)) == expected
