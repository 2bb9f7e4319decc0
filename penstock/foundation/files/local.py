"""What checkpoints and sinks need of a file system, and the local one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import CorruptCheckpointError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    FilesOf: TypeAlias = Callable[[str], "tuple[Files, str]"]

__all__ = ["FileOutput", "Files", "LocalFiles", "StateInput", "local_files_of"]

_MOST_PARTS = 1024
"""The most parts that a call to the operating system takes."""


class FileOutput(Protocol):
    """A new file that is being written."""

    def write(self, *parts: bytes) -> object:
        """Add bytes, one part behind the other."""

    def close(self) -> None:
        """End the file and make it durable."""

    def discard(self) -> None:
        """End the file and remove it."""


class StateInput(Protocol):
    """Bytes of a stored snapshot that can be read at any place."""

    @property
    def name(self) -> str:
        """The file, for messages."""

    @property
    def size(self) -> int:
        """The number of bytes."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset`` on, fewer at the end."""


class Files(Protocol):
    """A file system. Paths are absolute, with slashes and without a scheme; errors are ``OSError``.

    Implementations are picklable: tasks on other machines write with them.
    """

    def create(self, path: str) -> FileOutput:
        """Begin a new file; missing directories are made."""

    def publish(self, path: str, data: bytes) -> None:
        """Make a whole file appear in one step, durably: a reader sees all of it or none."""

    def open(self, path: str) -> StateInput:
        """Open a file for reading at any place."""

    def size_of(self, path: str) -> int | None:
        """Return the number of bytes of a file, or None if there is no such file."""

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if it is missing."""

    def delete_directory(self, path: str) -> None:
        """Remove a directory with all its content; nothing happens if it is missing."""

    def names_in(self, path: str) -> list[str]:
        """Return the names of the files and directories in a directory, sorted; none if it is missing."""


class _LocalOutput:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("xb", buffering=0)

    def write(self, *parts: bytes) -> object:
        # In one call, without copying: around each call, a thread has to wait for the interpreter again.
        data = parts if len(parts) <= _MOST_PARTS else (b"".join(parts),)
        rest = sum(map(len, data)) - os.writev(self._file.fileno(), data)
        if rest:
            self._write_end(b"".join(data)[-rest:])
        return None

    def _write_end(self, data: bytes) -> None:
        """Write what a call has left over, as calls may where space becomes short."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._file.fileno(), view) :]

    def close(self) -> None:
        with self._file:
            os.fsync(self._file.fileno())

    def discard(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


class _LocalInput:
    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._file: Any = None  # nothing to close yet
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise CorruptCheckpointError(self.name, f"cannot be opened ({error.strerror})") from error
        self.size = os.fstat(self._file.fileno()).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        # Without seeking: several threads may read, and nobody else has the file's position.
        parts: list[bytes] = []
        while length > 0 and (part := os.pread(self._file.fileno(), length, offset)):
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return b"".join(parts)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


class LocalFiles:
    """The file system of this machine, or one that is mounted on all machines of the cluster."""

    def create(self, path: str) -> FileOutput:
        """Begin a new file; missing directories are made."""
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return _LocalOutput(place)

    def publish(self, path: str, data: bytes) -> None:
        """Write beside the file, make that durable, and rename it: what a crash leaves is never half a file."""
        directory = Path(path).parent
        directory.mkdir(parents=True, exist_ok=True)
        # What the new file refers to was made durable file by file; its directory entries become so here.
        _sync_directory(directory)
        number, temporary = tempfile.mkstemp(prefix=f".{Path(path).name}-", dir=directory)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _sync_directory(directory)
        _sync_directory(directory.parent)

    def open(self, path: str) -> StateInput:
        """Open a file for reading at any place."""
        return _LocalInput(Path(path))

    def size_of(self, path: str) -> int | None:
        """Return the number of bytes of a file, or None if there is no such file."""
        place = Path(path)
        return place.stat().st_size if place.is_file() else None

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if it is missing."""
        Path(path).unlink(missing_ok=True)

    def delete_directory(self, path: str) -> None:
        """Remove a directory with all its content; nothing happens if it is missing."""
        # A task that has not heard yet that its checkpoint is gone may be writing: what it leaves is discarded later.
        shutil.rmtree(path, ignore_errors=True)

    def names_in(self, path: str) -> list[str]:
        """Return the names of the files and directories in a directory, sorted; none if it is missing."""
        place = Path(path)
        return sorted(each.name for each in place.iterdir()) if place.is_dir() else []


def local_files_of(location: str) -> tuple[Files, str]:
    """Return the local file system and the absolute path of a location with or without ``file://``.

    Raises:
        ValueError: The location is on another file system.
    """
    path = location.removeprefix("file://") if location.startswith("file://") else location.removeprefix("file:")
    if "://" in path:
        message = f"{location} is not in the local file system."
        raise ValueError(message)
    return LocalFiles(), str(Path(path).absolute())


def _sync_directory(directory: Path) -> None:
    number = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
