"""Asynchronous requests: order, watermarks, capacity, timeouts, retries, checkpoints, failures."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock.api.async_data_stream import AsyncDataStream
from penstock.errors import ProgramError, UserFunctionError
from penstock.graph.steps import AsyncWaitStep
from penstock.runtime.async_io.wait import AsyncWaitOperator
from penstock.testing import OperatorHarness
from penstock.vocabulary.functions.async_retry import (
    AsyncRetryStrategy,
    empty_result_predicate,
    has_exception_predicate,
)
from penstock.vocabulary.functions.asynchronous import AsyncFunction
from penstock.vocabulary.time.durations import Time
from tests.unit.runtime.task.stream_bench import collected, environment, timed

PATIENCE = 60


class Answers(AsyncFunction[Any, Any]):
    """Answers a record when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.has_asked = threading.Condition()
        self.events: dict[Any, asyncio.Event] = {}

    async def async_invoke(self, value: Any) -> list[Any]:
        event = self.events[value] = asyncio.Event()
        with self.has_asked:
            self.asked.append(value)
            self.has_asked.notify_all()
        await event.wait()
        return [f"answer {value}"]

    def wait_for(self, *values: Any) -> None:
        with self.has_asked:
            assert self.has_asked.wait_for(lambda: set(values) <= set(self.asked), PATIENCE)


class Bench:
    """An operator whose requests the test answers one by one."""

    def __init__(self, *, is_ordered: bool, capacity: int = 10, function: Any = None, **settings: Any) -> None:
        self.function = function or Answers()
        step = AsyncWaitStep(
            function=self.function,
            timeout=settings.get("timeout", 0),
            capacity=capacity,
            retry_strategy=settings.get("retry_strategy", AsyncRetryStrategy.no_restart()),
            is_ordered=is_ordered,
        )
        self.harness = OperatorHarness.for_step(step)
        operator = self.harness.operator
        assert isinstance(operator, AsyncWaitOperator)
        self.operator = operator

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: Any) -> None:
        self.harness.close()

    def answer(self, value: Any) -> None:
        """Let a request be answered, and hand the answer to the operator."""
        self.function.wait_for(value)
        assert self.operator._thread is not None
        self.operator._thread._loop.call_soon_threadsafe(self.function.events[value].set)
        self.take()

    def take(self) -> None:
        assert self.operator._has_answers.wait(PATIENCE)
        self.harness.advance(0)


def test_ordered_answers_wait_for_those_before_them() -> None:
    with Bench(is_ordered=True) as bench:
        for number in (1, 2, 3):
            bench.harness.push(number, number * 10)
        bench.answer(2)
        assert bench.harness.outputs == []
        bench.answer(1)
        assert bench.harness.outputs == [("answer 1", 10), ("answer 2", 20)]
        bench.answer(3)
        assert bench.harness.outputs[2:] == [("answer 3", 30)]


def test_unordered_answers_come_out_at_once() -> None:
    with Bench(is_ordered=False) as bench:
        for number in (1, 2, 3):
            bench.harness.push(number, number * 10)
        bench.answer(2)
        bench.answer(3)
        assert bench.harness.outputs == [("answer 2", 20), ("answer 3", 30)]
        bench.answer(1)
        assert bench.harness.outputs[2:] == [("answer 1", 10)]


@pytest.mark.parametrize("is_ordered", [True, False])
def test_watermarks_neither_overtake_nor_are_overtaken(is_ordered: bool) -> None:
    with Bench(is_ordered=is_ordered) as bench:
        harness = bench.harness
        harness.push(1, 10)
        harness.push_watermark(15)
        harness.push(2, 20)
        harness.push_watermark(25)
        harness.push_status(is_idle=True)
        bench.answer(2)
        assert (harness.outputs, harness.watermarks, harness.statuses) == ([], [], [])
        bench.answer(1)
        assert harness.values == ["answer 1", "answer 2"]
        assert harness.watermarks == [15, 25]
        assert harness.statuses == [True]


