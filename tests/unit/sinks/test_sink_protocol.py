"""Writers, committers and global committers: when each is called, and with what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Committer,
    Configuration,
    GlobalCommitter,
    ProgramError,
    Sink,
    SinkWriter,
    StreamExecutionEnvironment,
    WatermarkStrategy,
    WriterContext,
)
from penstock.testing import LocalRun, build_job
from tests.unit.local_jobs import environment
from tests.unit.sinks.ledger_sink import LEDGERS, Ledger, PlainLedgerSink
from tests.unit.sinks.lives import CrashError, OneByOne, live


@pytest.fixture(autouse=True)
def ledger() -> Ledger:
    LEDGERS["main"] = Ledger()
    return LEDGERS["main"]


def job(values: list[Any], sink: Any, parallelism: int = 1, interval: int | None = 3_600_000) -> Any:
    env = environment(1)
    if interval is not None:
        env.enable_checkpointing(interval)
    stream = env.from_source(OneByOne(values), WatermarkStrategy.no_watermarks(), "values")
    stream.sink_to(sink).set_parallelism(parallelism).uid("sink")
    return env


def test_usk_03_committables_are_committed_with_their_checkpoint(ledger: Ledger) -> None:
    run = LocalRun.of(job([1, 2, 3], PlainLedgerSink("main")))
    run.step()
    run.step()
    assert ledger.visible == []
    run.checkpoint()
    assert ledger.visible == [1, 2]
    run.run()
    assert ledger.visible == [1, 2, 3]
    assert ledger.prepared == {}


def test_what_cannot_be_committed_yet_is_tried_again_and_the_job_waits_for_it(ledger: Ledger) -> None:
    run = LocalRun.of(job([1, 2], PlainLedgerSink("main", refusals=2)))
    run.step()
    run.checkpoint()
    assert ledger.visible == [], "refused"
    run.advance(1000)
    assert ledger.visible == [], "refused again a second later"
    run.advance(1000)
    assert ledger.visible == [1]
    run.run()
    assert ledger.visible == [1, 2]


def test_what_is_still_to_be_committed_is_in_the_next_checkpoints_too(ledger: Ledger) -> None:
    run = LocalRun.of(job([1, 2], PlainLedgerSink("main", refusals=100)))
    run.step()
    run.checkpoint()
    run.step()
    checkpoint = run.checkpoint()
    assert ledger.visible == []
    LocalRun.of(job([1, 2], PlainLedgerSink("main")), restore=checkpoint).run()
    assert ledger.visible == [1, 2]


def test_without_checkpoints_nothing_is_committed(ledger: Ledger) -> None:
    LocalRun.of(job([1, 2], PlainLedgerSink("main"), interval=None)).run()
    assert ledger.visible == []


def test_without_checkpoints_after_tasks_finish_the_rest_stays_uncommitted(ledger: Ledger) -> None:
    """As in Flink: what came since the last checkpoint is not committed when the input ends."""
    env = job([1, 2, 3], PlainLedgerSink("main"))
    key = "execution.checkpointing.checkpoints-after-tasks-finish.enabled"
    env.configure(Configuration.from_dict({key: "false"}))
    run = LocalRun(build_job(env))
    run.step()
    run.checkpoint()
    run.run()
    assert ledger.visible == [1]


def test_with_savepoints_only_the_last_one_commits(ledger: Ledger, tmp_path: Path) -> None:
    run = LocalRun.of(job([1, 2], PlainLedgerSink("main"), interval=None))
    run.step()
    run.savepoint(tmp_path, stop=True)
    run.run()
    assert ledger.visible == [1]


class _StatefulSink(Sink[int]):
    """Notes what its writers are restored with."""

    def __init__(self, *, shares: bool = False) -> None:
        self.shares_writer_state = shares

    def create_writer(self, context: WriterContext) -> SinkWriter[int]:
        return _StatefulWriter(context.subtask)

    def restore_writer(self, context: WriterContext, states: list[Any]) -> SinkWriter[int]:
        LEDGERS["main"].calls.append(f"{context.subtask}: {sorted(states)}")
        return _StatefulWriter(context.subtask)


class _StatefulWriter(SinkWriter[int]):
    def __init__(self, subtask: int) -> None:
        self._subtask = subtask

    def write(self, element: int, timestamp: int | None) -> None:
        LEDGERS["main"].visible.append(element)

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return [f"state of {self._subtask}"]


@pytest.mark.parametrize(
    ("shares", "parallelism", "expected"),
    [
        (False, 3, ["0: ['state of 0']", "1: ['state of 1']", "2: ['state of 2']"]),
        (False, 2, ["0: ['state of 0', 'state of 2']", "1: ['state of 1']"]),
        (False, 4, ["0: ['state of 0']", "1: ['state of 1']", "2: ['state of 2']", "3: []"]),
        (True, 2, ["0: ['state of 0', 'state of 1', 'state of 2']", "1: ['state of 0', 'state of 1', 'state of 2']"]),
        (
            True,
            3,
            [f"{subtask}: ['state of 0', 'state of 1', 'state of 2']" for subtask in range(3)],
        ),
    ],
)
def test_usk_02_writers_take_over_states(shares: bool, parallelism: int, expected: list[str], ledger: Ledger) -> None:
    run = LocalRun.of(job([1], _StatefulSink(shares=shares), 3))
    checkpoint = run.checkpoint()
    run.close()
    again = LocalRun.of(job([1], _StatefulSink(shares=shares), parallelism), restore=checkpoint)
    again.open()
    assert sorted(ledger.calls) == expected
    again.close()


class _ManifestSink(PlainLedgerSink):
    """Commits for all its writers in one place, like a table whose versions are whole."""

    def create_committer(self, context: WriterContext) -> Committer | None:
        return None

    def create_global_committer(self, context: WriterContext) -> GlobalCommitter:
        return _Manifest(LEDGERS[self.name])


class _Manifest(GlobalCommitter):
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def combine(self, committables: list[Any]) -> Any:
        return sorted(committables)

    def commit(self, global_committables: list[Any]) -> list[Any]:
        for names in global_committables:
            self._ledger.step("before commit")
            for name in names:
                self._ledger.commit(name)
            self._ledger.step(f"version {len(self._ledger.visible)}")
        return []

    def end_of_input(self) -> None:
        self._ledger.step("end")


def test_usk_04_the_global_committer_commits_once_for_all_writers(ledger: Ledger) -> None:
    run = LocalRun.of(job([1, 2, 3, 4, 5], _ManifestSink("main"), 2))
    for _ in range(4):
        run.step()
    run.checkpoint()
    assert sorted(ledger.visible) == [1, 2, 3, 4]
    assert ledger.calls == ["before commit", "version 4"], "one commit for the records of both writers"
    run.run()
    assert ledger.calls == ["before commit", "version 4", "before commit", "version 5", "end"]


@pytest.mark.parametrize("occurrence", [1, 2, 3])
def test_a_global_commit_that_fails_is_made_up_for(ledger: Ledger, occurrence: int) -> None:
    seen = 0

    def crash(name: str) -> None:
        nonlocal seen
        seen += name == "before commit"
        if name == "before commit" and seen == occurrence:
            raise CrashError

    ledger.fault = crash

    def build() -> StreamExecutionEnvironment:
        env: StreamExecutionEnvironment = job(list(range(8)), _ManifestSink("main"), 2)
        return env

    assert live(build) == 2
    assert sorted(ledger.visible) == list(range(8))
    assert ledger.prepared == {}


def test_sink_to_refuses_what_is_no_sink() -> None:
    with pytest.raises(ProgramError, match=r"sink_to\(\) needs a Sink"):
        environment().from_collection([1]).sink_to(print)
