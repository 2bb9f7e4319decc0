"""Where savepoints may be written and removed on request: below directories that were configured, nowhere else."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.graph.job import Job
    from penstock.operations.settings import OperationsSettings

__all__ = ["SavepointDirectories"]


class SavepointDirectories:
    """The directories, and whether a path lies below one of them."""

    def __init__(self, directories: Iterable[str]) -> None:
        self._directories = list(dict.fromkeys(directories))

    @staticmethod
    def of_all(jobs: Iterable[Job], settings: OperationsSettings) -> SavepointDirectories:
        """Return the directories of some jobs: for their savepoints, their checkpoints, and those set for this."""
        found: list[str] = []
        for job in jobs:
            storage: Any = job.checkpoints.get_checkpoint_storage()
            if job.savepoint_directory is not None:
                found.append(job.savepoint_directory)
            for path in () if storage is None else (storage.get_savepoint_path(), storage.get_checkpoint_path()):
                if path is not None:
                    found.append(str(path))
        return SavepointDirectories([*found, *settings.savepoint_directories])

    def holds(self, location: str) -> bool:
        """Tell whether a path is one of the directories or lies below one, also after links are followed."""
        if "\0" in location:
            return False
        scheme, path = _resolved(location)
        for directory in self._directories:
            its_scheme, root = _resolved(directory)
            if scheme == its_scheme and (path == root or path.startswith(root.rstrip("/") + "/")):
                return True
        return False

    def refusal(self, location: str) -> str:
        """Return what is said about a path that is not allowed."""
        below = ", ".join(self._directories) or "no directory"
        return (
            f"Savepoints may be written and removed on request below {below}, not at {location}. Start the job with"
            " execution.checkpointing.savepoint-dir, or name more in penstock.rest.savepoint-directories."
        )


def _resolved(location: str) -> tuple[str, str]:
    scheme, separator, rest = location.partition("://")
    if separator and scheme != "file":
        return scheme, posixpath.normpath(rest)
    # "file:" may be written with one, two or three slashes.
    local = location.removeprefix("file://") if separator else location.removeprefix("file:")
    return "file", str(Path(local).resolve())
