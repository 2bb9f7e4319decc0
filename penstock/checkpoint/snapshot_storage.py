"""The task's side of the checkpoint storage: where snapshots are written, and read again."""

from __future__ import annotations

import posixpath
import re
import uuid
import zlib
from typing import TYPE_CHECKING

from penstock.errors import CheckpointError, CorruptCheckpointError
from penstock.statestore.handles import StoredBytes
from penstock.statestore.snapshot_format import BytesInput
from penstock.statestore.value_codec import PROGRAM_CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.foundation.files.local import FileOutput, Files, StateInput
    from penstock.statestore.handles import StateOutput
    from penstock.statestore.stored_classes import StoredClasses

__all__ = ["FileTarget", "MemoryTarget", "StoredFiles"]

_CHUNK = 1 << 20
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class FileTarget:
    """Stores state in files of a directory; what is shorter than ``threshold`` stays in its handle."""

    def __init__(
        self,
        files: Files,
        directory: str,
        *,
        shared: str | None = None,
        threshold: int = 0,
        is_all_shared: bool = False,
        checkpoint_id: int | None = None,
        reusable: int | None = None,
        is_savepoint: bool = False,
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.reusable = reusable
        self.is_savepoint = is_savepoint
        self._files = files
        self._directory = directory
        self._shared = shared
        self._threshold = threshold
        self._is_all_shared = is_all_shared

    def create(self, name: str, *, checks_itself: bool = False) -> StateOutput:
        """Begin a file that belongs to this checkpoint alone."""
        output = self._output(name, is_shared=self._is_all_shared, threshold=self._threshold)
        output.checks_itself = checks_itself
        return output

    def store_file(self, name: str, path: Path, *, is_shared: bool) -> StoredBytes:
        """Store a local file; where nothing is shared, it belongs to this checkpoint alone."""
        is_shared = (is_shared or self._is_all_shared) and self._shared is not None
        output = self._output(name, is_shared=is_shared, threshold=0 if is_shared else self._threshold)
        try:
            for chunk in _chunks(path):
                output.write(chunk)
            return output.finish()
        except BaseException:
            output.discard()
            raise

    def _output(self, name: str, *, is_shared: bool, threshold: int) -> _Output:
        # Nobody else uses the name: a task of an earlier attempt may still be writing.
        unique = f"{_UNSAFE.sub('_', name)[:80]}-{uuid.uuid4().hex[:12]}"
        if is_shared and self._shared is not None:
            return _Output(self._files, self._shared, unique, threshold, prefix="../shared/", is_shared=True)
        return _Output(self._files, self._directory, unique, threshold)


class _Output:
    """Gathers bytes until they are too many for a handle, then writes them to a file."""

    def __init__(
        self, files: Files, directory: str, name: str, threshold: int, *, prefix: str = "", is_shared: bool = False
    ) -> None:
        self._files = files
        self._path = f"{directory}/{name}"
        self._location = f"{prefix}{name}"
        self._threshold = threshold
        self._is_shared = is_shared
        self.checks_itself = False
        self._gathered: list[bytes] = []
        self._file: FileOutput | None = None
        self._size = 0
        self._checksum = 0

    def write(self, *parts: bytes) -> object:
        self._size += sum(map(len, parts))
        if not self.checks_itself:
            for part in parts:
                self._checksum = zlib.crc32(part, self._checksum)
        if self._file is None and self._size <= self._threshold:
            self._gathered += parts
            return None
        self._begin_file().write(*parts)
        return None

    def finish(self) -> StoredBytes:
        if self._size <= self._threshold:
            data = b"".join(self._gathered)
            return StoredBytes(None, self._size, zlib.crc32(data), data)
        self._begin_file().close()
        checksum = None if self.checks_itself else self._checksum
        return StoredBytes(self._location, self._size, checksum, is_shared=self._is_shared)

    def discard(self) -> None:
        self._gathered = []
        if self._file is not None:
            self._file.discard()
            self._file = None

    def _begin_file(self) -> FileOutput:
        if self._file is None:
            self._file = self._files.create(self._path)
            if self._gathered:
                self._file.write(*self._gathered)
            self._gathered = []
        return self._file


class MemoryTarget:
    """Keeps state in its handles, which the driver keeps in memory; a state must not be larger than ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.checkpoint_id: int | None = None
        self.reusable: int | None = None
        self.is_savepoint = False

    def create(self, name: str, *, checks_itself: bool = False) -> StateOutput:
        """Begin bytes that belong to this checkpoint alone."""
        return _MemoryOutput(name, self._limit)

    def store_file(self, name: str, path: Path, *, is_shared: bool) -> StoredBytes:
        """Keep the content of a local file; nothing is shared in memory."""
        output = _MemoryOutput(name, self._limit)
        for chunk in _chunks(path):
            output.write(chunk)
        return output.finish()


class _MemoryOutput:
    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._data = bytearray()

    def write(self, *parts: bytes) -> object:
        for part in parts:
            self._data += part
        if len(self._data) > self._limit:
            message = (
                f"The state of {self._name!r} is larger than {self._limit} bytes, the most that the driver keeps in"
                " memory. Set a checkpoint directory (execution.checkpointing.dir, set_checkpoint_storage_dir)."
            )
            raise CheckpointError(message)
        return None

    def finish(self) -> StoredBytes:
        data = bytes(self._data)
        return StoredBytes(None, len(data), zlib.crc32(data), data)

    def discard(self) -> None:
        self._data = bytearray()


class StoredFiles:
    """Reads what handles of one checkpoint point to; picklable, for tasks on other machines.

    Args:
        files: The file system.
        directory: The directory of the checkpoint.
        classes: Finds the classes of the values.
    """

    def __init__(self, files: Files, directory: str, classes: StoredClasses = PROGRAM_CLASSES) -> None:
        self._files = files
        self._directory = directory
        self.classes = classes

    def with_classes(self, classes: StoredClasses) -> StoredFiles:
        """Return the same files, whose values are read with other classes."""
        return StoredFiles(self._files, self._directory, classes)

    def path_of(self, stored: StoredBytes) -> str:
        """Return the absolute path of a stored file."""
        return posixpath.normpath(f"{self._directory}/{stored.location}")

    def check_size(self, stored: StoredBytes) -> None:
        """Raise ``CorruptCheckpointError`` if a file is missing or not as long as it was."""
        path = self.path_of(stored)
        size = self._files.size_of(path)
        if size is None:
            raise CorruptCheckpointError(path, "is missing")
        if size != stored.size:
            raise CorruptCheckpointError(path, f"is {size} bytes long instead of {stored.size}")

    def open(self, stored: StoredBytes) -> StateInput:
        """Return the bytes for reading at any place."""
        if stored.data is not None:
            return BytesInput(stored.data, f"the metadata in {self._directory}")
        self.check_size(stored)
        return self._files.open(self.path_of(stored))

    def read(self, stored: StoredBytes) -> bytes:
        """Return all bytes, checked."""
        source = self.open(stored)
        data = source.read_at(0, stored.size)
        if stored.checksum is not None and zlib.crc32(data) != stored.checksum:
            raise CorruptCheckpointError(source.name, "is damaged (the checksum does not match)")
        return data

    def fetch(self, stored: StoredBytes, path: Path) -> None:
        """Copy the bytes into a local file and check them."""
        with path.open("wb") as file:
            for chunk in self.chunks(stored):
                file.write(chunk)

    def chunks(self, stored: StoredBytes) -> Iterator[bytes]:
        """Return the bytes in pieces; damage is found after the last one."""
        source = self.open(stored)
        checksum = 0
        for offset in range(0, stored.size, _CHUNK):
            chunk = source.read_at(offset, min(_CHUNK, stored.size - offset))
            checksum = zlib.crc32(chunk, checksum)
            yield chunk
        if stored.checksum is not None and checksum != stored.checksum:
            raise CorruptCheckpointError(source.name, "is damaged (the checksum does not match)")


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
