"""The loop of a task: input, sources, timers and flushing, driven from the outside step by step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import KeyedProcessFunction, SourceFunction, WatermarkStrategy
from penstock.foundation.clock import ManualClock
from penstock.runtime.exchange.codec import decode, encode
from penstock.runtime.exchange.elements import RECORDS
from penstock.runtime.sources.splits import READ_LIMIT
from penstock.runtime.task.loop import Blocks, Inbox, run_task
from penstock.runtime.task.services import TaskServices
from penstock.runtime.task.task import Task
from penstock.testing import build_job
from penstock.vocabulary.sources.protocol import ReaderContext, Source, SourceSplit, SplitReader
from tests.unit.local_jobs import environment

SOON = 10.0
HEADER = 6


def records(blocks: Blocks) -> list[Any]:
    return [
        value
        for _, block in blocks
        for element in decode(memoryview(block)[HEADER:])
        if element[0] == RECORDS
        for value in element[1]
    ]


class Loop:
    """A task in its loop."""

    def __init__(self, env: Any, stage: int, **services: Any) -> None:
        self.inbox = Inbox()
        self.clock = ManualClock()
        self.printed: list[str] = []
        lent = TaskServices(print_lines=self.printed.extend, wake_up=self.inbox.wake_up, **services)
        self.task = Task(build_job(env), stage, 0, clock=self.clock, services=lent)
        self.steps: Iterator[Blocks] = run_task(self.task, self.inbox)


def sequence(end: int) -> Loop:
    """A source stage that sends the numbers below ``end``."""
    env = environment()
    env.from_collection(list(range(end))).rebalance().print()
    return Loop(env, 0)


class Drip(Source[int]):
    """Gives a number with every read, for ever."""

    def create_splits(self, parallelism: int) -> list[SourceSplit]:
        return [SourceSplit("only")]

    def open_split(self, split: SourceSplit, position: Any, context: ReaderContext) -> SplitReader[int]:
        return DripReader()


class DripReader(SplitReader[int]):
    on_read: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self) -> None:
        self._next = 0

    def read(self, limit: int) -> tuple[list[int], None]:
        DripReader.on_read()
        self._next += 1
        return [self._next - 1], None

    def position(self) -> int:
        return self._next


def dripping(timeout: int) -> Loop:
    env = environment()
    drip = env.from_source(Drip(), WatermarkStrategy.no_watermarks(), "drip")
    drip.set_buffer_timeout(timeout).rebalance().print()
    return Loop(env, 0)


def test_everything_is_sent_and_the_end_comes_last() -> None:
    loop = sequence(10)
    loop.inbox.end()
    blocks = [block for sent in loop.steps for block in sent]
    assert records(blocks) == list(range(10))
    assert decode(memoryview(blocks[-1][1])[HEADER:])[-1] == (4,)
    assert loop.task.is_finished


def test_a_busy_task_waits_for_blocks_to_fill() -> None:
    """The clock stands still, so only full blocks go out while there is work; the rest goes with the end."""
    loop = sequence(READ_LIMIT + 100)
    loop.inbox.end()
    sizes = [len(records(blocks)) for blocks in loop.steps if blocks]
    assert sizes[0] >= READ_LIMIT
    assert sum(sizes) == READ_LIMIT + 100


def test_a_buffer_timeout_of_zero_sends_at_once() -> None:
    loop = dripping(0)
    assert records(next(loop.steps)) == [0]
    assert next(loop.steps) == []
    assert records(next(loop.steps)) == [1]


def test_the_buffer_timeout_is_the_upper_bound_while_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = dripping(20)
    monkeypatch.setattr(DripReader, "on_read", lambda: loop.clock.advance(8))
    # Eight milliseconds per record: after three the first has waited for more than twenty.
    assert records(next(loop.steps)) == [0, 1, 2]
    # What was sent must not have to wait for what comes behind it, which may take long.
    assert next(loop.steps) == []
    assert records(next(loop.steps)) == [3, 4, 5]


@pytest.mark.parametrize("step", [5_000, 3_600_000, -5_000, -3_600_000])
def test_a_busy_task_sends_in_time_after_somebody_set_the_clock(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = dripping(timeout=100)
    monkeypatch.setattr(DripReader, "on_read", lambda: loop.clock.advance(8))
    next(blocks for blocks in loop.steps if blocks)
    loop.clock.step(step)
    before = loop.clock.elapsed()
    next(blocks for blocks in loop.steps if blocks)
    assert loop.clock.elapsed() - before <= 108


def test_a_trickle_of_records_is_sent_together_after_a_short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = dripping(100)
    due = [[1], [2], [3], []]
    monkeypatch.setattr(DripReader, "read", lambda _, limit: (due.pop(0) if due and limit else [], None))
    due[1:1] = [[], []]
    # The first record meets a task that has sent nothing for long; it goes out as soon as there is nothing else to do.
    assert records(next(loop.steps)) == [1]
    assert next(loop.steps) == []
    # Those behind it wait, however often the task comes round ...
    assert [next(loop.steps) for _ in range(3)] == [[], [], []]
    assert not due
    loop.clock.advance(3)
    assert next(loop.steps) == []
    # ... until four milliseconds have passed since.
    loop.clock.advance(1)
    assert records(next(loop.steps)) == [2, 3]


def test_an_idle_task_flushes_and_says_so_before_it_waits() -> None:
    env = environment()
    env.add_source(Fed()).rebalance().print()
    loop = Loop(env, 0)
    Fed.go.clear()
    Fed.values = [1, 2]
    assert next(loop.steps) == []
    Fed.go.set()
    assert Fed.done.wait(SOON)
    found: list[Any] = []
    for blocks in loop.steps:
        found += records(blocks)
        if len(found) == 2:
            break
    assert found == [1, 2]
    loop.task.close()


class Fed(SourceFunction[int]):
    """Gives its values when it is told to, in another thread."""

    go = threading.Event()
    done = threading.Event()
    values: list[int] = []  # noqa: RUF012 - shared with the copy in the job

    def run(self, ctx: SourceFunction.SourceContext[int]) -> None:
        assert Fed.go.wait(SOON)
        for value in Fed.values:
            ctx.collect(value)
        Fed.done.set()

    def cancel(self) -> None:
        Fed.go.set()


def two_stages() -> tuple[Loop, list[bytes]]:
    """The second stage of a job, and the blocks the first one sends to it."""

    def build() -> Any:
        env = environment()
        env.from_collection(["a", "b"]).rebalance().map(str.upper).print()
        return env

    first = Loop(build(), 0)
    first.inbox.end()
    blocks = [block for sent in first.steps for _, block in sent]
    return Loop(build(), 1), blocks


def test_blocks_of_the_inbox_are_processed() -> None:
    loop, blocks = two_stages()
    for block in blocks:
        loop.inbox.put(block)
    loop.inbox.end()
    assert [sent for sent in loop.steps if sent] == []
    assert loop.printed == ["A", "B"]
    assert loop.task.is_finished


def test_a_task_does_not_end_before_its_inbox_has() -> None:
    loop, blocks = two_stages()
    for block in blocks:
        loop.inbox.put(block)
    assert next(loop.steps) == []
    assert loop.task.is_finished
    loop.inbox.end()
    assert [sent for sent in loop.steps if sent] == []


def test_commands_run_in_the_tasks_own_thread() -> None:
    loop, _ = two_stages()
    ran: list[threading.Thread] = []
    thread = threading.Thread(target=loop.inbox.command, args=(lambda: ran.append(threading.current_thread()),))
    thread.start()
    thread.join()
    assert ran == []
    assert next(loop.steps) == []
    assert ran == [threading.current_thread()]


def test_a_command_ends_the_wait() -> None:
    loop, _ = two_stages()
    next(loop.steps)
    ran: list[int] = []
    loop.inbox.command(lambda: ran.append(1))
    next(loop.steps)
    assert ran == [1]


def test_what_a_command_raises_ends_the_task() -> None:
    loop, _ = two_stages()

    def cancel() -> None:
        raise InterruptedError("cancelled")

    loop.inbox.command(cancel)
    with pytest.raises(InterruptedError):
        next(loop.steps)


def test_commands_get_through_a_full_inbox() -> None:
    inbox = Inbox()
    for _ in range(100):
        inbox.wake_up()
    ran: list[int] = []
    inbox.command(lambda: ran.append(1))
    inbox.run_commands()
    assert ran == [1]


def test_an_inbox_is_bounded() -> None:
    inbox = Inbox()
    taken = threading.Semaphore(0)
    put: list[int] = []

    def fill() -> None:
        for number in range(40):
            inbox.put(b"block")
            put.append(number)
            taken.release()

    thread = threading.Thread(target=fill, daemon=True)
    thread.start()
    for _ in range(16):
        assert taken.acquire(timeout=SOON)
    received = 0
    while received < 40:
        assert len(put) - received <= 16 + 1
        received += inbox.take(1000) is not None
    thread.join(SOON)
    assert not inbox.has_blocks()


class Alarm(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(100)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        yield f"alarm {timestamp}"


def test_timers_fire_between_blocks() -> None:
    def build() -> Any:
        env = environment()
        env.from_collection(["a"]).key_by(lambda x: x).process(Alarm()).print()
        return env

    loop = Loop(build(), 1)
    # A record of the only channel, without the end of input that a collection would send along.
    loop.inbox.put(bytes(HEADER) + encode([(RECORDS, ["a"], None)]))
    next(loop.steps)
    assert loop.printed == []
    loop.clock.advance(100)
    loop.inbox.wake_up()
    next(loop.steps)
    assert loop.printed == ["alarm 100"]


def test_blocks_for_a_deeper_stage_are_passed_on_unread() -> None:
    def build() -> Any:
        env = environment()
        shallow = env.from_collection(["far"])
        deep = env.from_collection(["near"]).rebalance().map(str)
        shallow.union(deep).map(str).print()
        return env

    first = Loop(build(), 0)
    first.inbox.end()
    blocks = [block for sent in first.steps for _, block in sent]
    middle = Loop(build(), 1)
    for block in blocks:
        middle.inbox.put(block)
    middle.inbox.end()
    passed = [block for sent in middle.steps for _, block in sent]
    far = [block for block in blocks if b"far" in block]
    assert far
    assert all(block in passed for block in far)
