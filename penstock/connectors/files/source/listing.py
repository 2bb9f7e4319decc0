"""Which files a path stands for: a file, a directory with all below it, or a pattern of either."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import ProgramError
from penstock.foundation.files.by_uri import arrow_files_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["FoundFile", "list_files"]

_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class FoundFile:
    """A file as a listing shows it."""

    path: str
    """The path, or the URI."""
    size: int
    modified: int
    """When it was last written, in milliseconds."""


def list_files(location: str) -> list[FoundFile]:
    """Return the files of a location, sorted by path; in directories, hidden files and directories are left out.

    Args:
        location: A file, a directory, or a pattern of either with ``*``, ``?``, ``[...]`` within a name and ``**`` for
            any number of directories.

    Raises:
        ProgramError: There is no such path, or no such file system.
    """
    try:
        tree = _Tree(location)
        infos = list(tree.resolve())
    except (ImportError, ValueError, OSError) as error:
        message = f"The files of {location} cannot be listed: {error}"
        raise ProgramError(message) from error
    if not infos:
        message = f"There is no {location}: give the path of a file, of a directory, or a pattern that fits some."
        raise ProgramError(message)
    found = {info.path: info for info in infos if info.is_file}
    for info in infos:
        if not info.is_file:
            found.update((each.path, each) for each in tree.files_below(info.path))
    return [
        FoundFile(tree.location_of(path), info.size, (info.mtime_ns or 0) // 1_000_000)
        for path, info in sorted(found.items())
    ]


class _Tree:
    """A file system, seen from one location in it."""

    def __init__(self, location: str) -> None:
        scheme, separator, rest = location.partition("://")
        is_remote = bool(separator) and scheme != "file"
        # Only the part without a pattern is surely a valid URI.
        rest, _, query = rest.partition("?") if is_remote else (rest, "", "")
        fixed, pattern = _divided(f"{scheme}://{rest}" if is_remote else location)
        self._system, self._base = arrow_files_of(fixed + (f"?{query}" if query else ""))
        self._literal = arrow_files_of(location)[1] if not is_remote else None
        self._pattern = pattern
        self._prefix = fixed.rstrip("/").removesuffix(self._base.rstrip("/")) if is_remote else ""
        self._query = f"?{query}" if query else ""

    def location_of(self, path: str) -> str:
        return f"{self._prefix}{path}{self._query}"

    def resolve(self) -> Iterator[Any]:
        """Return the files and directories that the location stands for."""
        if self._literal is not None and self._pattern:  # a name may have brackets
            info = self._system.get_file_info(self._literal)
            if info.type.name != "NotFound":
                yield info
                return
        info = self._system.get_file_info(self._base)
        if info.type.name == "NotFound":
            return
        found = [info]
        for name in self._pattern:
            found = list(self._matching(found, name))
        yield from found

    def _matching(self, infos: Iterable[Any], name: str) -> Iterator[Any]:
        for info in infos:
            if info.is_file:
                continue
            if name == "**":
                yield info
                yield from (each for each in self._children(info.path, is_recursive=True) if not each.is_file)
            else:
                is_hidden_meant = name.startswith((".", "_"))
                for child in self._children(info.path):
                    if fnmatch.fnmatchcase(child.base_name, name) and (
                        is_hidden_meant or not _is_hidden(child.path, info.path)
                    ):
                        yield child

    def files_below(self, directory: str) -> Iterator[Any]:
        for info in self._children(directory, is_recursive=True):
            if info.is_file and not _is_hidden(info.path, directory):
                yield info

    def _children(self, directory: str, *, is_recursive: bool = False) -> list[Any]:
        from pyarrow import fs

        children: list[Any] = self._system.get_file_info(
            fs.FileSelector(directory, recursive=is_recursive, allow_not_found=True)
        )
        return children


def _divided(location: str) -> tuple[str, list[str]]:
    """Return the part of a location before its first pattern, and the names from there on."""
    names = location.split("/")
    first = next((number for number, name in enumerate(names) if _MAGIC.search(name)), len(names))
    fixed = "/".join(names[:first])
    if first < len(names) and not fixed:
        fixed = "/" if location.startswith("/") else "."
    return fixed, [name for name in names[first:] if name]


def _is_hidden(path: str, directory: str) -> bool:
    """Tell whether a name below the directory begins like one that is not to be read: ``.`` or ``_``."""
    below = path.removeprefix(directory).strip("/")
    return any(name.startswith((".", "_")) for name in below.split("/"))
