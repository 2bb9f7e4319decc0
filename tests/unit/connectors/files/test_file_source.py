"""Which files are read, by whom, in which order, and which of them are new."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Boundedness, Duration, MalformedRecordError, ProgramError
from penstock.connectors.files.formats.columnar import ParquetFormat
from penstock.connectors.files.formats.stream import StreamFormat
from penstock.connectors.files.source import input_file
from penstock.connectors.files.source.enumerator import FileEnumerator, FileEnumeratorProvider
from penstock.connectors.files.source.listing import list_files
from penstock.connectors.files.source.source import FileSource
from penstock.connectors.files.source.splits import FileSourceSplit, FileSplitAssigner, FileSplitAssignerProvider
from penstock.foundation.clock import ManualClock
from penstock.vocabulary.sources.protocol import ReaderContext
from tests.unit.connectors.files.reading import TAG, Collected, lines_source, source_records


def tree(root: Path, *names: str) -> Path:
    """Files whose content is their name."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name + "\n")
    return root


def found(root: Path, location: str) -> list[str]:
    return [file.path.removeprefix(f"{root}/") for file in list_files(location)]


def test_directories_are_walked_and_hidden_files_left_out(tmp_path: Path) -> None:
    tree(
        tmp_path, "b.txt", "a/c.txt", "a/.part-0.inprogress.1", "_SUCCESS", "a/_temporary/d.txt", ".git/e.txt", "a/z/f"
    )
    assert found(tmp_path, str(tmp_path)) == ["a/c.txt", "a/z/f", "b.txt"]
    assert found(tmp_path, f"file://{tmp_path}") == ["a/c.txt", "a/z/f", "b.txt"]
    assert found(tmp_path, f"{tmp_path}/") == ["a/c.txt", "a/z/f", "b.txt"]


def test_a_hidden_directory_that_is_asked_for_is_read(tmp_path: Path) -> None:
    tree(tmp_path, "_data/a.txt")
    assert found(tmp_path, str(tmp_path / "_data")) == ["_data/a.txt"]
    assert found(tmp_path, str(tmp_path / "_d*")) == ["_data/a.txt"]


def test_patterns(tmp_path: Path) -> None:
    tree(tmp_path, "a1.csv", "a2.csv", "b1.csv", "a1.txt", "x/a3.csv", "x/y/a4.csv", "x/y/b.txt", ".a5.csv")
    assert found(tmp_path, f"{tmp_path}/a*.csv") == ["a1.csv", "a2.csv"]
    assert found(tmp_path, f"{tmp_path}/[ab]1.csv") == ["a1.csv", "b1.csv"]
    assert found(tmp_path, f"{tmp_path}/a?.txt") == ["a1.txt"]
    assert found(tmp_path, f"{tmp_path}/**/*.csv") == ["a1.csv", "a2.csv", "b1.csv", "x/a3.csv", "x/y/a4.csv"]
    assert found(tmp_path, f"{tmp_path}/x*") == ["x/a3.csv", "x/y/a4.csv", "x/y/b.txt"]
    assert found(tmp_path, f"{tmp_path}/*/y") == ["x/y/a4.csv", "x/y/b.txt"]


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "a/1.txt", "a/2.txt")
    monkeypatch.chdir(tmp_path)
    assert found(tmp_path, "a") == ["a/1.txt", "a/2.txt"]
    assert found(tmp_path, "*/2*") == ["a/2.txt"]


def test_names_with_brackets_are_names_first(tmp_path: Path) -> None:
    tree(tmp_path, "log[1].txt", "log1.txt")
    assert found(tmp_path, f"{tmp_path}/log[1].txt") == ["log[1].txt"]


@pytest.mark.parametrize("location", ["missing", "missing/*.txt", "*.nothing"])
def test_a_path_that_is_not_there_is_an_error(tmp_path: Path, location: str) -> None:
    with pytest.raises(ProgramError, match="There is no .*" + location.replace("*", r"\*")):
        lines_source(str(tmp_path / location)).create_splits(1)


def test_an_unknown_file_system_is_an_error() -> None:
    with pytest.raises(ProgramError, match="gopher://"):
        lines_source("gopher://host/file").create_splits(1)


def test_an_empty_directory_has_no_splits(tmp_path: Path) -> None:
    assert list(lines_source(tmp_path).create_splits(2)) == []


