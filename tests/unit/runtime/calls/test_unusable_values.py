"""What functions hand over and nobody can use is refused: with the step, the function, its line and the value.

No message shows a line of Penstock.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock import (
    AsyncDataStream,
    AsyncFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    Time,
)
from tests.unit.local_jobs import environment, run_locally
from tests.unit.runtime.calls.unusable_jobs import check, explained, keyed, pairs

# -- exchanges, side outputs, state


class Pointing(Partitioner):
    def __init__(self, target: Any) -> None:
        self.target = target

    def partition(self, key: Any, num_partitions: int) -> Any:
        return self.target


@pytest.mark.parametrize("target", [None, 1.0, "1", True, 9, -1], ids=repr)
def test_partitioners_that_point_nowhere(target: Any) -> None:
    env = environment(2)
    stream = env.from_collection([("a", 1)]).name("the step").partition_custom(Pointing(target), lambda r: r[0])
    shown = "None" if target is None else f"{target!r} ({type(target).__name__})"
    check(
        explained(stream.map(str)),
        "partition_custom() before Map",
        Pointing.partition,
        f"The partitioner returned {shown}",
        "0 to 1",
    )


def test_partitioners_may_use_numbers_of_numpy() -> None:
    env = environment(2)
    env.from_collection([("a", 1)]).partition_custom(Pointing(np.int64(1)), lambda r: r[0]).print()
    assert run_locally(env).printed == ["2> ('a', 1)"]


class SideOutput(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.output("late", value)


def test_side_outputs_without_a_tag() -> None:
    OutputTag("late")
    error = explained(pairs(environment()).process(SideOutput()).name("the step"))
    check(error, "the step", SideOutput(), "named by an OutputTag, not by 'late' (str)", 'ctx.output("late", value)')


def with_state(record: Any, state: Any) -> Any:
    return 5


@pytest.mark.parametrize("kind", ["map_with_state", "flat_map_with_state", "filter_with_state"])
def test_functions_with_state_that_return_no_pair(kind: str) -> None:
    error = explained(getattr(keyed(environment()), kind)(with_state).name("the step"))
    check(error, "the step", with_state, "returned 5 (int), but it returns a pair")


# -- batches


@pytest.mark.parametrize("result", [5, None, [1], np.float64(3.5), np.array(3)], ids=repr)
def test_batches_of_another_length(result: Any) -> None:
    def whole(batch: Any) -> Any:
        return result

    check(explained(pairs(environment()).map_batches(whole).name("the step")), "the step", whole, "returned")


# -- asynchronous functions


class Asking(AsyncFunction):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def async_invoke(self, value: Any) -> Any:
        return self.answer


class NotAsking(Asking):
    def async_invoke(self, value: Any) -> Any:  # type: ignore[override]
        return self.answer


@pytest.mark.parametrize("answer", [None, 5, "text", {"a": 1}], ids=repr)
def test_asynchronous_functions_that_return_no_list(answer: Any) -> None:
    stream = AsyncDataStream.unordered_wait(pairs(environment()), Asking(answer), Time.seconds(5), 1)
    error = explained(stream.name("the step"))
    shown = "None" if answer is None else f"{answer!r} ({type(answer).__name__})"
    check(error, "the step", Asking.async_invoke, f"async_invoke() of an AsyncFunction returned {shown}")
    assert error.record == "('a', 1)"


def test_asynchronous_functions_that_are_not() -> None:
    stream = AsyncDataStream.unordered_wait(pairs(environment()), NotAsking([1]), Time.seconds(5), 1)
    check(explained(stream.name("the step")), "the step", NotAsking.async_invoke, "[1] (list), which cannot be awaited")
