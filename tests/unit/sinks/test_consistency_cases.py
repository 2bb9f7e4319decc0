"""W-100 .. W-103: what is seen after a crash in the middle of writing, for each kind of source and sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock import (
    CheckpointCommitter,
    Delivery,
    GenericWriteAheadSink,
    SinkFunction,
    StreamExecutionEnvironment,
    WatermarkStrategy,
)
from tests.unit.local_jobs import environment
from tests.unit.sinks.ledger_sink import LEDGERS, Ledger, LedgerSink
from tests.unit.sinks.lives import CrashError, KillError, OneByOne, live

COMMITTED: dict[int, int] = {}
"""What the write-ahead sink has remembered outside of the job: per subtask, the last checkpoint."""
TABLE: dict[Any, Any] = {}
"""A key-value store."""


@pytest.fixture(autouse=True)
def world() -> Ledger:
    LEDGERS["main"] = Ledger()
    COMMITTED.clear()
    TABLE.clear()
    return LEDGERS["main"]


class AnySink(SinkFunction[Any]):
    """Writes right away."""

    def invoke(self, value: Any, context: Any) -> None:
        LEDGERS["main"].visible.append(value)
        LEDGERS["main"].step(f"wrote {value}")


class UpsertSink(SinkFunction[Any]):
    """Puts by key."""

    delivery = Delivery.IDEMPOTENT

    def __init__(self, key: Any = lambda value: value) -> None:
        self._key = key

    def invoke(self, value: Any, context: Any) -> None:
        TABLE[self._key(value)] = value
        LEDGERS["main"].step(f"wrote {value}")


class Remembered(CheckpointCommitter):
    """Keeps ids in the outside world."""

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        COMMITTED[subtask] = checkpoint_id

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return COMMITTED.get(subtask, -1) >= checkpoint_id


class WriteAhead(GenericWriteAheadSink[Any]):
    """Writes a batch record by record."""

    def __init__(self) -> None:
        super().__init__(Remembered())

    def send_values(self, values: Sequence[Any], checkpoint_id: int, timestamp: int) -> bool:
        for value in values:
            LEDGERS["main"].visible.append(value)
            self.step(f"wrote {value}")
        self.step("sent")
        return True

    def step(self, name: str) -> None:
        try:
            LEDGERS["main"].step(name)
        except CrashError:
            raise KillError from None  # an error would be logged, and the batch tried again


def crash_once_after(step: str) -> Any:
    crashed = False

    def crash(name: str) -> None:
        nonlocal crashed
        if name == step and not crashed:
            crashed = True
            raise CrashError

    return crash


def build(values: list[Any], sink: Any, source: OneByOne | None = None) -> StreamExecutionEnvironment:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(source or OneByOne(values), WatermarkStrategy.no_watermarks(), "values")
    stream.add_sink(sink).uid("sink")
    return env


VALUES = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("sink", "fault", "expected"),
    [
        # A checkpoint after three records; the crash comes when 5 is written, and 4 and 5 are read again.
        (AnySink, "wrote 5", [1, 2, 3, 4, 5, 4, 5, 6]),
        (UpsertSink, "wrote 5", [1, 2, 3, 4, 5, 6]),
        (WriteAhead, "wrote 5", [1, 2, 3, 4, 5, 4, 5, 6]),
        (lambda: LedgerSink("main"), "invoke 5", [1, 2, 3, 4, 5, 6]),
    ],
    ids=["any", "idempotent", "write-ahead", "two-phase"],
)
def test_w_100_with_a_replayable_source(world: Ledger, sink: Any, fault: str, expected: list[int]) -> None:
    world.fault = crash_once_after(fault)
    assert live(lambda: build(VALUES, sink())) == 2
    assert (list(TABLE.values()) or world.visible) == expected


@pytest.mark.parametrize(
    ("sink", "fault", "expected"),
    [
        # The source goes on with 6: what was read after the checkpoint and is not visible is lost.
        (AnySink, "wrote 5", [1, 2, 3, 4, 5, 6]),
        (UpsertSink, "wrote 5", [1, 2, 3, 4, 5, 6]),
        (WriteAhead, "invoke", [1, 2, 3, 6]),
        (lambda: LedgerSink("main"), "invoke 5", [1, 2, 3, 6]),
    ],
    ids=["any", "idempotent", "write-ahead", "two-phase"],
)
def test_w_100_with_a_source_that_cannot_go_back(world: Ledger, sink: Any, fault: str, expected: list[int]) -> None:
    source = OneByOne(VALUES, is_replayable=False)
    crash = crash_once_after("read 5")

    def read(value: int) -> int:
        crash(f"read {value}")
        return value

    if fault == "invoke":  # the write-ahead sink writes nothing before the checkpoint; crash in front of it
        env_of = lambda: _with_map(source, read, sink())  # noqa: E731 - chosen by the case
    else:
        world.fault = crash_once_after(fault)
        env_of = lambda: build(VALUES, sink(), source)  # noqa: E731 - chosen by the case
    assert live(env_of) == 2
    assert (list(TABLE.values()) or world.visible) == expected


def _with_map(source: OneByOne, function: Any, sink: Any) -> StreamExecutionEnvironment:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "values")
    stream.map(function).add_sink(sink).uid("sink")
    return env


def test_w_101_a_crash_in_the_middle_of_a_batch_repeats_a_part_of_it(world: Ledger) -> None:
    world.fault = crash_once_after("wrote b")
    assert live(lambda: build(["a", "b", "c"], WriteAhead())) == 2
    assert world.visible == ["a", "b", "a", "b", "c"]


def test_wal_04_a_batch_that_was_sent_and_remembered_is_not_sent_again(world: Ledger) -> None:
    # The crash comes behind the first batch of two that are committed together.
    world.fault = crash_once_after("wrote d")
    assert live(lambda: build(["a", "b", "c", "d", "e"], WriteAhead())) == 2
    assert world.visible == ["a", "b", "c", "d", "d", "e"], "a, b and c were remembered"


class Refusing(WriteAhead):
    """Refuses each batch twice."""

    def send_values(self, values: Sequence[Any], checkpoint_id: int, timestamp: int) -> bool:
        calls = LEDGERS["main"].calls
        calls.append(f"asked for {list(values)}")
        return calls.count(f"asked for {list(values)}") > 2 and super().send_values(values, checkpoint_id, timestamp)


def test_wal_04_a_batch_that_is_refused_is_tried_again_before_those_behind_it(world: Ledger) -> None:
    live(lambda: build([1, 2, 3, 4, 5], Refusing()))
    assert world.visible == [1, 2, 3, 4, 5]
    asked = [call for call in world.calls if call.startswith("asked")]
    assert asked == ["asked for [1, 2, 3]"] * 3 + ["asked for [4, 5]"] * 3, "nothing else is sent before it"


def test_w_102_the_same_key_twice_is_one_row_and_a_key_with_the_time_is_two(world: Ledger) -> None:
    live(lambda: build([("a", 1), ("a", 1)], UpsertSink(key=lambda value: value[0])))
    assert TABLE == {"a": ("a", 1)}
    TABLE.clear()
    times = iter(range(10))
    live(lambda: build([("a", 1), ("a", 1)], UpsertSink(key=lambda value: (value[0], next(times)))))
    assert len(TABLE) == 2


@pytest.mark.parametrize(("is_two_phase", "expected"), [(False, [1, 2, 2, 3]), (True, [1, 2, 3])])
def test_w_103_two_sinks_the_second_fails(world: Ledger, is_two_phase: bool, expected: list[int]) -> None:
    LEDGERS["b"] = Ledger()
    LEDGERS["b"].fault = crash_once_after("invoke 2")

    def env_of() -> StreamExecutionEnvironment:
        env = environment(1)
        env.enable_checkpointing(3_600_000)
        stream = env.from_source(OneByOne([1, 2, 3]), WatermarkStrategy.no_watermarks(), "values")
        stream.add_sink(LedgerSink("main") if is_two_phase else AnySink()).uid("a")
        stream.add_sink(LedgerSink("b")).uid("b")
        return env

    assert live(env_of, steps_per_checkpoint=1) == 2
    assert world.visible == expected
    assert LEDGERS["b"].visible == [1, 2, 3]
