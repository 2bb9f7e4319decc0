"""Harnesses of single functions: objects and lambdas, time to live, requests, sinks, the order of what comes out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import (
    AsyncFunction,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    SinkFunction,
    StateTtlConfig,
    Time,
    TwoPhaseCommitSinkFunction,
    ValueStateDescriptor,
    Watermark,
)
from penstock.errors import ProgramError
from penstock.testing import Emitted, ManualClock, OperatorHarness

BACKENDS = {"heap": HashMapStateBackend, "rocksdb": EmbeddedRocksDBStateBackend}
SIDE = OutputTag("side")


def test_lambdas() -> None:
    def results(harness: OperatorHarness) -> list[Any]:
        with harness:
            harness.push_run([(1, 10), (2, 20), (3, 30)])
        return harness.outputs

    assert results(OperatorHarness.for_map(lambda n: n * 2)) == [(2, 10), (4, 20), (6, 30)]
    assert results(OperatorHarness.for_flat_map(lambda n: [n] * (n - 1))) == [(2, 20), (3, 30), (3, 30)]
    assert results(OperatorHarness.for_filter(lambda n: n > 2)) == [(3, 30)]
    assert results(OperatorHarness.for_reduce(lambda a, b: a + b, key=lambda n: n % 2)) == [(1, 10), (2, 20), (4, 30)]


def test_every_kind_of_key() -> None:
    class ByName(KeySelector[Any, Any]):
        def get_key(self, value: Any) -> Any:
            return value["name"]

    for key in (ByName(), "name", lambda record: record["name"]):
        with OperatorHarness.for_reduce(lambda a, b: {"name": a["name"], "n": a["n"] + b["n"]}, key=key) as harness:
            for number in (1, 2):
                harness.push({"name": "a", "n": number})
            assert harness.values[-1] == {"name": "a", "n": 3}


def test_a_function_is_opened_and_closed() -> None:
    calls: list[Any] = []

    class Traced(MapFunction[Any, Any]):
        def open(self, runtime_context: Any) -> None:
            calls.append(
                (runtime_context.get_index_of_this_subtask(), runtime_context.get_number_of_parallel_subtasks())
            )

        def map(self, value: Any) -> Any:
            return value

        def close(self) -> None:
            calls.append("close")

    with OperatorHarness.for_function(Traced(), parallelism=4, subtask=2):
        pass
    assert calls == [(2, 4), "close"]


def test_everything_comes_out_in_its_order() -> None:
    class Split(ProcessFunction[Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield SIDE, -value
            yield value

    with OperatorHarness.for_process(Split()) as harness:
        harness.push(1, 10)
        harness.push_watermark(10)
        harness.push(2, 20)
        assert harness.take_log() == [
            Emitted(-1, 10, "side"),
            Emitted(1, 10),
            Watermark(10),
            Emitted(-2, 20, "side"),
            Emitted(2, 20),
        ]
        assert harness.log == []
        assert harness.outputs == [(1, 10), (2, 20)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_state_lives_by_the_clock_of_the_harness(backend: str) -> None:
    descriptor = ValueStateDescriptor("last")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(10)).build())

    class Last(KeyedProcessFunction[Any, Any, Any]):
        def open(self, runtime_context: Any) -> None:
            self.last = runtime_context.get_state(descriptor)

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield self.last.value()
            self.last.update(value)

    with OperatorHarness.for_process(
        Last(), key=lambda _: "k", clock=ManualClock(1_000_000), state_backend=BACKENDS[backend]()
    ) as harness:
        harness.push("a")
        harness.advance(9_999)
        harness.push("b")
        assert harness.state(descriptor, "k") == "b"
        harness.advance(10_000)
        harness.push("c")
        assert harness.values == [None, "a", None]
        assert harness.state_entry_count(descriptor) == 1
        snapshot = harness.snapshot()
    with OperatorHarness.for_process(
        Last(), key=lambda _: "k", restore=snapshot, state_backend=BACKENDS[backend]()
    ) as harness:
        harness.advance(10_000)  # its age counts from before the restart
        harness.push("d")
        assert harness.values == [None]


class Ask(AsyncFunction[Any, Any]):
    """Answers even numbers at once and odd ones when the next even one has come."""

    async def async_invoke(self, value: Any) -> list[Any]:
        if not hasattr(self, "even"):
            self.even = asyncio.Event()
        if value % 2:
            await self.even.wait()
        else:
            self.even.set()
        return [value * 10]


@pytest.mark.parametrize("is_ordered", [True, False])
def test_asynchronous_requests(is_ordered: bool) -> None:
    with OperatorHarness.for_async(Ask(), is_ordered=is_ordered) as harness:
        harness.push(1, 100)
        snapshot = harness.snapshot()
        harness.push(2, 200)
        harness.push_watermark(300)
        harness.settle()
        assert sorted(harness.outputs) == [(10, 100), (20, 200)]
        assert not is_ordered or harness.values == [10, 20]
        assert harness.log[-1] == Watermark(300)
    with OperatorHarness.for_async(Ask(), restore=snapshot) as harness:  # what had no answer is asked again
        harness.push(4, 400)
        harness.wait_for_outputs(2)
        assert harness.outputs == [(10, 100), (40, 400)]


def test_an_answer_that_does_not_come() -> None:
    with OperatorHarness.for_async(Ask()) as harness:
        harness.push(1)
        with pytest.raises(TimeoutError, match="the answers to all requests did not come"):
            harness.settle(patience=0.01)


def test_a_sink_function() -> None:
    written: list[Any] = []

    class Write(SinkFunction[Any]):
        def invoke(self, value: Any, context: Any) -> None:
            written.append((value, context.timestamp()))

    with OperatorHarness.for_sink(Write()) as harness:
        harness.push("x", 5)
    assert written == [("x", 5)]


def test_a_sink_commits_when_it_is_told_so() -> None:
    committed: list[Any] = []

    class Write(TwoPhaseCommitSinkFunction[Any, Any, Any]):
        def begin_transaction(self) -> Any:
            return []

        def invoke(self, transaction: Any, value: Any, context: Any) -> None:
            transaction.append(value)

        def pre_commit(self, transaction: Any) -> None:
            return

        def commit(self, transaction: Any) -> None:
            committed.extend(transaction)

        def abort(self, transaction: Any) -> None:
            return

    harness = OperatorHarness.for_sink(Write())
    harness.push("a")
    snapshot = harness.snapshot()
    harness.push("b")
    assert committed == []
    harness.notify_complete(snapshot.checkpoint_id)
    assert committed == ["a"]
    committed.clear()
    with OperatorHarness.for_sink(Write(), restore=snapshot):
        assert committed == ["a"]  # it may not have been done before the failure


def test_one_step_at_a_time() -> None:
    with pytest.raises(ProgramError, match=r"takes one step, but 2 were added: Map.*, Filter"):
        OperatorHarness.for_stream(lambda stream: stream.map(str).filter(bool))
    with pytest.raises(ProgramError, match="0 were added: none"):
        OperatorHarness.for_stream(lambda stream: stream)


def test_printed_lines() -> None:
    with OperatorHarness.for_stream(lambda stream: stream.print()) as harness:
        harness.push("x")
        assert harness.printed == ["x"]
