"""Sinks in batch: nothing is seen before the job has succeeded, and each record once, whichever task ran twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Encoder, FileSink, RuntimeExecutionMode, UserFunctionError
from penstock.testing import LocalBatchRun
from tests.unit.local_jobs import environment
from tests.unit.sinks.ledger_sink import LEDGERS, Ledger, LedgerSink, PlainLedgerSink
from tests.unit.sinks.test_sink_protocol import _ManifestSink
from tests.unit.sinks.test_write_ahead import WORLD, Rows, World


@pytest.fixture
def ledger() -> Ledger:
    LEDGERS["main"] = Ledger()
    return LEDGERS["main"]


@pytest.fixture
def world() -> World:
    WORLD.__init__()  # type: ignore[misc] # functions of jobs find it by its name
    return WORLD


def lost_once(stage: int, index: int, attempt: int) -> bool:
    """Every task does all its work and is lost then; its second attempt counts."""
    return attempt == 0


def never(stage: int, index: int, attempt: int) -> bool:
    return False


def run(sink: Any, *, loses: Any = never, function: Any = lambda number: number) -> LocalBatchRun:
    env = environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_sequence(1, 9).map(function)
    (stream.add_sink if isinstance(sink, (LedgerSink, Rows)) else stream.sink_to)(sink).uid("sink")
    return LocalBatchRun.of(env, loses=loses).run()


@pytest.mark.parametrize("loses", [never, lost_once])
def test_fsk_02_files_are_finished_once(tmp_path: Path, loses: Any) -> None:
    run(FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build(), loses=loses)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["part-0-0", "part-1-0"]
    assert sorted(int(line) for path in files for line in path.read_text().splitlines()) == list(range(1, 10))


def test_no_file_is_finished_where_the_job_fails(tmp_path: Path) -> None:
    with pytest.raises(UserFunctionError):
        run(
            FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build(),
            function=lambda number: 1 // (9 - number),
        )
    assert [path.name for path in tmp_path.rglob("part-*")] == []


@pytest.mark.parametrize("loses", [never, lost_once])
def test_two_phase_functions_commit_at_the_end(ledger: Ledger, loses: Any) -> None:
    run(LedgerSink("main"), loses=loses)
    assert sorted(ledger.visible) == list(range(1, 10))
    first_commit = ledger.calls.index("before commit")
    assert not any(call.startswith("invoke") for call in ledger.calls[first_commit:])
    assert ledger.calls.count("after commit") == 2


@pytest.mark.parametrize("loses", [never, lost_once])
def test_committables_of_the_attempt_that_counts_are_committed(ledger: Ledger, loses: Any) -> None:
    run(PlainLedgerSink("main", refusals=2), loses=loses)
    assert sorted(ledger.visible) == list(range(1, 10))


@pytest.mark.parametrize("loses", [never, lost_once])
def test_the_global_committer_commits_once_for_all(ledger: Ledger, loses: Any) -> None:
    run(_ManifestSink("main"), loses=loses)
    assert sorted(ledger.visible) == list(range(1, 10))
    assert ledger.calls == ["before commit", "version 9", "end"]


@pytest.mark.parametrize("loses", [never, lost_once])
def test_write_ahead_sinks_send_at_the_end(world: World, loses: Any) -> None:
    run(Rows(), loses=loses)
    assert sorted(world.rows) == list(range(1, 10))
    assert len(world.sent) == 2
    assert world.opened == []


def test_a_sink_in_front_of_other_stages_is_in_the_last_one(ledger: Ledger) -> None:
    env = environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    numbers = env.from_sequence(1, 9).map(lambda number: (number % 2, number))
    numbers.sink_to(PlainLedgerSink("main"))
    numbers.key_by(lambda pair: pair[0]).sum(1).print()
    done = LocalBatchRun.of(env, loses=lost_once).run()
    assert sorted(ledger.visible) == sorted((number % 2, number) for number in range(1, 10))
    assert sorted(line.partition("> ")[2] for line in done.printed) == ["(0, 20)", "(1, 25)"]


def test_guarantees_need_no_checkpoints() -> None:
    env = environment(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.from_sequence(1, 9).sink_to(PlainLedgerSink("main"))
    assert "exactly-once" in env.explain()
    assert "needs one Spark task slot" in env.explain()