def test_a_watermark_with_nothing_before_it_passes() -> None:
    with Bench(is_ordered=False) as bench:
        bench.harness.push_watermark(5)
        assert bench.harness.watermarks == [5]


def test_no_more_requests_than_the_capacity_run_at_once() -> None:
    with Bench(is_ordered=False, capacity=2) as bench:
        bench.harness.push_run([(number, number) for number in range(4)])
        bench.harness.push_watermark(100)
        bench.function.wait_for(0, 1)
        assert bench.operator.is_full
        assert bench.operator.is_waiting
        assert bench.function.asked == [0, 1]
        bench.answer(0)
        bench.function.wait_for(2)
        assert bench.operator.is_full
        bench.answer(1)
        bench.function.wait_for(3)
        assert not bench.operator.is_full
        bench.answer(2)
        assert bench.harness.watermarks == []
        bench.answer(3)
        assert bench.harness.watermarks == [100]
        assert not bench.operator.is_waiting


def test_the_end_of_input_waits_for_all_answers() -> None:
    class Slow(AsyncFunction[Any, Any]):
        async def async_invoke(self, value: int) -> list[int]:
            for _ in range(10 - value):
                await asyncio.sleep(0)
            return [value, -value]

    with Bench(is_ordered=True, capacity=3, function=Slow()) as bench:
        for number in range(1, 9):
            bench.harness.push(number, number)
        bench.harness.end()
        assert bench.harness.values == [sign * number for number in range(1, 9) for sign in (1, -1)]


class Never(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.Event().wait()
        return []


class NeverButFallback(Never):
    def timeout(self, value: Any) -> list[Any]:
        return [f"no answer for {value}"]


def test_timeout_gives_the_fallback() -> None:
    with Bench(is_ordered=True, function=NeverButFallback(), timeout=5) as bench:
        bench.harness.push("x", 7)
        bench.harness.end()
        assert bench.harness.outputs == [("no answer for x", 7)]


def test_without_fallback_a_timeout_fails_the_job() -> None:
    with Bench(is_ordered=True, function=Never(), timeout=5) as bench:
        bench.harness.push("x")
        with pytest.raises(TimeoutError, match="'x' timed out"):
            bench.harness.end()


class Flaky(AsyncFunction[Any, Any]):
    """Fails, then gives nothing, then answers."""

    def __init__(self) -> None:
        self.attempts = 0

    async def async_invoke(self, value: Any) -> list[Any]:
        self.attempts += 1
        if self.attempts == 1:
            raise ConnectionError("busy")
        return [value] if self.attempts > 2 else []


def test_requests_are_made_again_as_the_strategy_says() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, empty_result_predicate, has_exception_predicate)
    function = Flaky()
    with Bench(is_ordered=True, function=function, retry_strategy=strategy) as bench:
        bench.harness.push("x")
        bench.harness.end()
        assert bench.harness.values == ["x"]
        assert function.attempts == 3


def test_when_the_attempts_are_used_up_the_last_outcome_counts() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(1, 1, empty_result_predicate, has_exception_predicate)
    with Bench(is_ordered=True, function=Flaky(), retry_strategy=strategy) as bench:
        bench.harness.push("x")
        bench.harness.end()
        assert bench.harness.values == []


def test_without_retries_a_failure_is_raised() -> None:
    with Bench(is_ordered=True, function=Flaky()) as bench:
        bench.harness.push("x")
        with pytest.raises(ConnectionError, match="busy"):
            bench.harness.end()


