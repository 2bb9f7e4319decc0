"""Source functions have a thread of their own; the tests meet it at events, never by waiting for time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import (
    ParallelSourceFunction,
    ProcessFunction,
    RichParallelSourceFunction,
    RichSourceFunction,
    RuntimeContext,
    SourceFunction,
    UserFunctionError,
    Watermark,
)
from penstock.runtime.exchange.elements import MAX_TIMESTAMP, RECORDS, Timestamps, Values
from penstock.runtime.sources.function import SourceFunctionOperator
from penstock.runtime.sources.splits import READ_LIMIT, Poll
from penstock.runtime.task.output import Output
from penstock.runtime.task.services import TaskServices
from tests.unit.local_jobs import collect, environment, results, run_locally
from tests.unit.runtime.operators.operator_bench import Bench, Recorder

SOON = 10.0  # how long a test waits for another thread before it fails


class Scripted(SourceFunction[Any]):
    """Runs what the test wrote."""

    def __init__(self, script: Callable[[Any], None]) -> None:
        self.script = script
        self.cancelled = threading.Event()
        self.opened = self.closed = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened += 1

    def run(self, ctx: SourceFunction.SourceContext[Any]) -> None:
        self.script(ctx)

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.closed += 1


class SourceBench:
    """A source function with its wake-ups as an event."""

    def __init__(self, script: Callable[[Any], None]) -> None:
        self.woken = threading.Event()
        self.function = Scripted(script)
        self.operator = SourceFunctionOperator(self.function)
        self.bench = Bench(self.operator, services=TaskServices(wake_up=self.woken.set))
        self.main = self.bench.main

    def drain(self) -> None:
        """Take everything until the function has returned."""
        while True:
            self.woken.clear()
            answer = self.operator.poll()
            if answer is Poll.FINISHED:
                return
            if answer is Poll.NOTHING:
                assert self.woken.wait(SOON)


@pytest.fixture
def start() -> Iterator[Callable[[Callable[[Any], None]], SourceBench]]:
    benches: list[SourceBench] = []

    def make(script: Callable[[Any], None]) -> SourceBench:
        benches.append(SourceBench(script))
        return benches[-1]

    yield make
    for bench in benches:
        bench.operator.close()


Start = Callable[[Callable[[Any], None]], SourceBench]


def test_records_timestamps_and_watermarks_come_in_order(start: Start) -> None:
    def script(ctx: Any) -> None:
        ctx.collect("a")
        ctx.collect_with_timestamp("b", 10)
        ctx.emit_watermark(Watermark(10))
        ctx.emit_watermark(11)
        ctx.collect_with_timestamp("c", 12)
        ctx.collect("d")

    bench = start(script)
    bench.drain()
    assert bench.main.flat == [
        ("a", None), ("b", 10), ("watermark", 10), ("watermark", 11), ("c", 12), ("d", None),
    ]  # fmt: skip


def test_the_function_does_not_run_before_the_chain_is_open(start: Start) -> None:
    ran = threading.Event()
    bench = start(lambda _: ran.set())
    assert bench.function.opened == 1
    assert not ran.is_set()
    bench.drain()
    assert ran.is_set()


def test_a_full_buffer_makes_the_function_wait(start: Start) -> None:
    emitted: list[int] = []

    def script(ctx: Any) -> None:
        for number in range(3 * READ_LIMIT):
            ctx.collect(number)
            emitted.append(number)

    bench = start(script)
    bench.operator.poll()
    largest = 0
    while len(bench.main.values) < 3 * READ_LIMIT:
        bench.woken.wait(SOON)
        bench.woken.clear()
        ahead = len(emitted) - len(bench.main.values)
        largest = max(largest, ahead)
        bench.operator.poll()
    bench.drain()
    assert largest <= READ_LIMIT
    assert bench.main.values == list(range(3 * READ_LIMIT))
    assert max(len(element[1]) for element in bench.main.elements if element[0] == RECORDS) <= READ_LIMIT


def test_runs_stay_short_where_records_take_long(start: Start) -> None:
    """A checkpoint can only come between runs: a second of records at a time would hold it up for a second."""
    bench = start(lambda ctx: [ctx.collect(number) for number in range(1000)])
    longest = 0

    class Slow(Recorder):
        def process(self, values: Values, timestamps: Timestamps) -> None:
            nonlocal longest
            longest = max(longest, len(values))
            bench.bench.clock.advance(len(values))
            super().process(values, timestamps)

    slow = Slow()
    bench.operator.output = Output([slow], {})
    bench.drain()
    assert slow.values == list(range(1000))
    assert longest <= 100


def test_what_the_function_raises_comes_after_its_records(start: Start) -> None:
    def script(ctx: Any) -> None:
        ctx.collect(1)
        raise ValueError("broken pipe")

    bench = start(script)
    with pytest.raises(ValueError, match="broken pipe"):
        bench.drain()
    assert bench.main.values == [1]


def test_cancel_reaches_a_function_that_looks_at_its_flag(start: Start) -> None:
    emitted = threading.Event()

    def script(ctx: Any) -> None:
        ctx.collect(1)
        emitted.set()
        assert bench.function.cancelled.wait(SOON)

    bench = start(script)
    bench.operator.poll()
    assert emitted.wait(SOON)
    bench.operator.cancel()
    bench.drain()
    assert bench.main.values == [1]


def test_cancel_frees_a_function_that_waits_for_room(start: Start) -> None:
    def script(ctx: Any) -> None:
        number = 0
        while True:  # never looks at a flag
            ctx.collect(number)
            number += 1

    bench = start(script)
    bench.operator.poll()
    bench.operator.cancel()
    bench.drain()


def test_close_stops_a_running_function_and_closes_it_once(start: Start) -> None:
    running = threading.Event()

    def script(ctx: Any) -> None:
        running.set()
        assert bench.function.cancelled.wait(SOON)

    bench = SourceBench(script)
    bench.operator.poll()
    assert running.wait(SOON)
    bench.operator.close()
    assert bench.function.cancelled.is_set()
    assert bench.function.closed == 1


def test_idleness_ends_with_the_next_record_or_watermark(start: Start) -> None:
    def script(ctx: Any) -> None:
        ctx.mark_as_temporarily_idle()
        ctx.mark_as_temporarily_idle()
        ctx.collect("a")
        ctx.mark_as_temporarily_idle()
        ctx.emit_watermark(Watermark(5))

    bench = start(script)
    bench.drain()
    assert bench.main.flat == [
        ("idle", True), ("idle", False), ("a", None), ("idle", True), ("idle", False), ("watermark", 5),
    ]  # fmt: skip


def test_an_idle_source_still_ends_event_time(start: Start) -> None:
    bench = start(lambda ctx: ctx.mark_as_temporarily_idle())
    bench.drain()
    bench.operator.finish()
    assert bench.main.flat == [("idle", True), ("idle", False), ("watermark", MAX_TIMESTAMP)]


def test_under_the_lock_a_record_and_its_position_are_one_step(start: Start) -> None:
    """The task may look at any time; it must never see a record whose position is not yet there."""
    position = [0]

    def script(ctx: Any) -> None:
        for _ in range(2 * READ_LIMIT + 10):
            with ctx.get_checkpoint_lock():
                ctx.collect(position[0])
                position[0] += 1

    bench = start(script)
    context = bench.operator._buffer
    answer = Poll.EMITTED
    while answer is not Poll.FINISHED:
        bench.woken.clear()
        answer = bench.operator.poll()
        with context.get_checkpoint_lock():
            buffered = context._buffered
            assert position[0] == len(bench.main.values) + buffered
        if answer is Poll.NOTHING:
            assert bench.woken.wait(SOON)
    assert bench.main.values == list(range(2 * READ_LIMIT + 10))


def test_a_step_under_the_lock_may_be_larger_than_the_buffer(start: Start) -> None:
    def script(ctx: Any) -> None:
        with ctx.get_checkpoint_lock(), ctx.get_checkpoint_lock():
            for number in range(READ_LIMIT + 5):
                ctx.collect(number)
        ctx.collect("behind")

    bench = start(script)
    bench.drain()
    assert bench.main.values == [*range(READ_LIMIT + 5), "behind"]


class UpTo(SourceFunction[int]):
    def __init__(self, end: int) -> None:
        self.end = end

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        for number in range(self.end):
            ctx.collect(number)

    def cancel(self) -> None: ...


class Watching(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timer_service().current_watermark()


def test_through_the_api() -> None:
    assert results(environment(2).add_source(UpTo(10_000)).key_by(lambda x: 0).map(lambda x: x)) == list(range(10_000))


def test_a_plain_source_function_runs_once() -> None:
    stream = environment(4).add_source(UpTo(3), "numbers")
    assert stream.get_name() == "numbers"
    assert results(stream) == [0, 1, 2]


class EachSubtask(RichParallelSourceFunction[tuple[int, int]]):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.me = (runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks())

    def run(self, ctx: SourceFunction.SourceContext[tuple[int, int]]) -> None:
        ctx.collect(self.me)

    def cancel(self) -> None: ...


def test_a_parallel_source_function_runs_in_every_subtask() -> None:
    assert issubclass(EachSubtask, ParallelSourceFunction)
    assert sorted(results(environment(3).add_source(EachSubtask()))) == [(0, 3), (1, 3), (2, 3)]


class Configured(RichSourceFunction[str]):
    """Takes what it emits from its surroundings."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.words = [runtime_context.get_task_name(), str(runtime_context.get_number_of_parallel_subtasks())]

    def run(self, ctx: SourceFunction.SourceContext[str]) -> None:
        for word in self.words:
            ctx.collect(word)

    def cancel(self) -> None: ...


