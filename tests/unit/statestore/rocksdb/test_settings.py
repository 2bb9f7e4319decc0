"""What a program and its configuration say about RocksDB arrives in RocksDB itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.statestore.rocksdb.database import Database
from penstock.statestore.rocksdb.settings import DatabaseSettings
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend, PredefinedOptions
from penstock.vocabulary.state.rocksdb_options import ROCKSDB, ROCKSDB_OPTIONS

# The value to set, and the lines of RocksDB's own list of its options that must follow from it.
EXAMPLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "writebuffer.size": ("3 mb", ("write_buffer_size=3145728",)),
    "writebuffer.count": ("5", ("max_write_buffer_number=5",)),
    "block.blocksize": ("8 kb", ("block_size=8192",)),
    "block.metadata-blocksize": ("16 kb", ("metadata_block_size=16384",)),
    "thread.num": ("3", ("max_background_jobs=3",)),
    "files.open": ("77", ("max_open_files=77",)),
    "use-bloom-filter": ("false", ("filter_policy=nullptr",)),
    "compaction.style": ("universal", ("compaction_style=kCompactionStyleUniversal",)),
    "compaction.level.use-dynamic-size": ("false", ("level_compaction_dynamic_level_bytes=false",)),
    "compaction.level.target-file-size-base": ("9 mb", ("target_file_size_base=9437184",)),
    "compaction.level.max-size-level-base": ("90 mb", ("max_bytes_for_level_base=94371840",)),
    "compression.per.level": (
        "NO_COMPRESSION;LZ4_COMPRESSION",
        ("compression_per_level=kNoCompression:kLZ4Compression",),
    ),
    "log.file-num": ("4", ("keep_log_file_num=4",)),
    "log.max-file-size": ("1 mb", ("max_log_file_size=1048576",)),
}
WITHOUT_A_LINE = {"block.cache-size", "bloom-filter.bits-per-key", "log.dir", "writebuffer.number-to-merge"}
"""What RocksDB does not list, or not alone; the tests below look for them in other ways."""


def listed(tmp_path: Path, description: EmbeddedRocksDBStateBackend) -> list[str]:
    """RocksDB's own list of the options a database runs with."""
    database = Database(tmp_path / "db", DatabaseSettings.of(description))
    text = max((tmp_path / "db").glob("OPTIONS-*")).read_text()
    database.close()
    return [line.strip() for line in text.splitlines()]


def configured(**entries: str) -> EmbeddedRocksDBStateBackend:
    entries = {ROCKSDB + name: value for name, value in entries.items()}
    return EmbeddedRocksDBStateBackend().tune(Configuration.from_dict(entries))


def test_every_option_has_an_example() -> None:
    assert {option.name for option in ROCKSDB_OPTIONS} == EXAMPLES.keys() | WITHOUT_A_LINE


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_option_of_the_configuration_reaches_the_database(tmp_path: Path, name: str) -> None:
    value, lines = EXAMPLES[name]
    found = listed(tmp_path, configured(**{name: value}))
    assert [line for line in lines if line not in found] == []
    (tmp_path / "usual").mkdir()
    usual = listed(tmp_path / "usual", EmbeddedRocksDBStateBackend())
    assert not set(lines) <= set(usual), "the example is what holds anyway"


def test_the_set_for_turning_disks_with_much_memory(tmp_path: Path) -> None:
    description = EmbeddedRocksDBStateBackend()
    description.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM)
    found = listed(tmp_path, description)
    wanted = [
        "target_file_size_base=268435456",
        "max_bytes_for_level_base=1073741824",
        "write_buffer_size=67108864",
        "max_write_buffer_number=4",
        "min_write_buffer_number_to_merge=3",
        "block_size=131072",
        "max_open_files=-1",
        "max_background_jobs=4",
    ]
    assert [line for line in wanted if line not in found] == []


def test_buffers_are_merged_where_there_are_more_of_them(tmp_path: Path) -> None:
    description = configured(**{"writebuffer.count": "5", "writebuffer.number-to-merge": "2"})
    assert "min_write_buffer_number_to_merge=2" in listed(tmp_path, description)


def test_an_option_by_name_wins_over_the_set(tmp_path: Path) -> None:
    description = configured(**{"writebuffer.count": "7"})
    description.set_predefined_options(PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM)
    assert "max_write_buffer_number=7" in listed(tmp_path, description)


def fewer_files(options: Any) -> None:
    options.set_max_open_files(33)


def test_the_function_of_the_program_has_the_last_word(tmp_path: Path) -> None:
    description = configured(**{"files.open": "77"})
    description.set_options(f"{__name__}.fewer_files")
    assert "max_open_files=33" in listed(tmp_path, description)


def test_the_log_goes_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    listed(tmp_path, configured(**{"log.dir": str(tmp_path / "log")}))
    assert list((tmp_path / "log").iterdir()) != []


class Recorded:
    """Stands in for a class of the library and keeps what is called on it."""

    calls: list[tuple[str, tuple[Any, ...]]]

    def __init__(self, *_: Any, **__: Any) -> None:
        self.calls = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, arguments))


def test_the_filter_has_the_bits_that_are_asked_for() -> None:
    class Library:
        BlockBasedOptions = Recorded

    table = DatabaseSettings.of(configured(**{"bloom-filter.bits-per-key": "7"}))._table(Library)
    assert ("set_bloom_filter", (7.0, False)) in table.calls


def test_the_cache_has_the_size_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Library:
        BlockBasedOptions = Recorded

    sizes: list[int] = []
    monkeypatch.setattr("penstock.statestore.rocksdb.settings._shared_cache", sizes.append)
    DatabaseSettings.of(configured(**{"block.cache-size": "5 mb"}))._table(Library)
    assert sizes == [5 << 20]
