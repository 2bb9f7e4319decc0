"""File sinks on Spark: each record in one finished file, through failures, cancellation, restarts and kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from penstock import (
    BucketAssigner,
    BucketContext,
    Encoder,
    ExternalizedCheckpointRetention,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    ParquetBulkWriters,
    RestartStrategies,
    RollingPolicy,
    StreamExecutionEnvironment,
    StreamingFileSink,
    Types,
)
from tests.spark.checkpoint_bench import CheckpointBench, result
from tests.spark.checkpoint_jobs import Fuse, numbers
from tests.spark.jobs import run_of, wait_until


class ByRemainder(BucketAssigner[int]):
    """A bucket for each remainder of three."""

    def get_bucket_id(self, element: int, context: BucketContext) -> str:
        return f"remainder={element % 3}"


@pytest.fixture
def bench(tmp_path: Path) -> CheckpointBench:
    return CheckpointBench(tmp_path)


def rows(out: Path, size: int = 60) -> Any:
    return (
        FileSink.for_row_format(str(out), Encoder.simple_string_encoder())
        .with_bucket_assigner(ByRemainder())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(size))
    )


def compacted(out: Path) -> Any:
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).build()
    return rows(out).enable_compact(strategy, FileCompactor.concat_file_compactor())


def started(bench: CheckpointBench, sink: Any, at: int = -1, limit: int = 300, **settings: Any) -> Any:
    """Start a job that writes numbers and fails once at one of them."""
    env = bench.env(**settings)
    env.get_checkpoint_config().set_externalized_checkpoint_retention(
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    )
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 0))
    stream = numbers(env, bench.tap, limit).map(Fuse(bench.diary, at)).rebalance()
    stream.sink_to(sink).uid("files")
    return env.execute_async()


def lines(out: Path) -> list[int]:
    """What a reader sees, file by file."""
    paths = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return [int(line) for path in paths for line in path.read_text(encoding="utf-8").split()]


def left_over(out: Path) -> list[str]:
    return sorted(path.name for path in out.rglob(".*") if path.is_file())


@pytest.mark.parametrize("sink", [rows, compacted])
def test_a_job_that_fails_writes_each_record_once(bench: CheckpointBench, sink: Callable[[Path], Any]) -> None:
    out = bench.place / "out"
    bench.tap.open(70)
    client = started(bench, sink(out).build(), at=201)
    wait_until(lambda: lines(out), "a finished file")
    seen = lines(out)
    assert sorted(seen) == sorted(set(seen))
    bench.tap.open(150)
    result(client)
    assert bench.diary.lines("failed")
    assert sorted(lines(out)) == list(range(300))
    assert left_over(out) == []


def test_a_job_that_fails_before_its_first_checkpoint_begins_again(bench: CheckpointBench) -> None:
    out = bench.place / "out"
    bench.tap.open(150)
    result(started(bench, rows(out).build(), at=201, interval=3_600_000))
    assert bench.diary.lines("failed")
    assert sorted(lines(out)) == list(range(300))
    assert left_over(out) == []


def test_a_cancelled_job_goes_on_from_its_checkpoint_with_another_parallelism(bench: CheckpointBench) -> None:
    out = bench.place / "out"
    bench.tap.open(70)
    client = started(bench, rows(out, size=1 << 20).build())
    wait_until(lambda: left_over(out), "an unfinished file")
    taken = bench.wait_for_checkpoint(bench.wait_for_checkpoint())
    client.cancel().result(60)
    assert lines(out) == []
    bench.tap.open(150)
    path = bench.path_of(max(int(each.name[4:]) for each in bench.checkpoints.glob("*/chk-*")))
    assert int(path.name[4:]) >= taken
    restored = {"parallelism": 1, "execution__state-recovery__path": f"file://{path}"}
    again = started(bench, rows(out, size=1 << 20).build(), **restored)
    result(again)
    assert sorted(lines(out)) == list(range(300))
    assert left_over(out) == []


def test_workers_are_killed(bench: CheckpointBench) -> None:
    out = bench.place / "out"
    bench.tap.open(40)
    client = started(bench, rows(out).build())
    for allowed in (80, 120):
        bench.wait_for_checkpoint(bench.wait_for_checkpoint())
        for process in {process for _, process in run_of(client).processes().values()}:
            os.kill(process, signal.SIGKILL)
        bench.tap.open(allowed)
    bench.tap.open(150)
    result(client)
    assert sorted(lines(out)) == list(range(300))
    assert left_over(out) == []


def test_w_109_without_checkpoints_no_file_is_finished(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.from_collection(list(range(100))).sink_to(rows(tmp_path).build())
    env.execute()
    assert lines(tmp_path) == []
    assert left_over(tmp_path)


def test_parquet_with_the_older_sink(bench: CheckpointBench) -> None:
    out = bench.place / "out"
    env = bench.env()
    row_type = Types.ROW_NAMED(["number", "text"], [Types.LONG(), Types.STRING()])
    sink = StreamingFileSink.for_bulk_format(str(out), ParquetBulkWriters.for_row_type(row_type))
    bench.tap.open(50)
    pairs = numbers(env, bench.tap).map(lambda number: (number, str(number)))
    pairs.add_sink(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
    env.execute()
    files = [path for path in out.iterdir() if not path.name.startswith(".")]
    found = [tuple(row.values()) for path in files for row in parquet.read_table(path).to_pylist()]
    assert sorted(found) == [(number, str(number)) for number in range(100)]
    assert left_over(out) == []
