"""Which backend a program gets (SBE-01 to SBE-10)."""

from __future__ import annotations

import pytest

from penstock.errors import ProgramError
from penstock.statestore.backend import KeyContext
from penstock.statestore.heap.backend import HeapStateBackend
from penstock.statestore.open_backend import open_backend
from penstock.statestore.rocksdb.settings import DatabaseSettings
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.state.backends import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
)
from penstock.vocabulary.state.descriptors import ValueStateDescriptor

tuned = []


def tune(options):
    tuned.append(options)
    options.set_max_open_files(100)


def opened(description, **changed):
    return open_backend(description, KeyContext(), operator="o", max_parallelism=128, now=lambda: 0, **changed)


@pytest.mark.parametrize("description", [None, HashMapStateBackend()])
def test_state_is_in_memory_unless_the_program_says_otherwise(description):
    assert type(opened(description)) is HeapStateBackend


def test_a_program_brings_its_own_backend():
    def make(keys, operator, max_parallelism, now):
        assert (operator, max_parallelism, now()) == ("o", 128, 0)
        return HeapStateBackend(keys, operator, now)

    assert type(opened(CustomStateBackend(make))) is HeapStateBackend
    with pytest.raises(ProgramError, match="made a dict, not a KeyedStateBackend"):
        opened(CustomStateBackend(lambda *_: {}))


@pytest.mark.parametrize("compresses", [True, False])
def test_snapshots_are_compressed_where_the_program_asks_for_it(compresses):
    backend = opened(None, compresses=compresses)
    state = backend.value_state(ValueStateDescriptor("v"))
    for backend._keys.key in range(1000):
        state.update(f"{backend._keys.key:0100d}")
    written = []
    size = backend.snapshot(range(128), 128).encode(written.extend)
    assert (size < 50_000) == compresses


def test_sizes_of_rocksdb():
    assert DatabaseSettings.of(EmbeddedRocksDBStateBackend()) == DatabaseSettings()
    large = EmbeddedRocksDBStateBackend()
    large.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM)
    large.tune(Configuration.from_dict({"state.backend.rocksdb.block.cache-size": "8 mb"}))
    values = DatabaseSettings.of(large).values
    assert values["writebuffer.size"] == 64 << 20
    assert values["writebuffer.count"] == 4
    assert values["block.cache-size"] == 8 << 20


def test_a_function_of_the_program_has_the_last_word_on_rocksdb():
    description = EmbeddedRocksDBStateBackend()
    description.set_options(f"{__name__}.tune")
    backend = opened(description)
    backend.value_state(ValueStateDescriptor("v"))
    assert len(tuned) == 1
    backend.close()


@pytest.mark.parametrize("name", ["org.example.Factory", "nothing", f"{__name__}.missing", f"{__name__}.tuned"])
def test_a_function_that_is_not_there_is_refused(name):
    description = EmbeddedRocksDBStateBackend()
    description.set_options(name)
    with pytest.raises(ProgramError, match="options factory"):
        opened(description).value_state(ValueStateDescriptor("v"))
