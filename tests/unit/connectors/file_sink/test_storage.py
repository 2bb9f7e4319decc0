"""The sink on file systems of pyarrow: with a rename, and as an object store that has none."""

from __future__ import annotations

import resource

import pytest
from pyarrow import fs

from penstock.connectors.files.sink.bucket_assigner import BucketAssigner, BucketContext
from penstock.connectors.files.sink.committer import PartCommitter
from penstock.connectors.files.sink.part_storage import ArrowPartStorage, LocalPartStorage, part_storage
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.files.sink.sink import FileSink
from penstock.connectors.files.sink.state import OpenPart, PendingPart, WriterState
from penstock.errors import CheckpointError
from penstock.vocabulary.types.serialization import Encoder
from tests.unit.connectors.file_sink.file_sink_run import FileSinkRun, finished, names


def file_system(base, kind):
    if kind == "memory":
        file_system = fs._MockFileSystem()
        file_system.create_dir("out")
        return fs.SubTreeFileSystem("out", file_system)
    return fs.SubTreeFileSystem(str(base), fs.LocalFileSystem())


@pytest.mark.parametrize("kind", ["directory", "memory"])
@pytest.mark.parametrize("has_rename", [True, False])
def test_row_formats_roll_at_every_checkpoint_where_files_cannot_be_continued(tmp_path, kind, has_rename):
    files = file_system(tmp_path, kind)
    builder = FileSink.for_row_format("data", Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.date_time_bucket_assigner("yyyy", "UTC"))
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy())
    run = FileSinkRun(builder.build(), storage=lambda: (ArrowPartStorage(files, has_rename=has_rename), "data"))
    run.write("a")
    run.checkpoint()
    run.write("b")
    run.snapshot()
    run.write("lost")
    run.restart()
    run.write("c")
    run.finish()
    found = files.get_file_info(fs.FileSelector("data/1970"))
    content = {info.base_name: files.open_input_file(info.path).read() for info in found}
    # The file of the lost record was the third; its number is used again, the file itself is gone.
    assert content == {"part-0-0": b"a\n", "part-0-1": b"b\n", "part-0-2": b"c\n"}


def test_a_copy_whose_original_was_not_deleted_is_finished(tmp_path):
    storage = ArrowPartStorage(file_system(tmp_path, "directory"), has_rename=False)
    (tmp_path / ".part-0-0.inprogress.x").write_text("a\n")
    (tmp_path / "part-0-0").write_text("a\n")
    PartCommitter(storage).recover([PendingPart("", ".part-0-0.inprogress.x", "part-0-0", 2)])
    assert names(tmp_path) == ["part-0-0"]


@pytest.mark.parametrize("recovering", [True, False])
def test_a_file_of_the_same_name_is_never_replaced(tmp_path, recovering):
    (tmp_path / ".part-0-0.inprogress.x").write_text("new\n")
    (tmp_path / "part-0-0").write_text("old\n")
    committer = PartCommitter(LocalPartStorage())
    part = PendingPart("", str(tmp_path / ".part-0-0.inprogress.x"), str(tmp_path / "part-0-0"), 4)
    with pytest.raises(CheckpointError, match="another file of that name"):
        (committer.recover if recovering else committer.commit)([part])
    assert finished(tmp_path) == {"part-0-0": "old\n"}


def test_two_processes_commit_the_same_file(tmp_path):
    class Overtaken(LocalPartStorage):
        def move(self, source: str, target: str) -> None:
            super().move(source, target)
            super().move(source, target)

    (tmp_path / ".part-0-0.inprogress.x").write_text("a\n")
    part = PendingPart("", str(tmp_path / ".part-0-0.inprogress.x"), str(tmp_path / "part-0-0"), 2)
    assert PartCommitter(Overtaken()).commit([part]) == []
    assert names(tmp_path) == ["part-0-0"]


def test_a_commit_without_its_file_fails(tmp_path):
    part = PendingPart("", str(tmp_path / ".part-0-0.inprogress.x"), str(tmp_path / "part-0-0"), 4)
    with pytest.raises(CheckpointError, match="neither of them is there"):
        PartCommitter(LocalPartStorage()).commit([part])


def test_a_damaged_file_is_not_finished(tmp_path):
    (tmp_path / ".part-0-0.inprogress.x").write_text("a\n")
    part = PendingPart("", str(tmp_path / ".part-0-0.inprogress.x"), str(tmp_path / "part-0-0"), 4)
    with pytest.raises(CheckpointError, match="2 bytes instead of the 4"):
        PartCommitter(LocalPartStorage()).commit([part])
    assert finished(tmp_path) == {}


def test_an_open_file_cannot_move_to_a_file_system_that_cannot_continue_it(tmp_path):
    (tmp_path / "open").write_text("a\n")
    builder = FileSink.for_row_format("", Encoder.simple_string_encoder())
    storage = ArrowPartStorage(file_system(tmp_path, "directory"))
    run = FileSinkRun(builder.build(), storage=lambda: (storage, ""))
    state = WriterState(0, 1, 1, "0" * 12, (OpenPart("", "open", "part-0-0", 2, 0, 0),))
    sink = builder.build()
    sink.open_storage = lambda: (storage, "")
    with pytest.raises(CheckpointError, match="keeps no unfinished files"):
        sink.restore_writer(run.context(0), [state])


def test_local_paths_are_those_with_and_without_a_scheme(tmp_path):
    for location in (str(tmp_path), f"file://{tmp_path}", f"file:{tmp_path}"):
        storage, path = part_storage(location)
        assert isinstance(storage, LocalPartStorage)
        assert path == str(tmp_path)


def test_more_buckets_than_a_process_may_have_open_files(tmp_path):
    class ByNumber(BucketAssigner[int]):
        def get_bucket_id(self, element: int, context: BucketContext) -> str:
            return str(element)

    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    run = FileSinkRun(builder.with_bucket_assigner(ByNumber()).build())
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, most))
    try:
        run.write(*range(200))
        run.write(*range(200))
        run.writers[0].prepare_commit()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
    assert len(names(tmp_path)) == 200


def test_relative_paths_are_those_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    builders = [FileSink.for_row_format(location, str.encode) for location in ("out", "s3://bucket/out", "file:/x")]
    locations = [builder.build().settings.base_path for builder in builders]
    assert locations == [str(tmp_path / "out"), "s3://bucket/out", "file:/x"]


def test_other_schemes_are_pyarrows():
    storage, path = part_storage("mock:///out")
    assert isinstance(storage, ArrowPartStorage)
    assert storage.has_rename
    assert path.strip("/") == "out"
