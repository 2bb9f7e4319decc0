"""Checkpoints on any file system of pyarrow, tried with the one in memory and the local one."""

import pickle

import pytest
from pyarrow import fs

from penstock.errors import CheckpointError, CorruptCheckpointError
from penstock.foundation.files.by_uri import ArrowFiles, files_of
from penstock.foundation.files.local import LocalFiles


@pytest.fixture
def files(tmp_path):
    return ArrowFiles(fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))


def test_files_are_written_and_read(files):
    output = files.create("a/b/state")
    output.write(b"hello ")
    output.write(b"world")
    output.close()
    source = files.open("a/b/state")
    assert (source.name, source.size) == ("a/b/state", 11)
    assert source.read_at(6, 100) == b"world"
    assert files.size_of("a/b/state") == 11
    assert files.names_in("a") == ["b"]


def test_discarded_files_are_gone(files):
    output = files.create("a/state")
    output.write(b"x")
    output.discard()
    assert files.size_of("a/state") is None


def test_published_files_are_whole_and_leave_nothing_beside_them(files):
    files.publish("a/_metadata", b"1")
    files.publish("a/_metadata", b"22")
    assert files.open("a/_metadata").read_at(0, 9) == b"22"
    assert files.names_in("a") == ["_metadata"]


def test_deletion_is_patient(files):
    files.publish("a/b/c", b"1")
    files.delete("a/b/c")
    files.delete("a/b/c")
    files.publish("a/b/c", b"1")
    files.delete_directory("a/b")
    files.delete_directory("a/b")
    assert files.names_in("a") == []
    assert files.names_in("nowhere") == []
    assert files.size_of("a") is None


def test_a_missing_file_is_named(files):
    with pytest.raises(CorruptCheckpointError, match="a/missing"):
        files.open("a/missing")


def test_file_systems_travel(files):
    files.publish("x/a", b"1")
    assert pickle.loads(pickle.dumps(files)).size_of("x/a") == 1


@pytest.mark.parametrize("location", ["/a/b", "file:///a/b", "file:/a/b"])
def test_local_locations_need_no_pyarrow(location):
    found, path = files_of(location)
    assert isinstance(found, LocalFiles)
    assert path == "/a/b"


def test_an_unknown_scheme_is_refused():
    with pytest.raises(CheckpointError, match="odd://host/a"):
        files_of("odd://host/a")
