"""A savepoint or checkpoint of another run that a job has taken over as its own, and what is deleted with it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from penstock.checkpoint.metadata import METADATA, CheckpointMetadata
from penstock.errors import CorruptCheckpointError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.foundation.files.local import Files, FilesOf

__all__ = ["ClaimedSnapshot"]


class ClaimedSnapshot:
    """The snapshot that a job was started from, in the mode ``CLAIM``.

    Args:
        location: Its directory, or the ``_metadata`` file in it.
        metadata: What it holds.
        files_of: Finds the file system of a location.
    """

    def __init__(self, location: str, metadata: CheckpointMetadata, files_of: FilesOf) -> None:
        is_file = posixpath.basename(location) == METADATA
        self.location = posixpath.dirname(location) if is_file else location
        self._metadata = metadata
        self._files_of = files_of

    def delete(self) -> None:
        """Remove it, with the files that it shares with nobody; those of other checkpoints of that run stay."""
        files, directory = self._files_of(self.location)
        # First the file that makes it a checkpoint: one that is half deleted must not look whole.
        files.delete(f"{directory}/{METADATA}")
        files.delete_directory(directory)
        if self._metadata.kind.is_savepoint:
            return
        run = posixpath.dirname(directory)
        shared = self._metadata.shared_locations()
        for other in self._others(files, run):
            shared -= other.shared_locations()
        for location in sorted(shared):
            files.delete(posixpath.normpath(f"{directory}/{location}"))
        if files.names_in(run) in ([], ["shared"]) and not files.names_in(f"{run}/shared"):
            files.delete_directory(run)

    @staticmethod
    def _others(files: Files, run: str) -> Iterator[CheckpointMetadata]:
        """Return the other checkpoints of the same run."""
        for name in files.names_in(run):
            path = f"{run}/{name}/{METADATA}"
            size = files.size_of(path)
            if size is not None:
                try:
                    yield CheckpointMetadata.decode(files.open(path).read_at(0, size), path)
                except CorruptCheckpointError:
                    continue  # nobody can start from it