@pytest.mark.parametrize("is_ordered", [True, False])
def test_records_without_an_emitted_answer_are_part_of_a_snapshot(is_ordered: bool) -> None:
    with Bench(is_ordered=is_ordered, capacity=3) as bench:
        for number in range(1, 6):
            bench.harness.push(number, number * 10)
        bench.harness.push_watermark(60)
        bench.answer(1)
        bench.answer(3)
        bench.harness.operator.snapshot(1)
        snapshot = bench.harness.operator.context.operator_state.snapshot()
        expected = [(2, 20), (3, 30), (4, 40), (5, 50)] if is_ordered else [(2, 20), (4, 40), (5, 50)]
        assert snapshot.lists == {"async-wait": expected}
    function = Answers()
    again = AsyncWaitOperator(bench.operator.step)
    again.function = function
    bench.operator.context.operator_state.restore(snapshot)
    again.setup(bench.operator.context, bench.operator.output)
    again.open()
    try:
        function.wait_for(*[value for value, _ in expected][:3])
        assert bench.operator.context.operator_state.snapshot().lists == {"async-wait": []}
        again.snapshot(2)
        assert bench.operator.context.operator_state.snapshot().lists == {"async-wait": expected}
    finally:
        again.close()


def test_the_function_is_opened_and_closed_inside_of_the_event_loop() -> None:
    calls = []

    class Connecting(AsyncFunction[Any, Any]):
        async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            calls.append(("open", asyncio.get_running_loop().is_running()))

        def close(self) -> None:
            calls.append(("close", asyncio.get_running_loop().is_running()))

        async def async_invoke(self, value: Any) -> list[Any]:
            return [value]

    with Bench(is_ordered=True, function=Connecting()) as bench:
        bench.harness.push(1)
        bench.harness.end()
    assert calls == [("open", True), ("close", True)]
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("async ")] == []


def test_closing_cancels_what_is_unanswered() -> None:
    cancelled = threading.Event()

    class Watched(AsyncFunction[Any, Any]):
        def __init__(self) -> None:
            self.started = threading.Event()

        async def async_invoke(self, value: Any) -> list[Any]:
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
            return []

    function = Watched()
    with Bench(is_ordered=True, function=function) as bench:
        bench.harness.push(1)
        assert function.started.wait(PATIENCE)
    assert cancelled.is_set()


class Lookup(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.0001 * (value[0] % 3))
        return [(value[0], value[0] ** 2)]


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_program_with_asynchronous_steps(parallelism: int) -> None:
    env = environment(parallelism)
    stream = timed(env, *[(number, number) for number in range(300)])
    ordered = AsyncDataStream.ordered_wait(stream, Lookup(), Time.seconds(60), 7)
    unordered = AsyncDataStream.unordered_wait(stream, Lookup(), Time.seconds(60))
    found = collected(ordered, unordered)
    expected = [(number, number**2) for number in range(300)]
    assert sorted(found[0]) == sorted(found[1]) == expected
    if parallelism == 1:
        assert found[0] == expected


def test_a_failure_names_the_function_and_the_record() -> None:
    class Broken(AsyncFunction[Any, Any]):
        async def async_invoke(self, value: Any) -> list[Any]:
            raise RuntimeError("no database")

    stream = environment().from_elements("record-1")
    with pytest.raises(UserFunctionError) as failure:
        collected(AsyncDataStream.unordered_wait(stream, Broken(), Time.seconds(60)))
    assert "no database" in str(failure.value)
    assert "Broken" in str(failure.value)
    assert "record-1" in str(failure.value)


def test_what_is_no_list_of_results_is_refused() -> None:
    class Text(AsyncFunction[Any, Any]):
        async def async_invoke(self, value: Any) -> Any:
            return "text"

    with Bench(is_ordered=True, function=Text()) as bench:
        bench.harness.push(1)
        with pytest.raises(ProgramError, match="returns a list of results"):
            bench.harness.end()


def test_wrong_programs_are_refused() -> None:
    stream = environment().from_elements(1)
    with pytest.raises(ProgramError, match="capacity"):
        AsyncDataStream.ordered_wait(stream, Never(), 1000, 0)
    with pytest.raises(ProgramError, match="needs an AsyncFunction"):
        AsyncDataStream.ordered_wait(stream, lambda value: value, 1000)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a stream"):
        AsyncDataStream.unordered_wait([1], Never(), 1000)  # type: ignore[arg-type]
