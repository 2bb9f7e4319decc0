"""How RocksDB uses memory and disk: what a program and its configuration ask for, in RocksDB's own terms."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.vocabulary.state.backends import PredefinedOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from penstock.vocabulary.state.backends import EmbeddedRocksDBStateBackend
    from penstock.vocabulary.state.rocksdb_options import RocksDBValue

__all__ = ["DatabaseSettings", "rocksdict_library"]

_KIB = 1 << 10
_MIB = 1 << 20
_USUAL: Mapping[str, RocksDBValue] = {
    "writebuffer.size": 16 * _MIB,
    "writebuffer.count": 2,
    "block.cache-size": 32 * _MIB,
    "files.open": 512,
    "log.file-num": 2,
    "compaction.level.use-dynamic-size": True,
    "use-bloom-filter": True,
    "bloom-filter.bits-per-key": 10.0,
}
_FLASH: Mapping[str, RocksDBValue] = {"thread.num": 4, "files.open": -1}
_SPINNING: Mapping[str, RocksDBValue] = {
    **_FLASH,
    "compaction.style": "LEVEL",
    "compaction.level.use-dynamic-size": True,
}
_PREDEFINED: Mapping[PredefinedOptions, Mapping[str, RocksDBValue]] = {
    PredefinedOptions.DEFAULT: {},
    PredefinedOptions.FLASH_SSD_OPTIMIZED: _FLASH,
    PredefinedOptions.SPINNING_DISK_OPTIMIZED: _SPINNING,
    PredefinedOptions.SPINNING_DISK_OPTIMIZED_HIGH_MEM: {
        **_SPINNING,
        "compaction.level.target-file-size-base": 256 * _MIB,
        "compaction.level.max-size-level-base": 1024 * _MIB,
        "writebuffer.size": 64 * _MIB,
        "writebuffer.count": 4,
        "writebuffer.number-to-merge": 3,
        "block.cache-size": 256 * _MIB,
        "block.blocksize": 128 * _KIB,
        "use-bloom-filter": True,
    },
}
"""Flink's sets of settings."""
_DATABASE_CALLS = {
    "writebuffer.size": "set_write_buffer_size",
    "writebuffer.count": "set_max_write_buffer_number",
    "writebuffer.number-to-merge": "set_min_write_buffer_number_to_merge",
    "thread.num": "increase_parallelism",
    "files.open": "set_max_open_files",
    "compaction.level.use-dynamic-size": "set_level_compaction_dynamic_level_bytes",
    "compaction.level.target-file-size-base": "set_target_file_size_base",
    "compaction.level.max-size-level-base": "set_max_bytes_for_level_base",
    "log.dir": "set_db_log_dir",
    "log.file-num": "set_keep_log_file_num",
    "log.max-file-size": "set_max_log_file_size",
}
_TABLE_CALLS = {"block.blocksize": "set_block_size", "block.metadata-blocksize": "set_metadata_block_size"}
_COMPRESSIONS = {
    "NO_COMPRESSION": "none",
    "SNAPPY_COMPRESSION": "snappy",
    "LZ4_COMPRESSION": "lz4",
    "LZ4HC_COMPRESSION": "lz4hc",
    "ZLIB_COMPRESSION": "zlib",
    "BZLIB2_COMPRESSION": "bz2",
    "ZSTD_COMPRESSION": "zstd",
}


@dataclass(frozen=True)
class DatabaseSettings:
    """The settings of a database, by the ends of their keys; what a program names wins over a set of settings."""

    values: Mapping[str, RocksDBValue] = field(default_factory=lambda: dict(_USUAL))
    is_for_spinning_disks: bool = False
    factory: str | None = None
    """The dotted name of a function that may change RocksDB's own settings."""

    @staticmethod
    def of(description: EmbeddedRocksDBStateBackend) -> DatabaseSettings:
        """Return what a program asks for."""
        predefined = description.get_predefined_options()
        return DatabaseSettings(
            {**_USUAL, **_PREDEFINED[predefined], **description.get_database_options()},
            predefined.name.startswith("SPINNING"),
            description.get_options(),
        )

    def options(self) -> Any:
        """Return RocksDB's own settings.

        Raises:
            ProgramError: The function that changes them cannot be found.
        """
        rocksdict = rocksdict_library()
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)  # noqa: FBT003 - RocksDB's own
        for name, call in _DATABASE_CALLS.items():
            if name in self.values:
                getattr(options, call)(self.values[name])
        if "compaction.style" in self.values:
            style = str(self.values["compaction.style"]).lower()
            options.set_compaction_style(getattr(rocksdict.DBCompactionStyle, style)())
        if "compression.per.level" in self.values:
            names = str(self.values["compression.per.level"]).split(";")
            kinds = [getattr(rocksdict.DBCompressionType, _COMPRESSIONS[name])() for name in names]
            options.set_compression_per_level(kinds)
        if self.is_for_spinning_disks:
            options.set_compaction_readahead_size(2 * _MIB)
        options.set_block_based_table_factory(self._table(rocksdict))
        if self.factory is not None:
            _function_at(self.factory)(options)
        return options

    def _table(self, rocksdict: Any) -> Any:
        table = rocksdict.BlockBasedOptions()
        table.set_block_cache(_shared_cache(self.values["block.cache-size"]))
        for name, call in _TABLE_CALLS.items():
            if name in self.values:
                getattr(table, call)(self.values[name])
        # Filters stay out of the block cache: one of a large file does not fit into a shard of a small cache, and
        # would be read again for every key. They take about a byte and a half per key.
        if self.values["use-bloom-filter"]:
            table.set_bloom_filter(self.values["bloom-filter.bits-per-key"], False)  # noqa: FBT003
        return table


@lru_cache
def _shared_cache(size: int) -> Any:
    """Return the block cache of this process: the operators of all its subtasks share it."""
    return rocksdict_library().Cache(size)


def _function_at(name: str) -> Callable[[Any], object]:
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        message = (
            f"The options factory {name!r} of the RocksDB state backend cannot be found ({error}). Name a Python"
            " function by its module, as in mypackage.tuning.more_memory; it is called with rocksdict.Options."
        )
        raise ProgramError(message) from error
    if not callable(found):
        message = f"The options factory {name!r} of the RocksDB state backend is no function but {found!r}."
        raise ProgramError(message)
    return found  # type: ignore[no-any-return]


def rocksdict_library() -> Any:
    """Return the package that brings RocksDB.

    Raises:
        ProgramError: It is not installed.
    """
    try:
        import rocksdict
    except ImportError as error:
        message = "The RocksDB state backend needs the package rocksdict: pip install 'penstock[rocksdb]'."
        raise ProgramError(message) from error
    return rocksdict
