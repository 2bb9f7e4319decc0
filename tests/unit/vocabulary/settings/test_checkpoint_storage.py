"""Where checkpoints are kept (CFG-03, CFG-05)."""

import pickle

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.settings.checkpoint_storage import (
    CheckpointStorage,
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.vocabulary.settings.checkpoints import CheckpointConfig
from penstock.vocabulary.settings.configuration import Configuration


def test_storage_in_the_drivers_memory():
    storage = JobManagerCheckpointStorage()
    assert storage.get_max_state_size() == 5 * 1024 * 1024
    assert storage.get_checkpoint_path() is None
    assert storage.get_savepoint_path() is None
    assert JobManagerCheckpointStorage("file:///c", 10).get_max_state_size() == 10
    with pytest.raises(ValueError, match="more than 0"):
        JobManagerCheckpointStorage(max_state_size=0)


def test_storage_in_files():
    storage = FileSystemCheckpointStorage("file:///c", 100)
    assert storage.get_checkpoint_path() == "file:///c"
    assert storage.get_min_file_size_threshold() == 100
    assert storage.get_write_buffer_size() == 4096
    with pytest.raises(ProgramError, match="no buffer in between"):
        FileSystemCheckpointStorage("file:///c", 100, 500)
    assert FileSystemCheckpointStorage("file:///c").get_min_file_size_threshold() == 20 * 1024
    assert pickle.loads(pickle.dumps(storage)) == storage
    assert hash(pickle.loads(pickle.dumps(storage))) == hash(storage)


@pytest.mark.parametrize("arguments", [(None,), ("x", 1024 * 1024 + 1), ("x", -2)])
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


@pytest.mark.parametrize("key", ["execution.checkpointing.data-inline-threshold", "state.storage.fs.memory-threshold"])
def test_ckp_the_size_of_state_in_the_metadata_can_be_configured(key):
    entries = {"execution.checkpointing.dir": "file:///c", key: "1 kb"}
    storage = CheckpointStorage.from_configuration(Configuration.from_dict(entries))
    assert isinstance(storage, FileSystemCheckpointStorage)
    assert storage.get_min_file_size_threshold() == 1024


def test_the_size_in_the_configuration_also_counts_for_a_directory_set_in_the_program():
    config = CheckpointConfig()
    config.set_checkpoint_storage_dir("file:///c")
    config.configure(Configuration.from_dict({"execution.checkpointing.data-inline-threshold": "0"}))
    storage = config.get_checkpoint_storage()
    assert isinstance(storage, FileSystemCheckpointStorage)
    assert (storage.get_checkpoint_path(), storage.get_min_file_size_threshold()) == ("file:///c", 0)


def test_a_size_beyond_the_greatest_is_refused():
    entries = {"execution.checkpointing.dir": "file:///c", "execution.checkpointing.data-inline-threshold": "2 mb"}
    with pytest.raises(ValueError, match="1048576"):
        CheckpointStorage.from_configuration(Configuration.from_dict(entries))