def test_src_09_a_rich_source_function_is_opened_with_its_context_and_runs_once() -> None:
    assert results(environment(3).add_source(Configured(), "settings")) == ["settings", "1"]


class GoesIdle(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect_with_timestamp(1, 1)
        ctx.mark_as_temporarily_idle()

    def cancel(self) -> None: ...


def test_the_end_of_an_idle_source_passes_an_exchange() -> None:
    class Ending(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value

    env = environment(2)
    stream = env.add_source(GoesIdle()).rebalance().process(Ending())
    collect(stream)
    run = run_locally(env)
    reached = [subtask.valve.watermark for task in run.stages[1] for subtask in task.subtasks.values()]
    assert reached == [MAX_TIMESTAMP, MAX_TIMESTAMP]


class Fails(SourceFunction[int]):
    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        ctx.collect(1)
        raise OSError("connection lost")

    def cancel(self) -> None: ...


def test_a_failing_source_function_is_explained() -> None:
    env = environment()
    env.add_source(Fails(), "feed").print()
    with pytest.raises(UserFunctionError) as caught:
        run_locally(env)
    assert caught.value.step == "feed (1/1)"
    assert caught.value.error == "OSError: connection lost"
    assert f"Fails ({__file__}:" in caught.value.function
    assert "connection lost" in caught.value.user_traceback
    assert "runtime/sources/function.py" not in caught.value.user_traceback
