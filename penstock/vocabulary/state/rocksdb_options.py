"""RocksDB's settings as Flink names them, below ``state.backend.rocksdb.``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.settings.configuration import Configuration

__all__ = ["ROCKSDB", "ROCKSDB_OPTIONS", "RocksDBOption", "RocksDBValue", "read_rocksdb_options"]

ROCKSDB = "state.backend.rocksdb."
"""How all keys begin."""
RocksDBValue: TypeAlias = int | float | bool | str

_Kind: TypeAlias = Literal["size", "integer", "number", "flag", "choice", "text", "list"]


class RocksDBOption(NamedTuple):
    """One setting: the end of its key, what is written there, and what holds if nothing is."""

    name: str
    kind: _Kind
    usual: str
    meaning: str
    choices: tuple[str, ...] = ()

    def read(self, configuration: Configuration) -> RocksDBValue:
        """Return what a configuration says, in the type that RocksDB wants."""
        key = ROCKSDB + self.name
        readers: dict[_Kind, Callable[[], RocksDBValue]] = {
            "size": lambda: configuration.get_memory_size(key, 0),
            "integer": lambda: configuration.get_integer(key, 0),
            "number": lambda: configuration.get_float(key, 0.0),
            "flag": lambda: configuration.get_boolean(key, False),  # noqa: FBT003
        }
        if self.kind in readers:
            return readers[self.kind]()
        text = (configuration.get_string(key, "") or "").strip()
        wanted = text.replace(",", ";").split(";") if self.kind == "list" else [text]
        names = [each.strip().upper() for each in wanted]
        if self.choices and not set(names) <= set(self.choices):
            msg = f"{key} is {text!r}; write {'a list of ' if self.kind == 'list' else ''}{', '.join(self.choices)}."
            raise ValueError(msg)
        return ";".join(names) if self.choices else text


ROCKSDB_OPTIONS = (
    RocksDBOption("writebuffer.size", "size", "16 mb", "The memory in which writes gather before they become a file."),
    RocksDBOption("writebuffer.count", "integer", "2", "How many write buffers there may be, the full ones included."),
    RocksDBOption("writebuffer.number-to-merge", "integer", "1", "How many full write buffers become one file."),
    RocksDBOption("block.cache-size", "size", "32 mb", "The memory for blocks that were read; a worker has one cache."),
    RocksDBOption("block.blocksize", "size", "4 kb", "The size of a block of a file."),
    RocksDBOption("block.metadata-blocksize", "size", "4 kb", "The size of a block of an index."),
    RocksDBOption("thread.num", "integer", "1", "How many threads of a database flush and compact."),
    RocksDBOption("files.open", "integer", "512", "How many files a database keeps open; -1 is all of them."),
    RocksDBOption("use-bloom-filter", "flag", "true", "Whether files have filters that save reading for missing keys."),
    RocksDBOption("bloom-filter.bits-per-key", "number", "10", "How large the filters are."),
    RocksDBOption("compaction.style", "choice", "LEVEL", "How files are merged.", ("LEVEL", "UNIVERSAL")),
    RocksDBOption("compaction.level.use-dynamic-size", "flag", "true", "Whether levels get their size by the last."),
    RocksDBOption("compaction.level.target-file-size-base", "size", "64 mb", "The size of files of level 1."),
    RocksDBOption("compaction.level.max-size-level-base", "size", "256 mb", "The size of all files of level 1."),
    RocksDBOption(
        "compression.per.level",
        "list",
        "SNAPPY on all levels",
        "The compression of each level, from 0 on.",
        ("NO_COMPRESSION", "SNAPPY_COMPRESSION", "LZ4_COMPRESSION", "LZ4HC_COMPRESSION", "ZLIB_COMPRESSION",
         "BZLIB2_COMPRESSION", "ZSTD_COMPRESSION"),
    ),
    RocksDBOption("log.dir", "text", "beside the data", "The directory of RocksDB's own log."),
    RocksDBOption("log.file-num", "integer", "2", "How many files of that log are kept."),
    RocksDBOption("log.max-file-size", "size", "no limit", "How large a file of that log becomes."),
)  # fmt: skip
"""All settings that reach RocksDB by name; what else it has, an options factory can change."""


def read_rocksdb_options(configuration: Configuration) -> dict[str, RocksDBValue]:
    """Return the settings that a configuration holds, by the ends of their keys."""
    return {
        option.name: option.read(configuration)
        for option in ROCKSDB_OPTIONS
        if configuration.contains_key(ROCKSDB + option.name)
    }