def test_any_file_system_of_pyarrow_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyarrow import fs

    tree(tmp_path, "bucket/a/1.txt", "bucket/a/2.txt", "bucket/b.txt")
    store = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())

    def from_uri(uri: str) -> tuple[Any, str]:
        scheme, _, path = uri.partition("://")
        assert scheme == "s3"
        return store, path.partition("?")[0]

    monkeypatch.setattr(fs, "FileSystem", type("FileSystem", (), {"from_uri": staticmethod(from_uri)}))
    assert [file.path for file in list_files("s3://bucket/a")] == ["s3://bucket/a/1.txt", "s3://bucket/a/2.txt"]
    assert [file.path for file in list_files("s3://bucket/*.txt?region=x")] == ["s3://bucket/b.txt?region=x"]
    input_file._remote_directory.cache_clear()
    assert source_records(lines_source("s3a://bucket/a/*2.txt")) == [["bucket/a/2.txt"]]
    assert source_records(lines_source("s3://bucket/b.txt?region=x")) == [["bucket/b.txt"]]
    input_file._remote_directory.cache_clear()


def test_all_paths_count_and_each_file_once(tmp_path: Path) -> None:
    tree(tmp_path, "a", "b", "c")
    assert source_records(lines_source(tmp_path / "b", tmp_path)) == [["b", "a", "c"]]


def test_one_subtask_reads_file_after_file_in_order(tmp_path: Path) -> None:
    tree(tmp_path, *(f"{number:02}" for number in range(20)))
    assert source_records(lines_source(tmp_path)) == [[f"{number:02}" for number in range(20)]]


def test_files_are_dealt_out_to_whoever_has_least() -> None:
    splits = [FileSourceSplit(name, size) for name, size in [("a", 5), ("b", 1), ("c", 1), ("d", 5), ("e", 2)]]
    lanes = FileSplitAssigner().assign(splits, 2)
    assert [[split.path for split in lane] for lane in lanes] == [["a", "e"], ["b", "c", "d"]]
    assert FileSplitAssignerProvider.locality_aware_split_assigner().assign(splits, 2) == lanes


@settings(deadline=None)
@given(size=st.integers(0, 1000), ranges=st.integers(1, 9))
def test_ranges_cover_a_file_without_gap_or_overlap(size: int, ranges: int) -> None:
    parts = FileSourceSplit("file", size).divided(ranges)
    assert parts[0].start == 0
    assert parts[-1].end is None
    assert [part.end for part in parts[:-1]] == [part.start for part in parts[1:]]
    assert sum(part.length for part in parts) == size


def ranges_of(source: FileSource[Any], parallelism: int) -> list[tuple[int, int | None]]:
    lanes = [split.detail.splits for split in source.create_splits(parallelism)]
    return sorted((split.start, split.end) for lane in lanes for split in lane)


