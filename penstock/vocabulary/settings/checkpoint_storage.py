"""Where completed checkpoints are kept."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.vocabulary.settings.refused_options import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.vocabulary.settings.configuration import Configuration

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]

_DIRECTORY_KEYS = ("execution.checkpointing.dir", "state.checkpoints.dir")
_SAVEPOINT_KEYS = ("execution.checkpointing.savepoint-dir", "state.savepoints.dir")
_STORAGE_KEYS = ("execution.checkpointing.storage", "state.checkpoint-storage")
_THRESHOLD_KEYS = ("execution.checkpointing.data-inline-threshold", "state.storage.fs.memory-threshold")


class CheckpointStorage(ABC):  # noqa: B024 - a kind of storage is its data; who writes it is the runtime's business
    """A description of where checkpoints are kept; equal to another with the same data."""

    @staticmethod
    def from_configuration(configuration: Configuration) -> CheckpointStorage | None:
        """Return the storage that `execution.checkpointing.dir` and `.storage` ask for, or None if nothing is set."""
        directory = _first(configuration, _DIRECTORY_KEYS)
        savepoints = _first(configuration, _SAVEPOINT_KEYS)
        kind = _first(configuration, _STORAGE_KEYS) or ("filesystem" if directory else None)
        if kind is None:
            return None
        if kind == "jobmanager":
            return JobManagerCheckpointStorage(directory, savepoint_path=savepoints)
        if kind != "filesystem":
            msg = f"execution.checkpointing.storage is {kind!r}; write jobmanager or filesystem."
            raise ValueError(msg)
        if directory is None:
            msg = "The checkpoint storage is filesystem, but no directory is given; set execution.checkpointing.dir."
            raise ValueError(msg)
        return FileSystemCheckpointStorage(directory, savepoint_path=savepoints).configured(configuration)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), tuple(vars(self).items())))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints live in the memory of the driver: for tests and small state, gone when the driver ends."""

    DEFAULT_MAX_STATE_SIZE: ClassVar[int] = 5 * 1024 * 1024
    """How many bytes one state may have if nothing else is said: 5 MiB."""

    def __init__(
        self,
        checkpoint_path: str | None = None,
        max_state_size: int | None = None,
        *,
        savepoint_path: str | None = None,
    ) -> None:
        """Create the description; `checkpoint_path` is where the metadata of retained checkpoints goes."""
        self._checkpoint_path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        self._savepoint_path = savepoint_path
        if self._max_state_size <= 0:
            msg = f"The maximum state size is {max_state_size} bytes; it must be more than 0."
            raise ValueError(msg)

    def get_checkpoint_path(self) -> str | None:
        """Return the directory of the metadata of retained checkpoints, if any."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Return how many bytes one state may have."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return the directory of savepoints, if any."""
        return self._savepoint_path


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints are files below a directory: a local one, or one of HDFS or S3 by its URI."""

    MAX_FILE_STATE_THRESHOLD: ClassVar[int] = 1024 * 1024
    """The greatest `file_state_size_threshold`: 1 MiB."""
    _DEFAULT_THRESHOLD: ClassVar[int] = 20 * 1024
    _DEFAULT_WRITE_BUFFER: ClassVar[int] = 4096

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
        *,
        savepoint_path: str | None = None,
    ) -> None:
        """Create the description; state below `file_state_size_threshold` bytes goes into the metadata file.

        A `write_buffer_size` is refused: there is no buffer between state and its file.
        """
        if checkpoint_path is None:
            msg = "FileSystemCheckpointStorage needs a directory; give checkpoint_path."
            raise ValueError(msg)
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            msg = (
                f"file_state_size_threshold is {threshold}; it must be from 0 to {self.MAX_FILE_STATE_THRESHOLD} bytes."
            )
            raise ValueError(msg)
        if write_buffer_size != -1:
            refuse("execution.checkpointing.write-buffer-size")
        self._checkpoint_path = str(checkpoint_path)
        self._min_file_size_threshold = self._DEFAULT_THRESHOLD if threshold < 0 else threshold
        self._savepoint_path = savepoint_path

    def configured(self, configuration: Configuration) -> FileSystemCheckpointStorage:
        """Return this storage with the threshold that `configuration` asks for; other settings stay."""
        threshold = configuration.first_key(*_THRESHOLD_KEYS)
        return FileSystemCheckpointStorage(
            self._checkpoint_path,
            configuration.get_memory_size(threshold or "", self._min_file_size_threshold),
            savepoint_path=self._savepoint_path,
        )

    def get_checkpoint_path(self) -> str:
        """Return the directory of checkpoints; each job gets its own directory in it."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return the directory of savepoints, if any."""
        return self._savepoint_path

    def get_min_file_size_threshold(self) -> int:
        """Return below how many bytes state goes into the metadata file instead of a file of its own."""
        return self._min_file_size_threshold

    def get_write_buffer_size(self) -> int:
        """Return Flink's default, at least the threshold: no other size can be asked for.

        State goes to its file in pieces of megabytes, without a buffer in between.
        """
        return max(self._DEFAULT_WRITE_BUFFER, self._min_file_size_threshold)


class CustomCheckpointStorage(CheckpointStorage):
    """A storage that the program brings itself, which Flink has and Penstock refuses when a job starts.

    Checkpoints go to any file system that has a URI (`file://`, `hdfs://`, `s3://` ...): use a directory there.
    """

    def __init__(self, factory: Callable[[], Any]) -> None:
        """Create the description; a job that asks for it is refused."""
        self._factory = factory

    def get_factory(self) -> Callable[[], Any]:
        """Return the function that makes the storage."""
        return self._factory


def _first(configuration: Configuration, keys: tuple[str, ...]) -> str | None:
    key = configuration.first_key(*keys)
    return None if key is None else configuration.get_string(key, None)
