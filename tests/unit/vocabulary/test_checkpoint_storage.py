"""Where checkpoints are kept (CFG-03, CFG-05)."""

import pickle

import pytest

from penstock.vocabulary.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.vocabulary.configuration import Configuration


def test_storage_in_the_drivers_memory():
    storage = JobManagerCheckpointStorage()
    assert storage.get_max_state_size() == 5 * 1024 * 1024
    assert storage.get_checkpoint_path() is None
    assert storage.get_savepoint_path() is None
    assert JobManagerCheckpointStorage("file:///c", 10).get_max_state_size() == 10
    with pytest.raises(ValueError, match="more than 0"):
        JobManagerCheckpointStorage(max_state_size=0)


def test_storage_in_files():
    storage = FileSystemCheckpointStorage("file:///c", 100, 50)
    assert storage.get_checkpoint_path() == "file:///c"
    assert storage.get_min_file_size_threshold() == 100
    assert storage.get_write_buffer_size() == 100
    assert FileSystemCheckpointStorage("file:///c", 100, 500).get_write_buffer_size() == 500
    assert FileSystemCheckpointStorage("file:///c").get_min_file_size_threshold() == 20 * 1024
    assert pickle.loads(pickle.dumps(storage)) == storage
    assert hash(pickle.loads(pickle.dumps(storage))) == hash(storage)


@pytest.mark.parametrize("arguments", [(None,), ("x", 1024 * 1024 + 1), ("x", -2), ("x", 0, -2)])
def test_storage_in_files_refuses_what_makes_no_sense(arguments):
    with pytest.raises(ValueError, match=r"needs a directory|must be"):
        FileSystemCheckpointStorage(*arguments)


def test_a_program_brings_its_own_storage():
    assert CustomCheckpointStorage(dict).get_factory() is dict


@pytest.mark.parametrize(
    ("entries", "storage"),
    [
        ({}, None),
        ({"execution.checkpointing.dir": "file:///c"}, FileSystemCheckpointStorage("file:///c")),
        ({"state.checkpoints.dir": "file:///c"}, FileSystemCheckpointStorage("file:///c")),
        (
            {"state.checkpoints.dir": "file:///c", "state.savepoints.dir": "file:///s"},
            FileSystemCheckpointStorage("file:///c", savepoint_path="file:///s"),
        ),
        ({"execution.checkpointing.storage": "jobmanager"}, JobManagerCheckpointStorage()),
        ({"execution.checkpointing.savepoint-dir": "file:///s"}, None),
    ],
)
def test_the_configuration_chooses_the_storage(entries, storage):
    assert CheckpointStorage.from_configuration(Configuration.from_dict(entries)) == storage


@pytest.mark.parametrize("kind", ["filesystem", "cloud"])
def test_a_configuration_that_is_wrong_is_refused(kind):
    with pytest.raises(ValueError, match=r"set execution\.checkpointing\.dir|write jobmanager or filesystem"):
        CheckpointStorage.from_configuration(Configuration.from_dict({"execution.checkpointing.storage": kind}))