def test_a_big_file_is_read_by_all_subtasks(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    lines = [f"line {number}" for number in range(1000)]
    path.write_text("\n".join(lines))
    source = lines_source(path, set_file_enumerator=FileEnumerator(smallest_range=100))
    records = source_records(source, 3)
    assert len(records) == 3
    assert min(map(len, records)) > 300
    assert [line for part in records for line in part] == lines


def test_what_is_not_divided(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_text("line\n" * 1000)
    gz = tmp_path / "big.gz"
    gz.write_bytes(path.read_bytes())
    enumerator = FileEnumerator(smallest_range=100)
    whole = [(0, None)]
    assert len(ranges_of(lines_source(path, set_file_enumerator=enumerator), 2)) == 2
    assert ranges_of(lines_source(path, set_file_enumerator=enumerator), 1) == whole
    assert ranges_of(lines_source(path), 2) == whole  # too small
    assert ranges_of(lines_source(gz, set_file_enumerator=enumerator), 2) == whole
    non_splittable = FileEnumeratorProvider.default_non_splittable_file_enumerator()
    assert ranges_of(lines_source(path, set_file_enumerator=non_splittable), 2) == whole
    assert FileEnumeratorProvider.default_splittable_file_enumerator() == FileEnumerator()


class OnlyText(FileEnumerator):
    def accepts(self, path: str) -> bool:
        return path.endswith(".txt")


def test_an_enumerator_of_a_programs_own(tmp_path: Path) -> None:
    tree(tmp_path, "a.txt", "b.log")
    assert source_records(lines_source(tmp_path, set_file_enumerator=OnlyText())) == [["a.txt"]]


def test_reading_goes_on_in_the_file_and_line_where_it_was(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{number}\n" for number in range(3)))
    source = lines_source(tmp_path)
    expected = [f"{name}{number}" for name in "abc" for number in range(3)]
    split = source.create_splits(1)[0]
    reader = source.open_split(split, None, ReaderContext(0, 1))
    read: list[str] = []
    while True:
        again = source.open_split(split, reader.position(), ReaderContext(0, 1))
        rest: list[str] = []
        while (records := again.read(2)) is not None:
            rest += records[0]
        assert read + rest == expected
        taken = reader.read(1)
        if taken is None:
            break
        read += taken[0]


@pytest.mark.parametrize("limit", [1, 5, 16, 100])
def test_small_files_are_read_together(tmp_path: Path, limit: int) -> None:
    names = [f"{number:02}" for number in range(40)]
    tree(tmp_path, *names)
    source = lines_source(tmp_path)
    split = source.create_splits(1)[0]
    reader = source.open_split(split, None, ReaderContext(0, 1))
    read: list[str] = []
    while (records := reader.read(limit)) is not None:
        assert min(limit, 15, 40 - len(read)) <= len(records[0]) <= limit
        read += records[0]
        position = reader.position()
        reader.close()
        reader = source.open_split(split, position, ReaderContext(0, 1))
    assert read == names


def aged(path: Path, seconds: int) -> Path:
    os.utime(path, (seconds, seconds))
    return path


def monitored(root: Path, clock: ManualClock) -> FileSource[str]:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(root))
    builder = builder.monitor_continuously(Duration.of_millis(100)).with_settling_time(Duration.of_seconds(5))
    return FileSource(builder._settings, clock)


def test_new_files_of_a_monitored_directory_are_found_once(tmp_path: Path) -> None:
    clock = ManualClock(100_000)
    source = monitored(tmp_path, clock)
    assert source.discovery_interval == 100
    assert source.boundedness is Boundedness.CONTINUOUS_UNBOUNDED
    tree(tmp_path, "a", "b")
    aged(tmp_path / "a", 90)
    aged(tmp_path / "b", 90)
    known = list(source.create_splits(1))
    assert [split.path for each in known for split in each.detail.splits] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert list(source.discover_splits(known)) == []
    aged(tree(tmp_path, "c") / "c", 95)
    new = list(source.discover_splits(known))
    assert [split.path for each in new for split in each.detail.splits] == [f"{tmp_path}/c"]
    (tmp_path / "a").write_text("changed\n")
    aged(tmp_path / "a", 91)
    assert list(source.discover_splits([*known, *new])) == []


def test_a_file_that_was_just_written_waits(tmp_path: Path) -> None:
    clock = ManualClock(100_000)
    source = monitored(tmp_path, clock)
    aged(tree(tmp_path, "a") / "a", 96)
    assert list(source.create_splits(1)) == []
    clock.advance(1_000)
    assert len(source.discover_splits([])) == 1


def test_many_new_files_are_dealt_out_to_all_subtasks(tmp_path: Path) -> None:
    clock = ManualClock(100_000)
    source = monitored(tmp_path, clock)
    aged(tree(tmp_path, "a") / "a", 1)
    aged(tree(tmp_path, "a2") / "a2", 1)
    known = list(source.create_splits(2))
    for name in ("b", "c", "d", "e"):
        aged(tree(tmp_path, name) / name, 2)
    new = list(source.discover_splits(known))
    assert [len(each.detail.splits) for each in new] == [2, 2]
    assert len({each.id for each in [*known, *new]}) == 4


def test_a_static_set_of_files_does_not_grow(tmp_path: Path) -> None:
    tree(tmp_path, "a")
    source = lines_source(tmp_path)
    known = source.create_splits(1)
    tree(tmp_path, "b")
    assert source.discovery_interval is None
    assert source.boundedness is Boundedness.BOUNDED
    assert list(source.discover_splits(known)) == []


def test_malformed_records_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ok\n\xff\n")
    with pytest.raises(MalformedRecordError, match="line 2"):
        source_records(lines_source(tmp_path))
    side = Collected()
    assert source_records(lines_source(tmp_path, with_malformed_records_to=TAG), side=side) == [["ok"]]
    assert [record.content for record in side.records] == [b"\xff"]


def test_wrong_arguments_are_refused_where_they_are_written() -> None:
    with pytest.raises(TypeError, match="StreamFormat"):
        FileSource.for_record_stream_format(ParquetFormat(), "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="BulkFormat"):
        FileSource.for_bulk_file_format(StreamFormat.text_line_format(), "a")  # type: ignore[arg-type]
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "a")
    with pytest.raises(ProgramError, match="at least one path"):
        FileSource.for_record_stream_format(StreamFormat.text_line_format())
    with pytest.raises(ProgramError, match="positive"):
        builder.monitor_continuously(Duration.of_millis(0))
    with pytest.raises(TypeError, match="Duration"):
        builder.monitor_continuously(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="FileEnumeratorProvider"):
        builder.set_file_enumerator(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="FileSplitAssignerProvider"):
        builder.set_split_assigner(None)  # type: ignore[arg-type]
