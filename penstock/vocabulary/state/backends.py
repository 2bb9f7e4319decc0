"""How a subtask holds its keyed state while it runs."""

from __future__ import annotations

from abc import ABC
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.errors import ProgramError
from penstock.vocabulary.settings.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from penstock.vocabulary.settings.configuration import Configuration
from penstock.vocabulary.state.rocksdb_options import ROCKSDB, read_rocksdb_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.vocabulary.state.rocksdb_options import RocksDBValue

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]

_TYPE_KEYS = ("state.backend.type", "state.backend")
_INCREMENTAL_KEYS = ("execution.checkpointing.incremental", "state.backend.incremental")
_TRANSFER_THREADS = 4


class StateBackend(ABC):  # noqa: B024 - a kind of backend is its data; who runs it is the runtime's business
    """A description of how keyed state is held; equal to another with the same data."""

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return the storage that this backend brings along, which only Flink's older backends do."""
        return None

    @staticmethod
    def from_configuration(configuration: Configuration) -> StateBackend | None:
        """Return the backend that `state.backend.type` asks for, or None if it is not set."""
        key = configuration.first_key(*_TYPE_KEYS)
        if key is None:
            return None
        name = configuration.get_string(key, None)
        if name in {"hashmap", "jobmanager", "filesystem"}:
            return HashMapStateBackend()
        if name == "rocksdb":
            return EmbeddedRocksDBStateBackend().tune(configuration)
        msg = f"{key} is {name!r}; write hashmap or rocksdb."
        raise ValueError(msg)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class HashMapStateBackend(StateBackend):
    """State is Python objects in the memory of the worker: the fastest, and limited by memory."""


class MemoryStateBackend(HashMapStateBackend):
    """State in the worker's memory, checkpoints in the driver's memory: for tests and small state."""

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
    ) -> None:
        """Create the description of this backend with its storage."""
        self._storage = JobManagerCheckpointStorage(checkpoint_path, max_state_size, savepoint_path=savepoint_path)

    def get_checkpoint_storage(self) -> JobManagerCheckpointStorage:
        """Return the storage in the driver's memory."""
        return self._storage

    def get_max_state_size(self) -> int:
        """Return how many bytes one state may have."""
        return self._storage.get_max_state_size()


class FsStateBackend(HashMapStateBackend):
    """State in the worker's memory, checkpoints as files below a directory."""

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
    ) -> None:
        """Create the description of this backend with its storage."""
        self._storage = FileSystemCheckpointStorage(
            checkpoint_directory_uri,
            file_state_size_threshold,
            -1 if write_buffer_size is None else write_buffer_size,
            savepoint_path=default_savepoint_directory_uri,
        )

    def get_checkpoint_storage(self) -> FileSystemCheckpointStorage:
        """Return the storage below the directory."""
        return self._storage

    def get_checkpoint_path(self) -> str:
        """Return the directory of checkpoints."""
        return self._storage.get_checkpoint_path()


class PredefinedOptions(Enum):
    """Sets of RocksDB settings for kinds of disks."""

    DEFAULT = 0
    """RocksDB's own settings."""
    SPINNING_DISK_OPTIMIZED = 1
    """For disks that turn."""
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    """For disks that turn, with more memory for caches and write buffers."""
    FLASH_SSD_OPTIMIZED = 3
    """For flash disks."""


