"""Which files a file source reads, and whether big ones are divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.connectors.files.source.listing import FoundFile, list_files

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["SMALLEST_RANGE", "FileEnumerator", "FileEnumeratorProvider"]

SMALLEST_RANGE = 4 * 1024 * 1024
"""Files are divided into ranges of at least this many bytes."""


@dataclass(frozen=True)
class FileEnumerator:
    """Finds files. Subclasses may override ``accepts`` to leave some out.

    Attributes:
        divides_files: Whether a big file may be read by several subtasks, each a range of its bytes, if its format
            allows that and it is not compressed.
        smallest_range: Ranges have at least this many bytes.
    """

    divides_files: bool = True
    smallest_range: int = SMALLEST_RANGE

    def accepts(self, path: str) -> bool:
        """Tell whether a file that was found is to be read."""
        return True

    def enumerate_files(self, paths: Iterable[str]) -> list[FoundFile]:
        """Return the files that are there now, without repetitions, in the order of the paths and sorted below each.

        Hidden files are left out: those whose name, or the name of a directory below the given one, begins with ``.``
        or ``_``; files that are being written have such names.
        """
        found = {file.path: file for path in paths for file in list_files(path)}
        return [file for file in found.values() if self.accepts(file.path)]


class FileEnumeratorProvider:
    """Names the ways to find files."""

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumerator:
        """Return the enumerator that lets several subtasks read a big file together, where its format allows that."""
        return FileEnumerator(divides_files=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumerator:
        """Return the enumerator that leaves files whole: each is read by one subtask, in order."""
        return FileEnumerator(divides_files=False)
