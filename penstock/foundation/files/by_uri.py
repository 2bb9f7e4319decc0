"""File systems of the cluster, by URI: everything that ``pyarrow.fs`` reaches.

``files_of("s3://bucket/checkpoints")`` gives the file system for checkpoints and savepoints and the path in it. A path
without a scheme, or with ``file:``, is local and needs no pyarrow. ``arrow_files_of`` gives pyarrow's own object, for
those who read and write data.

On HDFS and other file systems a file is published by writing beside it and renaming. Object stores have no rename,
but an object appears whole when its upload ends, so it is written under its own name.
"""

from __future__ import annotations

import os
import uuid
from ctypes.util import find_library
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import CheckpointError, CorruptCheckpointError
from penstock.foundation.files.local import LocalFiles, local_files_of

if TYPE_CHECKING:
    from penstock.foundation.files.local import FileOutput, Files, StateInput

__all__ = ["HDFS_SCHEMES", "ArrowFiles", "arrow_files_of", "check_hdfs_library", "files_of", "first_line"]

_OBJECT_STORES = {"s3", "gcs", "abfs"}
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Names that Hadoop gives to file systems that pyarrow knows under another one."""


def files_of(location: str) -> tuple[Files, str]:
    """Return the file system and the path of a location.

    Raises:
        CheckpointError: There is no such file system.
    """
    scheme, separator, _ = location.partition("://")
    if not separator or scheme == "file":
        return local_files_of(location)
    try:
        file_system, path = arrow_files_of(location)
    except (ImportError, ValueError, OSError) as error:
        message = f"The file system of {location} cannot be reached: {error}"
        raise CheckpointError(message) from error
    return (LocalFiles(), path) if file_system.type_name == "local" else (ArrowFiles(file_system), path)


def arrow_files_of(location: str) -> tuple[Any, str]:
    """Return the ``pyarrow.fs.FileSystem`` of a location, and the path in it without a slash at the end.

    Raises:
        ValueError: There is no such file system.
        OSError: It cannot be reached.
    """
    from pyarrow import fs

    scheme, separator, rest = location.partition("://")
    if not separator or scheme == "file":
        return fs.LocalFileSystem(), local_files_of(location)[1]
    if scheme in HDFS_SCHEMES:
        check_hdfs_library()
    try:
        file_system, path = fs.FileSystem.from_uri(f"{_SCHEMES.get(scheme, scheme)}://{rest}")
    except OSError as error:
        raise OSError(first_line(error)) from None
    return file_system, path.rstrip("/")


class _ArrowOutput:
    def __init__(self, file_system: Any, path: str) -> None:
        self._file_system = file_system
        self._path = path
        self._stream = file_system.open_output_stream(path)

    def write(self, *parts: bytes) -> object:
        return self._stream.write(parts[0] if len(parts) == 1 else b"".join(parts))

    def close(self) -> None:
        self._stream.close()

    def discard(self) -> None:
        self._stream.close()
        self._file_system.delete_file(self._path)


class _ArrowInput:
    def __init__(self, file_system: Any, path: str) -> None:
        self.name = path
        try:
            self._file = file_system.open_input_file(path)
        except OSError as error:
            raise CorruptCheckpointError(path, f"cannot be opened ({error})") from error
        self.size: int = self._file.size()

    def read_at(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(max(0, min(length, self.size - offset)), offset)
        return data


class ArrowFiles:
    """A file system of pyarrow."""

    def __init__(self, file_system: Any) -> None:
        self._file_system = file_system

    def create(self, path: str) -> FileOutput:
        """Begin a new file; missing directories are made."""
        self._make_parent(path)
        return _ArrowOutput(self._file_system, path)

    def publish(self, path: str, data: bytes) -> None:
        """Make a whole file appear in one step."""
        self._make_parent(path)
        has_rename = self._file_system.type_name not in _OBJECT_STORES
        written = f"{path}.{uuid.uuid4().hex[:12]}" if has_rename else path
        with self._file_system.open_output_stream(written) as stream:
            stream.write(data)
        if has_rename:
            self._file_system.move(written, path)

    def open(self, path: str) -> StateInput:
        """Open a file for reading at any place."""
        return _ArrowInput(self._file_system, path)

    def size_of(self, path: str) -> int | None:
        """Return the number of bytes of a file, or None if there is no such file."""
        info = self._file_system.get_file_info(path)
        return info.size if info.is_file else None

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if it is missing."""
        if self.size_of(path) is not None:
            self._file_system.delete_file(path)

    def delete_directory(self, path: str) -> None:
        """Remove a directory with all its content; nothing happens if it is missing."""
        self._file_system.delete_dir_contents(path, missing_dir_ok=True)
        if self._file_system.get_file_info(path).type.name == "Directory":
            self._file_system.delete_dir(path)

    def names_in(self, path: str) -> list[str]:
        """Return the names of the files and directories in a directory, sorted; none if it is missing."""
        from pyarrow import fs

        found = self._file_system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def _make_parent(self, path: str) -> None:
        self._file_system.create_dir(path.rpartition("/")[0], recursive=True)


HDFS_SCHEMES = frozenset({"hdfs", "viewfs"})
_NAMES = ("libhdfs.so", "libhdfs.dylib", "hdfs.dll")
_REMEDY = (
    "Install Hadoop's client on the driver and on all executors, and set HADOOP_HOME (or ARROW_LIBHDFS_DIR to the"
    " directory of libhdfs), JAVA_HOME, and CLASSPATH to what `hadoop classpath --glob` prints."
)


def check_hdfs_library() -> None:
    """Raise ``OSError``, with what to install, where there is no libhdfs."""
    directories = [Path()]
    if named := os.environ.get("ARROW_LIBHDFS_DIR"):
        directories.append(Path(named))
    if home := os.environ.get("HADOOP_HOME"):
        directories.append(Path(home, "lib", "native"))
    directories += map(Path, filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)))
    if find_library("hdfs") is None and not any((each / name).is_file() for each in directories for name in _NAMES):
        message = f"HDFS needs Hadoop's library libhdfs, which is not here. {_REMEDY}"
        raise OSError(message)


def first_line(error: BaseException) -> str:
    """Return what pyarrow says without the list of all places where it has looked for a library."""
    line, _, rest = str(error).partition("\n")
    return f"{line}. {_REMEDY}" if "dlopen(" in rest or "libjvm" in line or "libhdfs" in line else str(error)