class EmbeddedRocksDBStateBackend(StateBackend):
    """State is bytes in a RocksDB on the worker's disk; only this backend has incremental checkpoints."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:  # noqa: FBT001 - PyFlink's
        """Create the description; None leaves incremental checkpoints to the configuration (off)."""
        self._incremental = enable_incremental_checkpointing
        self._db_storage_paths: list[str] | None = None
        self._transfer_threads: int | None = None
        self._predefined_options: PredefinedOptions | None = None
        self._options: str | None = None
        self._configured = Configuration()

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Tell whether a checkpoint stores only what changed since the one before."""
        if self._incremental is not None:
            return self._incremental
        key = self._configured.first_key(*_INCREMENTAL_KEYS)
        return self._configured.get_boolean(key or "", False)  # noqa: FBT003

    def set_db_storage_paths(self, *paths: str) -> None:
        """Set the local directories in which databases are kept; none leaves the choice to the worker."""
        self._db_storage_paths = _local_paths(paths)

    def get_db_storage_paths(self) -> list[str] | None:
        """Return the local directories in which databases are kept, or None if it is left to the worker."""
        if self._db_storage_paths is not None:
            return list(self._db_storage_paths)
        directories = self._configured.get_string(ROCKSDB + "localdir", None)
        return _local_paths(directories.replace(",", ";").split(";")) if directories else None

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads copy files to and from the checkpoint storage."""
        self._transfer_threads = _thread_number(number_of_transfering_threads)

    def get_number_of_transfer_threads(self) -> int:
        """Return how many threads copy files to and from the checkpoint storage."""
        if self._transfer_threads is not None:
            return self._transfer_threads
        return _thread_number(
            self._configured.get_integer(ROCKSDB + "checkpoint.transfer.thread.num", _TRANSFER_THREADS)
        )

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Choose a set of RocksDB settings; a setting that the configuration names wins over its value in the set."""
        self._predefined_options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the chosen set of RocksDB settings."""
        if self._predefined_options is not None:
            return self._predefined_options
        name = self._configured.get_string(ROCKSDB + "predefined-options", None) or PredefinedOptions.DEFAULT.name
        if name not in PredefinedOptions.__members__:
            known = ", ".join(PredefinedOptions.__members__)
            msg = f"{ROCKSDB}predefined-options is {name!r}; write one of {known}."
            raise ValueError(msg)
        return PredefinedOptions[name]

    def set_options(self, options_factory_class_name: str) -> None:
        """Name a function, as in `mypackage.tuning.more_memory`, that is given RocksDB's settings to change.

        It is a Python function of one argument, a `rocksdict.Options`, not a class of Java's as in Flink; workers must
        be able to import it. It has the last word, after the predefined options and the configuration.
        """
        self._options = _python_name(options_factory_class_name)

    def get_options(self) -> str | None:
        """Return the name of the function that changes RocksDB's settings, if any."""
        if self._options is not None:
            return self._options
        name = self._configured.get_string(ROCKSDB + "options-factory", None)
        return None if name is None else _python_name(name)

    def tune(self, configuration: Configuration) -> EmbeddedRocksDBStateBackend:
        """Take over RocksDB's settings of a configuration; what the program has set itself stays."""
        self._configured.add_all(configuration.below(ROCKSDB), ROCKSDB)
        for key in _INCREMENTAL_KEYS:
            if configuration.contains_key(key):
                self._configured.set_boolean(key, configuration.get_boolean(key, False))  # noqa: FBT003
        # What cannot be used is refused here, where it is set, and not when the job starts.
        self.get_database_options()
        self.get_db_storage_paths()
        self.get_number_of_transfer_threads()
        self.get_predefined_options()
        self.get_options()
        return self

    def get_database_options(self) -> dict[str, RocksDBValue]:
        """Return what the configuration says about RocksDB itself, by the ends of its keys."""
        return read_rocksdb_options(self._configured)


def _local_paths(paths: Sequence[str]) -> list[str] | None:
    if any(path.startswith(("hdfs:", "s3:", "s3a:")) for path in paths):
        msg = f"RocksDB works in local directories only, not in {', '.join(paths)}."
        raise ValueError(msg)
    return [path.removeprefix("file://") for path in paths] or None


def _thread_number(number: int) -> int:
    if number < 1:
        msg = f"The number of transfer threads is {number}; it must be 1 or more."
        raise ValueError(msg)
    return number


def _python_name(name: str) -> str:
    if name.startswith("org.apache.flink."):
        msg = (
            f"The options factory {name!r} is a class of Java's, and there is no Java side here. Name a Python function"
            " of one argument, a rocksdict.Options, as in mypackage.tuning.more_memory."
        )
        raise ProgramError(msg)
    return name


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """State in RocksDB, checkpoints as files below a directory."""

    def __init__(
        self,
        checkpoint_data_uri: str,
        enable_incremental_checkpointing: bool | None = None,  # noqa: FBT001 - PyFlink's signature
    ) -> None:
        """Create the description of this backend with its storage."""
        super().__init__(enable_incremental_checkpointing)
        self._storage = FileSystemCheckpointStorage(checkpoint_data_uri)

    def get_checkpoint_storage(self) -> FileSystemCheckpointStorage:
        """Return the storage below the directory."""
        return self._storage


class CustomStateBackend(StateBackend):
    """A backend that the program brings itself: a `penstock.statestore.backend.KeyedStateBackend`."""

    def __init__(self, factory: Callable[..., Any]) -> None:
        """Create the description; `factory` is called for each operator of each subtask and must be picklable.

        It gets the context of the current key, the operator's id, the number of key groups and a clock (a function that
        returns milliseconds), and returns the backend.
        """
        self._factory = factory

    def get_factory(self) -> Callable[..., Any]:
        """Return the function that makes the backend."""
        return self._factory
