"""File sinks in whole jobs, in this process: checkpoints, the end of input, crashes, another parallelism."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    BucketAssigner,
    Encoder,
    FileSink,
    RollingPolicy,
    StreamExecutionEnvironment,
    StreamingFileSink,
    WatermarkStrategy,
)
from penstock.testing.local_run import LocalRun
from tests.unit.connectors.file_sink.file_sink_run import finished, names
from tests.unit.local_jobs import environment
from tests.unit.sinks.lives import CrashError, OneByOne, live


def rows(base: Path, sink: Any = FileSink) -> Any:
    return (
        sink.for_row_format(str(base), Encoder.simple_string_encoder())
        .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        .with_rolling_policy(RollingPolicy.default_rolling_policy(6, 2000, 2000))
        .with_bucket_check_interval(1000)
        .build()
    )


def job(base: Path, values: list[Any], *, parallelism: int = 1, function: Any = None) -> StreamExecutionEnvironment:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    stream = env.from_source(OneByOne(values), WatermarkStrategy.no_watermarks(), "values").uid("values")
    if function is not None:
        stream = stream.map(function)
    stream.rebalance().sink_to(rows(base)).set_parallelism(parallelism).uid("files")
    return env


def test_files_appear_with_checkpoints_and_at_the_end(tmp_path: Path) -> None:
    run = LocalRun.of(job(tmp_path, list("abcde")))
    for _ in range(4):
        run.step()
    assert names(tmp_path) == [".part-0-0.inprogress", ".part-0-1.inprogress"]
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nc\n"}
    run.run()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nc\n", "part-0-1": "d\ne\n"}
    assert len(names(tmp_path)) == 2


def test_w_107_the_jobs_clock_closes_files(tmp_path: Path) -> None:
    run = LocalRun.of(job(tmp_path, list("abc")))
    run.step()
    run.advance(1999)
    run.checkpoint()
    assert finished(tmp_path) == {}
    run.advance(1)
    run.checkpoint()
    assert finished(tmp_path) == {"part-0-0": "a\n"}
    run.close()


def test_w_109_without_checkpoints_no_file_is_finished(tmp_path: Path) -> None:
    env = environment(1)
    env.from_collection(list("abcdefg")).sink_to(rows(tmp_path))
    LocalRun.of(env).run()
    assert finished(tmp_path) == {}
    assert names(tmp_path) == [f".part-0-{number}.inprogress" for number in range(3)]


def test_the_older_sink_is_added_with_add_sink(tmp_path: Path) -> None:
    env = environment(1)
    env.enable_checkpointing(3_600_000)
    env.from_collection(list("abcdefg")).add_sink(rows(tmp_path, StreamingFileSink))
    LocalRun.of(env).run()
    assert finished(tmp_path) == {"part-0-0": "a\nb\nc\n", "part-0-1": "d\ne\nf\n", "part-0-2": "g\n"}


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("fails_at", range(1, 20, 3))
def test_each_record_once_whenever_the_job_fails(tmp_path: Path, parallelism: int, fails_at: int) -> None:
    calls = 0

    def fail_once(value: int) -> int:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise CrashError
        return value

    values = list(range(20))
    lives = live(lambda: job(tmp_path, values, parallelism=parallelism, function=_Shared(fail_once)))
    assert lives == 2
    lines = [int(line) for text in finished(tmp_path).values() for line in text.splitlines()]
    assert sorted(lines) == values
    unfinished = [name for name in names(tmp_path) if "inprogress" in name]
    assert unfinished == [] or fails_at <= 3, "only what failed before the first checkpoint belongs to nobody"


class _Shared:
    """A function that all copies of the job share, so that it fails once in all its lives."""

    known: dict[int, Any] = {}  # noqa: RUF012 - shared on purpose

    def __init__(self, function: Any) -> None:
        self.number = id(function)
        self.known[self.number] = function

    def __call__(self, value: Any) -> Any:
        return self.known[self.number](value)


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (3, 2)])
def test_another_parallelism_goes_on_with_the_open_files(tmp_path: Path, before: int, after: int) -> None:
    values = list(range(30))
    run = LocalRun.of(job(tmp_path, values, parallelism=before))
    for _ in range(7):
        run.step()
    run.checkpoint()
    for _ in range(6):
        run.step()
    run.close()
    LocalRun.of(job(tmp_path, values, parallelism=after), restore=run.checkpoints.complete[-1]).run()
    lines = defaultdict(list)
    for name, text in finished(tmp_path).items():
        lines[name].extend(int(line) for line in text.splitlines())
    assert sorted(line for part in lines.values() for line in part) == values
    assert [name for name in names(tmp_path) if "inprogress" in name] == []


def test_a_savepoint_stops_the_job_and_another_program_goes_on(tmp_path: Path) -> None:
    run = LocalRun.of(job(tmp_path / "out", list("abcdef")))
    run.step()
    run.step()
    path = run.savepoint(tmp_path / "savepoints", stop=True)
    run.close()
    assert names(tmp_path / "out") == [".part-0-0.inprogress"]
    LocalRun.of(job(tmp_path / "out", list("abcdef")), restore=path).run()
    assert finished(tmp_path / "out") == {"part-0-0": "a\nb\nc\n", "part-0-1": "d\ne\nf\n"}
