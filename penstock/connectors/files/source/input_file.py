"""A file that is being read."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.connectors.files.source.compression import decompressed, is_compressed
from penstock.errors import JobFailedError
from penstock.foundation.files.by_uri import arrow_files_of

if TYPE_CHECKING:
    from penstock.connectors.files.source.compression import ByteStream
    from penstock.connectors.files.source.malformed import MalformedRecords
    from penstock.connectors.files.source.splits import FileSourceSplit

__all__ = ["InputFile"]


class InputFile:
    """A file, or the range of one, that a format reads.

    Attributes:
        path: Where it is.
        start: The first byte of the range.
        end: The first byte behind it; ``None`` stands for the end of the file.
        size: How many bytes the file had when it was found.
        malformed: Takes the records that cannot be read.
    """

    def __init__(self, split: FileSourceSplit, malformed: MalformedRecords) -> None:
        self.path = split.path
        self.start = split.start
        self.end = split.end
        self.size = split.size
        self.malformed = malformed

    @property
    def is_compressed(self) -> bool:
        """Tell whether the name says so."""
        return is_compressed(self.path)

    def open(self) -> ByteStream:
        """Return the content of the whole file, decompressed, from its beginning."""
        return decompressed(self.open_raw(), self.path)

    def open_raw(self) -> Any:
        """Return the file as it lies there, a binary file that can be read at any place.

        Raises:
            JobFailedError: It is gone.
        """
        file_system, path = _place_of(self.path)
        try:
            return file_system.open_input_file(path)
        except FileNotFoundError as error:
            message = (
                f"{self.path} was there when the job looked for files and is gone now. "
                "Files must stay where they are until they are read."
            )
            raise JobFailedError(message) from error


def _place_of(location: str) -> tuple[Any, str]:
    """Return the file system and the path of a file; the files of one remote directory share their connections."""
    if "://" not in location or location.startswith("file://"):
        return arrow_files_of(location)
    path, mark, query = location.partition("?")
    parent, _, name = path.rpartition("/")
    file_system, directory = _remote_directory(f"{parent}{mark}{query}")
    return file_system, f"{directory}/{name}"


@lru_cache(64)
def _remote_directory(location: str) -> tuple[Any, str]:
    return arrow_files_of(location)
