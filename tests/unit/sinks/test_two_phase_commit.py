"""TwoPhaseCommitSinkFunction: the protocol's steps in their order, and each record once whatever fails."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from penstock import StreamExecutionEnvironment, WatermarkStrategy
from penstock.testing.local_run import LocalRun
from penstock.vocabulary.types.serializer import TypeSerializer
from tests.unit.local_jobs import environment
from tests.unit.sinks.ledger_sink import LEDGERS, Ledger, LedgerSink
from tests.unit.sinks.lives import CrashError, OneByOne, live


@pytest.fixture
def ledger() -> Ledger:
    LEDGERS["main"] = Ledger()
    return LEDGERS["main"]


def job(values: list[Any], sink: Any | None = None, parallelism: int = 1) -> StreamExecutionEnvironment:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(OneByOne(values), WatermarkStrategy.no_watermarks(), "values")
    stream.add_sink(sink or LedgerSink("main")).set_parallelism(parallelism).uid("ledger")
    return env


def start(values: list[Any], **arguments: Any) -> LocalRun:
    run = LocalRun.of(job(values, **arguments))
    run.open()
    return run


def test_w_98_tpc_08_the_steps_come_in_their_order(ledger: Ledger) -> None:
    run = start(["a", "b", "c"])
    run.step()
    run.step()
    assert ledger.visible == [], "written, but not committed"
    run.checkpoint()
    assert ledger.calls == [
        *("before begin", "after begin", "invoke a", "invoke b"),
        *("before pre-commit", "after pre-commit", "before begin", "after begin"),
        *("before commit", "after commit"),
    ]
    assert ledger.visible == ["a", "b"]
    run.run()
    assert ledger.visible == ["a", "b", "c"], "the last checkpoint of bounded input commits the rest"
    assert (ledger.open, ledger.prepared) == ({}, {}), "nothing is left behind"


def test_w_99_only_what_is_in_front_of_the_checkpoint_is_committed(ledger: Ledger) -> None:
    run = start([1, 2, 3, 5, 8])
    for _ in range(3):
        run.step()
    run.checkpoint()
    run.step()
    run.step()
    assert ledger.visible == [1, 2, 3]
    # The job dies and goes on from the checkpoint: 5 and 8 come again.
    run.close()
    again = LocalRun.of(job([1, 2, 3, 5, 8]), restore=run.checkpoints.complete[-1])
    again.run()
    assert ledger.visible == [1, 2, 3, 5, 8]


@pytest.mark.parametrize("step", ["before", "after"])
@pytest.mark.parametrize("phase", ["begin", "pre-commit", "commit"])
@pytest.mark.parametrize("occurrence", [1, 2, 3])
def test_tpc_11_a_crash_at_any_step_shows_each_record_once(
    ledger: Ledger, step: str, phase: str, occurrence: int
) -> None:
    seen = 0

    def crash(name: str) -> None:
        nonlocal seen
        if name == f"{step} {phase}":
            seen += 1
            if seen == occurrence:
                raise CrashError

    ledger.fault = crash
    values = list(range(1, 9))
    lives = live(lambda: job(values))
    assert lives == 2
    assert sorted(ledger.visible) == values
    assert ledger.prepared == {}


def test_tpc_09_a_failing_invoke_aborts_and_shows_nothing(ledger: Ledger) -> None:
    def crash(name: str) -> None:
        if name == "invoke 5":
            raise CrashError

    ledger.fault = crash
    lives: list[list[Any]] = []

    def on_life(number: int) -> None:
        lives.append(list(ledger.visible))
        if number == 3:
            ledger.fault = lambda name: None

    live(lambda: job([1, 2, 3, 4, 5, 6]), on_life=on_life)
    assert lives == [[], [1, 2, 3], [1, 2, 3], [1, 2, 3]], "each restart repeats it, and nothing of it is visible"
    assert ledger.visible == [1, 2, 3, 4, 5, 6]


def test_tpc_15_a_complete_checkpoint_commits_those_of_the_ones_given_up_before(ledger: Ledger) -> None:
    run = start([1, 2, 3])
    run.step()
    number = run.checkpoints.begin()
    assert number is not None
    run.checkpoints.give_up(number, "the test says so")
    run.settle()
    run.step()
    run.checkpoint()
    assert ledger.visible == [1, 2]
    run.close()


def test_a_savepoint_commits_nothing_and_the_next_checkpoint_does(ledger: Ledger, tmp_path: Path) -> None:
    run = start([1, 2, 3])
    run.step()
    run.savepoint(tmp_path)
    assert ledger.visible == []
    run.step()
    run.checkpoint()
    assert ledger.visible == [1, 2]
    run.close()


def test_stopping_with_a_savepoint_commits_and_leaves_nothing_behind(ledger: Ledger, tmp_path: Path) -> None:
    run = start([1, 2, 3])
    run.step()
    path = run.savepoint(tmp_path, stop=True)
    run.run()
    assert ledger.visible == [1]
    assert (ledger.open, ledger.prepared) == ({}, {})
    LocalRun.of(job([1, 2, 3]), restore=path).run()
    assert ledger.visible == [1, 2, 3]


def test_with_another_parallelism_each_transaction_still_has_one_successor(ledger: Ledger) -> None:
    def crash(name: str) -> None:
        if name == "before commit":
            raise CrashError

    ledger.fault = crash
    parallelism = iter([2, 3, 1])

    def on_life(number: int) -> None:
        if number == 2:
            ledger.fault = lambda name: None

    lives = live(lambda: job(list(range(7)), parallelism=next(parallelism)), on_life=on_life)
    assert lives == 3
    assert sorted(ledger.visible) == list(range(7))
    assert ledger.prepared == {}


class _NameSerializer(TypeSerializer[str]):
    def serialize(self, element: str, stream: BinaryIO) -> None:
        stream.write(element.encode("ascii"))

    def deserialize(self, stream: BinaryIO) -> str:
        return stream.read().decode("ascii")


class _WithContext(LedgerSink):
    def __init__(self) -> None:
        super().__init__("main")
        self.transaction_serializer = _NameSerializer()

    def initialize_user_context(self) -> Any:
        return {"made": 1}

    def finish_recovering_context(self, handled_transactions: Any) -> None:
        self.ledger.step(f"recovered {sorted(handled_transactions)} with {self.get_user_context()}")


def test_tpc_01_serializers_and_the_user_context_are_used(ledger: Ledger) -> None:
    run = start([1, 2], sink=_WithContext())
    run.step()
    checkpoint = run.checkpoint()
    run.close()
    LocalRun.of(job([1, 2], _WithContext()), restore=checkpoint).run()
    assert "recovered ['t0', 't1'] with {'made': 1}" in ledger.calls, "t0 was committed, t1 was open"
    assert ledger.visible == [1, 2]
    stream = io.BytesIO()
    _NameSerializer().serialize("t0", stream)
    assert stream.getvalue() == b"t0"


def test_a_transaction_older_than_its_timeout_may_be_left_behind(ledger: Ledger) -> None:
    def sink() -> LedgerSink:
        return LedgerSink("main").set_transaction_timeout(1_000).ignore_failures_after_transaction_timeout()

    def crash(name: str) -> None:
        if name == "before commit":
            raise CrashError

    ledger.fault = crash
    run = start([1, 2], sink=sink())
    run.step()
    with pytest.raises(Exception, match="CrashError"):
        run.checkpoint()
    restored = run.checkpoints.complete[-1]
    young = LocalRun.of(job([1, 2], sink()), restore=restored)
    with pytest.raises(Exception, match="CrashError"):
        young.open()
    old = LocalRun.of(job([1, 2], sink()), restore=restored)
    old.clock.set(10_000)
    old.open()
    assert ledger.visible == []


@pytest.mark.parametrize(("age", "is_late"), [(799, False), (800, False), (801, True), (2_000, True)])
def test_a_transaction_near_its_timeout_is_warned_of_also_when_it_is_recovered(
    ledger: Ledger, caplog: pytest.LogCaptureFixture, age: int, is_late: bool
) -> None:
    def sink() -> LedgerSink:
        return LedgerSink("main").set_transaction_timeout(1_000).enable_transaction_timeout_warnings(0.8)

    run = start([1, 2], sink=sink())
    run.step()
    ledger.fault = crash_before_commit
    with pytest.raises(Exception, match="CrashError"):
        run.checkpoint()
    ledger.fault = lambda name: None
    caplog.clear()
    restored = LocalRun(job([1, 2], sink())._build_job(None), restore=run.checkpoints.complete[-1])
    restored.clock.set(age)
    restored.open()
    assert ledger.visible == [1]
    assert ("close to or beyond its timeout of 1000 ms" in caplog.text) is is_late


def crash_before_commit(name: str) -> None:
    if name == "before commit":
        raise CrashError


@pytest.mark.parametrize("ratio", [-0.1, 1.1])
def test_the_warning_ratio_is_a_part_of_the_timeout(ratio: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        LedgerSink("main").enable_transaction_timeout_warnings(ratio)


def test_commit_errors_are_raised_after_all_others_were_committed(ledger: Ledger) -> None:
    fault: Callable[[str], None] = lambda name: None  # noqa: E731 - replaced below
    run = start([1, 2, 3])
    run.step()
    number = run.checkpoints.begin()
    assert number is not None
    run.checkpoints.give_up(number, "the test says so")
    run.settle()
    run.step()
    commits = 0

    def crash_once(name: str) -> None:
        nonlocal commits
        if name == "before commit":
            commits += 1
            if commits == 1:
                raise CrashError

    ledger.fault = crash_once
    with pytest.raises(Exception, match="CrashError"):
        run.checkpoint()
    assert ledger.visible == [2], "the first transaction failed, the second was committed all the same"
    ledger.fault = fault
    LocalRun.of(job([1, 2, 3]), restore=run.checkpoints.complete[-1]).run()
    assert sorted(ledger.visible) == [1, 2, 3]
