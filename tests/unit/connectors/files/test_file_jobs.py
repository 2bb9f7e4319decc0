"""Whole jobs that read files, in this process: windows at the end, side outputs, crashes at every step, new files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    Duration,
    MalformedRecordError,
    OutputTag,
    Time,
    TumblingEventTimeWindows,
    WatermarkStrategy,
)
from penstock.connectors.files.formats.columnar import ParquetFormat
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.stream import JsonLinesFormat, StreamFormat
from penstock.connectors.files.source.enumerator import FileEnumerator
from penstock.connectors.files.source.source import FileSource
from penstock.testing import build_job
from penstock.testing.local_run import LocalRun
from tests.unit.local_jobs import collect, environment, local_run, results, run_locally


def times() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda line, _: int(line))


def test_src_03_at_the_end_of_a_file_every_window_fires(tmp_path: Path) -> None:
    (tmp_path / "times").write_text("1\n4\n5\n9\n12\n")
    env = environment()
    lines = env.read_text_file(str(tmp_path / "times")).assign_timestamps_and_watermarks(times())
    counts = (
        lines.map(lambda _: 1).window_all(TumblingEventTimeWindows.of(Time.milliseconds(5))).reduce(lambda a, b: a + b)
    )
    assert results(counts) == [2, 2, 1]


def test_src_03_also_where_the_source_has_the_strategy(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("1\n4\n5\n")
    env = environment(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    lines = env.from_source(source, times(), "files")
    windows = lines.map(lambda _: 1).window_all(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    # The third file goes to a subtask that has read one already: its records may come behind the watermark of that.
    assert results(windows.reduce(lambda a, b: a + b))[0] >= 4


def test_src_18_with_parallelism_one_the_order_is_kept(tmp_path: Path) -> None:
    for name in ("1", "2", "3"):
        (tmp_path / name).write_text("".join(f"{name}-{number}\n" for number in range(2000)))
    lines = environment(2).read_text_file(str(tmp_path)).set_parallelism(1)
    expected = [f"{name}-{number}" for name in "123" for number in range(2000)]
    assert results(lines) == expected


def test_any_format_is_read(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    (tmp_path / "a.csv").write_text("id,name\n1,a\n")
    (tmp_path / "a.jsonl").write_text('{"id": 2}\n')
    parquet.write_table(pyarrow.table({"id": [3]}), tmp_path / "a.parquet")
    env = environment()
    read = [
        env.read_file(CsvFormat({"id": int}), str(tmp_path / "*.csv")),
        env.read_file(JsonLinesFormat(), str(tmp_path / "*.jsonl")),
        env.read_file(ParquetFormat(), str(tmp_path / "*.parquet")),
    ]
    collect(read[0].union(*read[1:]).map(lambda record: record["id"]))
    assert sorted(run_locally(env).collected["out"]) == [1, 2, 3]


def test_a_missing_file_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    env = environment()
    collect(env.read_text_file(str(tmp_path / "missing.txt")))
    with pytest.raises(ValueError, match=r"There is no .*missing\.txt"):
        run_locally(env)


MALFORMED = OutputTag("malformed")


def test_malformed_records_fail_the_job(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": \n{"id": 3}\n')
    env = environment()
    collect(env.read_file(JsonLinesFormat(), str(tmp_path)))
    with pytest.raises(MalformedRecordError, match=r"a\.jsonl(.|\n)*line 2, byte 10"):
        run_locally(env)


def test_malformed_records_go_to_the_side_output(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": \n{"id": 3}\n')
    env = environment()
    builder = FileSource.for_record_stream_format(JsonLinesFormat(), str(tmp_path))
    source = builder.with_malformed_records_to(MALFORMED).build()
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
    collect(records.map(lambda record: record["id"]), "good")
    collect(records.get_side_output(MALFORMED).map(lambda record: (record.position, record.content)), "bad")
    run = run_locally(env)
    assert run.collected == {"good": [1, 3], "bad": [(10, '{"id": ')]}


def counting_job(path: Path, parallelism: int) -> Any:
    env = environment(parallelism)
    env.enable_checkpointing(1000)
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path))
    builder = builder.set_file_enumerator(FileEnumerator(smallest_range=200)).with_malformed_records_to(MALFORMED)
    lines = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "files").uid("files")
    collect(lines.key_by(lambda line: line[-1]).map(lambda line: line), "lines")
    collect(lines.get_side_output(MALFORMED).map(lambda record: record.content), "bad")
    return build_job(env)


@pytest.mark.parametrize("rescaled", [2, 1, 3])
def test_src_17_reading_goes_on_from_a_checkpoint_of_any_step(tmp_path: Path, rescaled: int) -> None:
    big = [f"line {number}" for number in range(600)]
    (tmp_path / "big").write_text("\n".join(big))
    (tmp_path / "small").write_bytes(b"one\n\xff\ntwo\n")
    expected = sorted([*big, "one", "two"])
    steps = 0
    is_finished = False
    while not is_finished:
        first = LocalRun(counting_job(tmp_path, 2))
        for _ in range(steps):
            first.step()
        is_finished = first.is_finished
        checkpoint = first.checkpoint()
        before = {name: list(records) for name, records in first.collected.items()}
        first.close()
        second = LocalRun(counting_job(tmp_path, rescaled), restore=checkpoint).run()
        lines = before.get("lines", []) + second.collected.get("lines", [])
        assert sorted(lines) == expected
        assert before.get("bad", []) + second.collected.get("bad", []) == [b"\xff"]
        steps += 1
    assert steps > 3


def test_a_file_that_is_added_to_a_monitored_directory_is_read(tmp_path: Path) -> None:
    def put(name: str, *lines: str) -> None:
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
        os.utime(tmp_path / name, (1, 1))

    put("a", "one", "two")
    env = environment(2)
    env.enable_checkpointing(10_000)
    collect(env.read_file(StreamFormat.text_line_format(), str(tmp_path), Duration.of_seconds(1)).uid("files"))
    run = local_run(env)
    for _ in range(5):
        run.step()
    assert sorted(run.collected["out"]) == ["one", "two"]
    put("b", "three")
    put(".hidden", "not this")
    run.advance(1000)
    for _ in range(5):
        run.step()
    assert sorted(run.collected["out"]) == ["one", "three", "two"]
    assert not run.is_finished
    checkpoint = run.checkpoint()
    run.close()
    put("c", "four")
    env = environment(3)
    env.enable_checkpointing(10_000)
    collect(env.read_file(StreamFormat.text_line_format(), str(tmp_path), Duration.of_seconds(1)).uid("files"))
    again = LocalRun.of(env, restore=checkpoint)
    for _ in range(5):
        again.step()
    assert again.collected["out"] == ["four"]
    again.close()
