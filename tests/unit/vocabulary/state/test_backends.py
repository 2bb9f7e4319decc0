"""How state is held (SBE-03 to SBE-05, SBE-10, CFG-02)."""

import pickle

import pytest

from penstock.errors import ProgramError
from penstock.vocabulary.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.state.backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
    StateBackend,
)


def test_sbe_03_memory_state_backend_is_heap_state_with_checkpoints_in_the_driver():
    backend = MemoryStateBackend()
    assert isinstance(backend, HashMapStateBackend)
    assert backend.get_checkpoint_storage() == JobManagerCheckpointStorage()
    assert MemoryStateBackend(max_state_size=7).get_max_state_size() == 7


def test_sbe_04_fs_state_backend_is_heap_state_with_checkpoints_in_files():
    backend = FsStateBackend("file:///c", "file:///s")
    assert isinstance(backend, HashMapStateBackend)
    assert backend.get_checkpoint_path() == "file:///c"
    assert backend.get_checkpoint_storage() == FileSystemCheckpointStorage("file:///c", savepoint_path="file:///s")


def test_sbe_05_rocksdb_state_backend_takes_a_uri_and_whether_it_is_incremental():
    backend = RocksDBStateBackend("hdfs://host/c", True)
    assert isinstance(backend, EmbeddedRocksDBStateBackend)
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_checkpoint_storage() == FileSystemCheckpointStorage("hdfs://host/c")
    assert not RocksDBStateBackend("hdfs://host/c").is_incremental_checkpoints_enabled()


def test_newer_backends_leave_the_storage_to_the_job():
    assert HashMapStateBackend().get_checkpoint_storage() is None
    assert EmbeddedRocksDBStateBackend().get_checkpoint_storage() is None


def test_settings_of_rocksdb():
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_incremental_checkpoints_enabled()
    assert backend.get_db_storage_paths() is None
    assert backend.get_number_of_transfer_threads() == 4
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert backend.get_options() is None
    backend.set_db_storage_paths("file:///a", "/b")
    backend.set_number_of_transfer_threads(8)
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("org.example.Factory")
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_number_of_transfer_threads() == 8
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_options() == "org.example.Factory"
    twin = pickle.loads(pickle.dumps(backend))
    assert twin == backend
    assert hash(twin) == hash(backend)
    backend.set_db_storage_paths()
    assert backend.get_db_storage_paths() is None
    with pytest.raises(ValueError, match="1 or more"):
        backend.set_number_of_transfer_threads(0)
    with pytest.raises(ValueError, match="local directories"):
        backend.set_db_storage_paths("hdfs://host/x")


def test_a_program_brings_its_own_backend():
    assert CustomStateBackend(dict).get_factory() is dict


@pytest.mark.parametrize(
    ("entries", "backend"),
    [
        ({}, None),
        ({"state.backend.type": "hashmap"}, HashMapStateBackend()),
        ({"state.backend": "jobmanager"}, HashMapStateBackend()),
        ({"state.backend": "filesystem"}, HashMapStateBackend()),
        ({"state.backend.type": "rocksdb"}, EmbeddedRocksDBStateBackend()),
    ],
)
def test_the_configuration_chooses_the_backend(entries, backend):
    assert StateBackend.from_configuration(Configuration.from_dict(entries)) == backend


def test_the_configuration_sets_up_rocksdb():
    backend = StateBackend.from_configuration(
        Configuration.from_dict(
            {
                "state.backend.type": "rocksdb",
                "state.backend.rocksdb.localdir": "/a,/b",
                "state.backend.rocksdb.checkpoint.transfer.thread.num": "2",
            }
        )
    )
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_number_of_transfer_threads() == 2


@pytest.mark.parametrize("key", ["execution.checkpointing.incremental", "state.backend.incremental"])
def test_the_configuration_decides_on_incremental_checkpoints_where_the_program_does_not(key):
    entries = Configuration.from_dict({key: "true"})
    assert EmbeddedRocksDBStateBackend().tune(entries).is_incremental_checkpoints_enabled()
    assert not EmbeddedRocksDBStateBackend(False).tune(entries).is_incremental_checkpoints_enabled()
    later = EmbeddedRocksDBStateBackend().tune(entries).tune(Configuration.from_dict({key: "false"}))
    assert not later.is_incremental_checkpoints_enabled()


def test_a_factory_of_java_is_refused_where_it_is_set():
    name = "org.apache.flink.state.rocksdb.DefaultConfigurableOptionsFactory"
    with pytest.raises(ProgramError, match="class of Java's"):
        EmbeddedRocksDBStateBackend().set_options(name)
    with pytest.raises(ProgramError, match="class of Java's"):
        EmbeddedRocksDBStateBackend().tune(Configuration.from_dict({"state.backend.rocksdb.options-factory": name}))


def test_a_value_that_rocksdb_does_not_have_is_refused():
    entries = Configuration.from_dict({"state.backend.rocksdb.compaction.style": "FIFO"})
    with pytest.raises(ValueError, match="'FIFO'; write LEVEL, UNIVERSAL"):
        EmbeddedRocksDBStateBackend().tune(entries)


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="'niagara'; write hashmap or rocksdb"):
        StateBackend.from_configuration(Configuration.from_dict({"state.backend.type": "niagara"}))


def test_settings_of_rocksdb_in_the_configuration():
    entries = {
        "state.backend.type": "rocksdb",
        "state.backend.rocksdb.writebuffer.size": "8 mb",
        "state.backend.rocksdb.writebuffer.count": "3",
        "state.backend.rocksdb.block.cache-size": "64mb",
        "state.backend.rocksdb.thread.num": "2",
        "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED",
        "state.backend.rocksdb.options-factory": "mypackage.tuning.more_memory",
    }
    backend = StateBackend.from_configuration(Configuration.from_dict(entries))
    assert isinstance(backend, EmbeddedRocksDBStateBackend)
    assert backend.get_database_options() == {
        "writebuffer.size": 8 << 20,
        "writebuffer.count": 3,
        "block.cache-size": 64 << 20,
        "thread.num": 2,
    }
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_options() == "mypackage.tuning.more_memory"


def test_what_the_program_says_of_rocksdb_wins_over_the_configuration():
    backend = EmbeddedRocksDBStateBackend()
    backend.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED)
    backend.set_options("mypackage.mine")
    entries = {
        "state.backend.rocksdb.predefined-options": "FLASH_SSD_OPTIMIZED",
        "state.backend.rocksdb.options-factory": "mypackage.theirs",
    }
    backend.tune(Configuration.from_dict(entries))
    assert backend.get_predefined_options() is PredefinedOptions.SPINNING_DISK_OPTIMIZED
    assert backend.get_options() == "mypackage.mine"


def test_an_unknown_set_of_rocksdb_options_is_refused():
    with pytest.raises(ValueError, match="SPINNING_DISK_OPTIMIZED_HIGH_MEM"):
        EmbeddedRocksDBStateBackend().tune(
            Configuration.from_dict({"state.backend.rocksdb.predefined-options": "FASTEST"})
        )
