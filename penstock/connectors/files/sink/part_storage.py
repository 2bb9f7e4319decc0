"""What a file sink needs of a file system, and how it gets it: from the local one, and from those of pyarrow.

Why no reader sees an unfinished file: parts are written under a hidden name and get their own one when they are
complete. On the local file system and on HDFS that is a rename, one step. Object stores have none; there the finished
object is a copy that the store makes by itself, which appears whole, and the hidden one is deleted after it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from penstock.connectors.files.sink.part_stream import PartStream
from penstock.errors import CheckpointError
from penstock.foundation.files.by_uri import ArrowFiles, arrow_files_of
from penstock.foundation.files.local import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["ArrowPartStorage", "LocalPartStorage", "PartStorage", "part_storage"]

_COPIED_AT_A_TIME = 1 << 20
_OBJECT_STORES = {"s3", "gcs", "abfs"}


class PartStorage(Protocol):
    """The file system below a sink's base path. Paths are absolute and without a scheme; errors are ``OSError``."""

    can_resume: bool
    """Whether the beginning of an unfinished file can be read after a restart."""
    has_rename: bool
    """Whether a file gets another name in one step."""

    def begin(self, path: str) -> PartStream:
        """Begin a new file; missing directories are made."""

    def resume(self, path: str, length: int, new_path: str) -> PartStream:
        """Begin a new file with the first bytes of another one."""

    def move(self, source: str, target: str) -> None:
        """Give a complete file its name; raises ``FileExistsError`` where that is one step and the name is taken."""

    def is_same(self, path: str, other: str) -> bool:
        """Tell whether two names are of one file: the step from the one to the other was not finished."""

    def read(self, path: str) -> BinaryIO:
        """Open a complete file for reading."""

    def size_of(self, path: str) -> int | None:
        """Return the number of bytes of a file, or None if there is no such file."""

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if it is missing."""

    def names_in(self, path: str) -> list[str]:
        """Return the names in a directory; none if it is missing."""

    def files_below(self, path: str) -> Iterator[str]:
        """Return the paths of all files in a directory and the directories in it."""

    def keep_names(self, directories: Iterable[str]) -> None:
        """Make the names of new and renamed files in these directories survive a crash of the machine."""


class LocalPartStorage(LocalFiles):
    """The file system of this machine, or one that is mounted on all machines of the cluster."""

    can_resume = True
    has_rename = True

    def begin(self, path: str) -> PartStream:
        """Begin a new file; missing directories are made."""
        place = Path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.open("xb").close()
        return _LocalPartStream(_ClosedFile(place))

    def resume(self, path: str, length: int, new_path: str) -> PartStream:
        """Begin a new file with the first bytes of another one."""
        stream = self.begin(new_path)
        with Path(path).open("rb") as old:
            while data := old.read(min(_COPIED_AT_A_TIME, length - stream.tell())):
                stream.write(data)
        return stream

    def move(self, source: str, target: str) -> None:
        """Rename a complete file, but never over another one, as a rename would do."""
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:
            Path(source).rename(target)  # a file system without hard links
        else:
            Path(source).unlink(missing_ok=True)

    def is_same(self, path: str, other: str) -> bool:
        """Tell whether two names are of one file, or were at this moment: somebody else has finished the step."""
        try:
            return Path(path).samefile(other)
        except FileNotFoundError:
            return not Path(path).exists()

    def read(self, path: str) -> BinaryIO:
        """Open a complete file for reading."""
        return Path(path).open("rb")

    def files_below(self, path: str) -> Iterator[str]:
        """Return the paths of all files in a directory and the directories in it."""
        for directory, _, names in os.walk(path):
            yield from (f"{directory}/{name}" for name in names)

    def keep_names(self, directories: Iterable[str]) -> None:
        """Make the names of new and renamed files in these directories survive a crash of the machine."""
        # The directories themselves may be new.
        for directory in sorted({each for path in directories for each in (path, path.rpartition("/")[0] or "/")}):
            number = os.open(directory, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)


class _LocalPartStream(PartStream):
    def persist(self) -> None:
        self.flush()
        self._file.sync()


class _ClosedFile:
    """A file that is open only while something is written to it: there may be more buckets than open files."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, data: bytes) -> None:
        # Not "ab", which would make a file again that somebody has deleted.
        with self._path.open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(data)

    def sync(self) -> None:
        with self._path.open("rb") as file:
            os.fsync(file.fileno())

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Do nothing: it is closed."""


class ArrowPartStorage(ArrowFiles):
    """A file system of pyarrow.

    Args:
        file_system: A ``pyarrow.fs.FileSystem``.
        has_rename: Whether it renames files in one step; object stores do not.
    """

    # What is not closed yet is not there for anybody to read.
    can_resume = False

    def __init__(self, file_system: Any, *, has_rename: bool | None = None) -> None:
        super().__init__(file_system)
        self.has_rename = file_system.type_name not in _OBJECT_STORES if has_rename is None else has_rename

    def begin(self, path: str) -> PartStream:
        """Begin a new file; missing directories are made."""
        self._make_parent(path)
        return PartStream(self._file_system.open_output_stream(path))

    def resume(self, path: str, length: int, new_path: str) -> PartStream:
        """Refuse: the checkpoint comes from a sink on another file system."""
        message = f"{path} cannot be continued at byte {length}: its file system keeps no unfinished files."
        raise CheckpointError(message)

    def move(self, source: str, target: str) -> None:
        """Rename a complete file, or have the object store copy it and delete the old one."""
        self._file_system.move(source, target)

    def is_same(self, path: str, other: str) -> bool:
        """Return False: there are no two names for one file."""
        return False

    def read(self, path: str) -> BinaryIO:
        """Open a complete file for reading."""
        file: BinaryIO = self._file_system.open_input_file(path)
        return file

    def files_below(self, path: str) -> Iterator[str]:
        """Return the paths of all files in a directory and the directories in it."""
        from pyarrow import fs

        found = self._file_system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
        yield from (info.path for info in found if info.is_file)

    def keep_names(self, directories: Iterable[str]) -> None:
        """Do nothing: these file systems keep what they have acknowledged."""


def part_storage(location: str) -> tuple[PartStorage, str]:
    """Return the storage and the path of a base path such as ``/data/out`` or ``s3://bucket/out``."""
    file_system, path = arrow_files_of(location)
    return (LocalPartStorage() if file_system.type_name == "local" else ArrowPartStorage(file_system)), path
